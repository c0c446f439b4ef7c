"""Submissions are read under any file name, and one notebook is chosen for each exercise."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.choice import choose
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.handed_in import (
    Submission,
    course_of,
    decoded,
    submissions_in,
    whole_class,
)
from byoc_lab.lessons.grading.submissions import grade_one
from tests.lessons.grading.generated import right, with_code

A, B = "add-the-missing-begin", "annotate-diamond"
COURSE = Course("course", 1, (A, B), ("ann", "José"))
TEXT = notebooks.dumps(right(A))
needs_byte_names = pytest.mark.linux


def _submission(**files: dict[str, Any] | str) -> Submission:
    texts = {
        name.replace("_", "-") + ".ipynb": each if isinstance(each, str) else json.dumps(each)
        for name, each in files.items()
    }
    return Submission("ann", texts)


@needs_byte_names
@pytest.mark.parametrize(
    "name, student",
    [
        (b"Jos\xe9", "José"),
        ("José".encode(), "José"),
        ("Jose\u0301".encode(), "José"),
        (b"a" * 252, "a" * 252),
        (b"a\n\x1b[1mb", r"a\n\x1b[1mb"),
        (b"=cmd", "=cmd"),
        (b"a.b c", "a.b c"),
    ],
)
def test_any_folder_name_gives_one_submission(tmp_path: Path, name: bytes, student: str) -> None:
    folder = os.path.join(os.fsencode(tmp_path), name)
    os.mkdir(folder)
    Path(os.fsdecode(folder), f"{A}.ipynb").write_text(TEXT, encoding="utf-8")
    (found,) = submissions_in(tmp_path)
    assert (found.student, list(found.files)) == (student, [f"{A}.ipynb"])
    assert found.student.encode() and found.digest(COURSE, Limits())


@needs_byte_names
def test_any_notebook_name_can_be_written_to_a_page(tmp_path: Path) -> None:
    folder = tmp_path / "ann"
    folder.mkdir()
    for name in (b"x\xe9.ipynb", b"y\n.IPYNB"):
        with open(os.path.join(os.fsencode(folder), name), "w", encoding="utf-8") as file:
            file.write(TEXT)
    (found,) = submissions_in(tmp_path)
    assert sorted(found.files) == ["xé.ipynb", r"y\n.IPYNB"]
    assert choose(found, COURSE).chosen[A].path in found.files


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_texts_are_decoded_from_any_usual_encoding(encoding: str) -> None:
    assert decoded("José\nann".encode(encoding)) == "José\nann"


def test_notebook_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    (tmp_path / "ann.IPYNB").write_text(TEXT, encoding="utf-8-sig")
    (found,) = submissions_in(tmp_path)
    assert found.student == "ann" and notebooks.read(found.files["ann.IPYNB"])["cells"]


def test_notebooks_in_archives_are_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ann.ZIP", "w") as archive:
        archive.writestr(f"week 1/{A}.ipynb", TEXT)
        archive.writestr("week 1/.ipynb_checkpoints/x.ipynb", "{}")
        archive.writestr("__MACOSX/._x.ipynb", "{}")
    (tmp_path / "bob").mkdir()
    with zipfile.ZipFile(tmp_path / "bob" / "all.zip", "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr(f"{A}.ipynb", TEXT)
    ann, bob = submissions_in(tmp_path)
    assert list(ann.files) == [f"ann.ZIP/week 1/{A}.ipynb"] and not ann.notes
    assert list(bob.files) == [f"all.zip/{A}.ipynb"] and bob.files[f"all.zip/{A}.ipynb"] == TEXT


def test_file_time_is_that_of_the_notebook_or_its_archive(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    notebook, archive = tmp_path / "ann" / f"{A}.ipynb", tmp_path / "ann" / "all.zip"
    notebook.write_text(TEXT, encoding="utf-8")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(zipfile.ZipInfo(f"{B}.ipynb", (1990, 1, 1, 0, 0, 0)), TEXT)
    os.utime(notebook, (1000, 1000))
    os.utime(archive, (2000, 2000))
    (found,) = submissions_in(tmp_path)
    assert found.times == {f"{A}.ipynb": 1000, f"all.zip/{B}.ipynb": 2000}


def _damaged(data: bytes) -> list[bytes]:
    """The archive truncated, with changed bytes in the middle, or with a header that says
    encrypted."""
    encrypted = bytearray(data)
    encrypted[6] |= 1
    encrypted[data.index(b"PK\x01\x02") + 8] |= 1
    method = bytearray(data)
    method[8] = method[data.index(b"PK\x01\x02") + 10] = 77
    middle = data[:60] + bytes(len(data[60:200])) + data[200:]
    return [b"", b"PK", data[:-30], middle, bytes(encrypted), bytes(method)]


@pytest.mark.parametrize("number", range(6))
def test_archive_that_cannot_be_opened_gives_a_note(tmp_path: Path, number: int) -> None:
    with zipfile.ZipFile(tmp_path / "good", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{A}.ipynb", TEXT)
    (tmp_path / "ann.zip").write_bytes(_damaged((tmp_path / "good").read_bytes())[number])
    (tmp_path / "good").unlink()
    (found,) = submissions_in(tmp_path)
    assert found.student == "ann" and not found.files
    assert "ann.zip could not be read" in found.notes[0], found.notes


def test_archive_in_an_archive_gives_a_note(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        archive.writestr("week 1/inner.zip", b"")
        archive.writestr("week 1/.cache/other.tar", b"")
        archive.writestr(f"{A}.ipynb", TEXT)
    (ann,) = submissions_in(tmp_path)
    assert list(ann.files) == [f"ann.zip/{A}.ipynb"]
    assert ann.notes == ("ann.zip/week 1/inner.zip was not opened: it is an archive in an archive",)


def test_links_and_other_archives_give_notes(tmp_path: Path) -> None:
    (tmp_path / "ann.tar").write_bytes(b"")
    (tmp_path / "bob").symlink_to("/etc")
    (tmp_path / "cid").mkdir()
    (tmp_path / "cid" / f"{A}.ipynb").symlink_to("/etc/passwd")
    (tmp_path / "names.txt").write_text("ann")
    ann, bob, cid = (each for each in submissions_in(tmp_path) if not each.stray)
    assert ann.notes == ("ann.tar was not opened: pack notebooks as .zip",)
    assert bob.notes == ("it is a link, which is not followed",)
    assert cid.notes == (f"{A}.ipynb is a link, which is not followed",)
    assert not ann.files and not bob.files and not cid.files


def test_every_student_of_the_course_has_a_submission_regardless_of_case() -> None:
    found = whole_class([Submission("ANN"), Submission("guest")], COURSE)
    assert [each.student for each in found] == ["ann", "guest", "José"]
    more = whole_class([Submission("guest")], COURSE, ["zoe", "guest", "ann"])
    assert [each.student for each in more] == ["guest", "ann", "José", "zoe"]


def test_several_submissions_of_one_student_are_merged_with_the_oldest_file_first(
    tmp_path: Path,
) -> None:
    for name in ("ann", "ANN"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{A}.ipynb").write_text(name)
        os.utime(tmp_path / name / f"{A}.ipynb", (len(os.listdir(tmp_path)),) * 2)
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        archive.writestr(f"{B}.ipynb", TEXT)
    (tmp_path / "ann.pdf").write_text("a scan")
    (ann,) = (each for each in whole_class(submissions_in(tmp_path), COURSE) if each.files)
    assert list(ann.files) == [f"ann/{A}.ipynb", f"ANN/{A}.ipynb", f"ann.zip/{B}.ipynb"]
    assert list(ann.times) and list(ann.others) == ["ann.pdf"] and not ann.notes
    assert ann.remarks == ("ANN and ann and ann.zip are of one student; all of them count",)
    assert choose(ann, COURSE).chosen[B].path == f"ann.zip/{B}.ipynb"


def test_folders_with_similar_names_lose_no_file() -> None:
    both = [Submission("José", {f"{A}.ipynb": text}, place="José") for text in ("one", "other")]
    (found, _) = whole_class(both, COURSE)
    assert found.files == {f"José/{A}.ipynb": "one", f"José (2)/{A}.ipynb": "other"}


@pytest.mark.parametrize("copy", [f"{A}-Copy1", f"{A} (1)", "mine"])
def test_newest_copy_with_an_answer_is_graded(tmp_path: Path, copy: str) -> None:
    folder = tmp_path / "ann"
    folder.mkdir()
    seed = COURSE.seed_of("ann", A)
    stub, answer = notebooks.notebook(A, seed), with_code(A, "answer = 1", seed)
    later = with_code(A, "answer = 2", seed)
    times = {A: (stub, 300), copy: (answer, 100), "older": (later, 50)}
    for name, (data, seconds) in times.items():
        (folder / f"{name}.ipynb").write_text(json.dumps(data), encoding="utf-8")
        os.utime(folder / f"{name}.ipynb", (seconds, seconds))
    (found,) = submissions_in(tmp_path)
    chosen = choose(found, COURSE).chosen[A]
    assert chosen.path == f"{copy}.ipynb"
    assert chosen.notes == [
        f"of 3 notebooks, {copy}.ipynb was graded: the newest that has an answer"
    ]


def test_seed_in_a_notebook_determines_its_variant() -> None:
    own = COURSE.seed_of("ann", A)
    chosen = choose(_submission(**{A: with_code(A, "answer = 1", own)}), COURSE).chosen[A]
    assert (chosen.seed, chosen.notes) == (own, [])
    other = (own + 1) % 1000
    chosen = choose(_submission(**{A: with_code(A, "answer = 1", other)}), COURSE).chosen[A]
    assert chosen.seed == other
    assert chosen.notes == [f"it has the variant of seed {other}; this student's is {own}"]
    assert chosen.task(A, COURSE)["seeds"] == [other, *COURSE.hidden_seeds(A)]


@pytest.mark.parametrize("seed", [-1, 1000, 10**30, True, 1.5, "1", None, [], {}])
def test_seeds_that_no_course_gives_are_noted(seed: Any) -> None:
    data = right(A)
    data["metadata"]["byoc_lab"]["seed"] = seed
    chosen = choose(_submission(**{A: data}), COURSE).chosen[A]
    assert chosen.seed == COURSE.seed_of("ann", A)
    assert "its seed is not one that a course gives" in chosen.notes[0]


def test_swapped_notebooks_are_graded_by_their_content() -> None:
    found = choose(_submission(**{A: right(B), B: right(A)}), COURSE).chosen
    assert (found[A].path, found[B].path) == (f"{B}.ipynb", f"{A}.ipynb")
    assert f"the notebook was renamed to {B}.ipynb" in found[A].notes


def test_answer_in_the_notebook_of_another_exercise_is_found() -> None:
    found = choose(_submission(**{A: right(B)}), COURSE).chosen
    assert f"{A}.ipynb says that it is the notebook of '{B}'" in found[A].notes
    assert found[B].path == f"{A}.ipynb"


@pytest.mark.parametrize(
    "metadata",
    [None, 3, [], {}, {"byoc_lab": 1}, {"byoc_lab": {"exercise": []}},
     {"byoc_lab": {"exercise": {}, "seed": {}}}, {"byoc_lab": {"exercise": "\ud800"}}],
)  # fmt: skip
def test_any_metadata_is_accepted(metadata: Any) -> None:
    data = right(A)
    data["metadata"] = metadata
    assert choose(_submission(**{A: data}), COURSE).chosen[A].data == data


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it is empty"), ("\n", "it is empty"), ("{", "JSON"), ("3", "an object of JSON"),
        ("[]", "an object of JSON"), ('{"cells": 3}', ""), ('{"cells": [null]}', "a cell is not"),
        ("[" * 100_000, ""), ("\0", ""),
    ],
)  # fmt: skip
def test_file_that_is_not_a_notebook_is_reported(text: str, why: str) -> None:
    unread = (found := choose(_submission(**{A: text}), COURSE)).unread[f"{A}.ipynb"]
    assert not found.chosen and "the file is not a notebook" in unread and why in unread


@pytest.mark.parametrize(("name", "of"), [(A, [A]), ("my answers", [A, B])])
def test_unreadable_notebook_leaves_its_exercise_ungraded(name: str, of: list[str]) -> None:
    submission = _submission(**{name: "{"})
    found = {each.exercise: each for each in grade_one(submission, [A, B], COURSE, Limits(), ())}
    for exercise in (A, B):
        lost = exercise in of
        assert found[exercise].status == ("not graded" if lost else "missing")
        assert bool(found[exercise].notes) == lost
    assert f"{name}.ipynb: the file is not a notebook" in found[A].notes[0]


def test_unchanged_notebook_gets_a_note_on_other_unreadable_files() -> None:
    stub = notebooks.notebook(A, COURSE.seed_of("ann", A))
    found = choose(_submission(**{A: stub, f"{A}-Copy1": "{"}), COURSE).chosen[A]
    assert f"{A}-Copy1.ipynb: the file is not a notebook" in found.notes[-1]


def test_notebooks_of_version_3_and_cells_without_text_are_read() -> None:
    sheet = {"cells": [
        {"cell_type": "heading", "level": 1, "source": "text"},
        {"cell_type": "code", "language": "python", "input": ["answer = ", "1"], "outputs": []},
    ]}  # fmt: skip
    old = notebooks.read(json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [sheet]}))
    assert notebooks.code_of(old) == ["answer = 1"]
    new = notebooks.read(json.dumps({"cells": [{"cell_type": "code"}, {"cell_type": "widget"}]}))
    assert notebooks.code_of(new) == [""]


def _bare(name: str, seed: int = 0) -> dict[str, Any]:
    """A notebook without byoc_lab's metadata, as some programs save it."""
    data = with_code(name, "answer = 1", seed)
    return {**data, "metadata": {}, "cells": [{**each, "metadata": {}} for each in data["cells"]]}


@pytest.mark.parametrize(
    "name",
    [f"{A}.ipynb.json", f"{A}.ipynb.txt", f"{A}.json", "add_the_missing_begin.ipynb",
     f"{A} (1).ipynb", f"Ann-{A.upper()}-final.ipynb", "homework1.ipynb", "notes.txt"],
)  # fmt: skip
def test_notebook_is_recognized_by_its_content_under_any_file_name(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "ann").mkdir()
    (tmp_path / "ann" / name).write_text(json.dumps(_bare(A, 7)), encoding="utf-8")
    (found,) = submissions_in(tmp_path)
    chosen = choose(found, COURSE).chosen
    assert list(chosen) == [A] and chosen[A].path == name and chosen[A].seed == 7
    assert course_of(tmp_path, [found])[0].exercises == (A,)


def test_notebook_is_recognized_by_its_heading_or_its_file_name() -> None:
    data = _bare(A)
    data["cells"] = [each for each in data["cells"] if each["cell_type"] != "code"]
    data["cells"].append({"cell_type": "code", "source": "answer = 1"})
    assert list(choose(Submission("ann", {"x.ipynb": json.dumps(data)}), COURSE).chosen) == [A]
    del data["cells"][0]
    text = json.dumps(data)
    assert list(choose(Submission("ann", {f"my {B}.ipynb": text}), COURSE).chosen) == [B]
    found = choose(Submission("ann", {"x.ipynb": text}), COURSE)
    assert not found.chosen and "no exercise of the course" in found.notes(A)[0]


def test_notebook_of_several_exercises_gets_a_note() -> None:
    both = _bare(A)
    both["cells"] += _bare(B)["cells"]
    (note,) = choose(Submission("ann", {"x.ipynb": json.dumps(both)}), COURSE).notes(A)
    assert f"its cells name {A}, {B}; a notebook is graded if" in note
    for other in (_bare("let-program"), {"cells": [{"cell_type": "code", "source": "x = 1"}]}):
        found = choose(Submission("ann", {"x.ipynb": json.dumps(other)}), COURSE)
        assert not found.chosen and not found.notes(A)


@pytest.mark.parametrize(
    "name", [f"{A}.py", f"{A}.html", "homework.pdf", ".ipynb_checkpoints/x.ipynb"]
)
def test_file_that_is_not_graded_gets_a_note_if_nothing_else_was_submitted(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / "ann" / name
    path.parent.mkdir(parents=True)
    path.write_text("answer = 1")
    (found,) = submissions_in(tmp_path)
    first, _ = grade_one(found, [A, B], COURSE, Limits(), ())
    assert first.status == "not graded" and name in first.notes[0] and "ask for" in first.notes[0]


def test_other_files_get_a_note_only_if_named_after_a_missing_notebook() -> None:
    others = {f"{B}.py": "it is not a notebook", "data.csv": "it is not a notebook"}
    found = choose(Submission("ann", {f"{A}.ipynb": TEXT}, others=others), COURSE)
    assert found.notes(B) == [f"{B}.py: it is not a notebook"] and not found.notes(A)


@pytest.mark.parametrize("member", [f"../../{A}.ipynb", f"/{A}.ipynb", f"./week\\{A}.ipynb"])
def test_archive_members_with_any_path_are_read(tmp_path: Path, member: str) -> None:
    with zipfile.ZipFile(tmp_path / "ann.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo(member), json.dumps(_bare(A)))
        archive.writestr("README.md", "text")
    (found,) = submissions_in(tmp_path)
    (path,) = found.files
    assert ".." not in path and list(choose(found, COURSE).chosen) == [A]
    assert list(found.others) == ["ann.zip/README.md"]


def test_stray_files_and_hidden_folders_with_notebooks_have_a_row(tmp_path: Path) -> None:
    for folder in (".yan", ".git", ".ipynb_checkpoints"):
        (tmp_path / folder).mkdir()
    for name in ("zed.ipynb.txt", f".yan/{A}.ipynb", ".ipynb_checkpoints/zed-checkpoint.ipynb"):
        (tmp_path / name).write_text(TEXT, encoding="utf-8")
    for name in ("names.txt", "course.json", ".git/config", "ann.html", "José.pdf"):
        (tmp_path / name).write_text("{}")
    found = {each.student: each for each in whole_class(submissions_in(tmp_path), COURSE)}
    assert set(found) == {".yan", "zed", "ann", "José"}
    assert "hides it" in found[".yan"].remarks[0] and found[".yan"].files and found["zed"].files
    assert list(found["ann"].others) == ["ann.html"] and not found["ann"].files
