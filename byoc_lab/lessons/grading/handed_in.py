"""The submissions of students: folders, notebooks and archives with any names."""

from __future__ import annotations

import codecs
import hashlib
import json
import os
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from lzma import LZMAError
from pathlib import Path, PurePath, PurePosixPath
from typing import IO

from byoc_lab.containment.limits import Limits
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.course import MANIFEST, Course, read_course
from byoc_lab.lessons.grading.settings import SETTINGS

VERSION = 5  # version of stored results; results of other versions are graded again
MAX_FILE = 32 << 20
MAX_NOTEBOOKS = 500  # maximum per student
MAX_OTHERS = 50
FIRST = 64  # maximum of bytes in a file; a notebook begins with a brace
NOTEBOOK, ZIP = ".ipynb", ".zip"
CHECKPOINTS = (".ipynb_checkpoints",)  # copies that Jupyter creates
PACKED = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")
)  # fmt: skip


@dataclass(frozen=True)
class Submission:
    """The notebooks of one student.

    files: their texts by path relative to the student's folder, the oldest first. notes: notes for
    the teacher about files that could not be read. times: the last change of each file, in seconds
    since 1970; for a notebook in an archive, the last change of the archive, because its members
    can claim any time. others: files that are not graded, and the reasons. place: its folder or
    file. stray: whether it is a file next to the submissions, which only counts if it has the name
    of a student. remarks: notes on files that were read.
    """

    student: str
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    stray: bool = False
    remarks: tuple[str, ...] = ()

    def digest(self, course: Course, limits: Limits) -> str:
        """A digest that changes with everything on which the grades depend."""
        parts = [VERSION, asdict(course), asdict(limits), list(self.files.items()), self.notes]
        parts += [list(self.others.items()), self.remarks]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def decoded(data: bytes) -> str:
    """A text of unknown encoding, decoded by its byte order mark, else as UTF-8, else as
    Latin-1."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def displayed(name: str) -> str:
    """The name of a file as text that any file and terminal supports: in NFC, with bytes that are
    not UTF-8 read as Latin-1, and control characters escaped."""
    text = decoded(name.encode("utf-8", errors="surrogateescape"))
    text = unicodedata.normalize("NFC", text)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def submissions_in(folder: Path) -> list[Submission]:
    """The submissions of a folder, sorted by student: a folder, a notebook or an archive for each.
    A hidden folder counts if it has notebooks.

    For a file that cannot be read, the submission has a note instead. Raises ArgumentError if
    `folder` is not a folder.
    """
    if not folder.is_dir():
        raise ArgumentError(
            f"{folder} is not a folder; submissions are folders of notebooks in one"
        )
    found = []
    for path in sorted(folder.iterdir()):
        each = _submission(path)
        if not path.name.startswith("."):
            found.append(each)
        elif each.files and path.name not in CHECKPOINTS:
            hidden = f"{each.place} has a name that begins with a dot, which hides it"
            found.append(replace(each, remarks=(hidden,)))
    return sorted(found, key=lambda each: each.student)


def course_of(folder: Path, submissions: Sequence[Submission]) -> tuple[Course, Path]:
    """The course of submissions, and its folder: the course in the folder or its parent; else a
    course made from the exercises and seeds in the notebooks."""
    places = (folder, folder.resolve().parent)
    for place in places:
        if (place / MANIFEST).is_file():
            return read_course(place), place
    every = [exercise.name for exercise in all_exercises()]
    handed_in = {_exercise(*file, every) for each in submissions for file in each.files.items()}
    names = tuple(name for name in every if name in handed_in)
    place = next((each for each in places if (each / SETTINGS).is_file()), folder)
    return Course(folder.name, 1, names, from_notebooks=True), place


def _exercise(path: str, text: str, known: Sequence[str]) -> str:
    try:
        return notebooks.exercise_of(path, notebooks.read(text), known)
    except notebooks.NotebookError:
        return notebooks.named_by(path)


def whole_class(
    submissions: Sequence[Submission], course: Course, others: Iterable[str] = ()
) -> list[Submission]:
    """One submission for each student, including students of the course and `others` without a
    submission.

    The course defines the spelling of a name, whatever the upper and lower case in file names.
    Several submissions of one student, such as a folder and an archive, are graded as one, with a
    note.
    """
    known = dict.fromkeys((*course.students, *others))
    of: dict[str, list[Submission]] = {}
    for each in submissions:
        student = course.student_called(each.student)
        if not each.stray or student in known:
            of.setdefault(student, []).append(each)
    found = [_merged(student, several) for student, several in of.items()]
    return [*found, *(Submission(student) for student in known if student not in of)]


def _merged(student: str, several: Sequence[Submission]) -> Submission:
    """Several submissions of one student as one, with the oldest file first."""
    if len(several) == 1:
        return replace(several[0], student=student)
    files: dict[str, str] = {}
    times: dict[str, float] = {}
    others: dict[str, str] = {}
    places: list[str] = []
    for number, each in enumerate(several, 1):
        place = each.place if each.place not in places else f"{each.place} ({number})"
        places.append(place)
        names = {
            path: path if path.startswith(place) else f"{place}/{path}"
            for path in (*each.files, *each.others)
        }
        files |= {names[path]: text for path, text in each.files.items()}
        times |= {names[path]: moment for path, moment in each.times.items()}
        others |= {names[path]: why for path, why in each.others.items()}
    files = dict(sorted(files.items(), key=lambda file: times.get(file[0], 0.0)))
    notes = tuple(note for each in several for note in each.notes)
    remarks = [remark for each in several for remark in each.remarks]
    whole = [place for place, each in zip(places, several, strict=True) if not each.stray]
    if len(whole) > 1:
        remarks.append(f"{' and '.join(whole)} are of one student; all of them count")
    return Submission(student, files, notes, times, others, remarks=tuple(remarks))


def _suffix(path: PurePath) -> str:
    return path.suffix.lower()


@dataclass
class _Told:
    """Collects the notes on a submission, and the files that are not graded, with the reasons."""

    notes: list[str] = field(default_factory=list)
    others: dict[str, str] = field(default_factory=dict)

    def leave(self, name: str, why: str) -> None:
        if len(self.others) < MAX_OTHERS:
            self.others[name] = why


def _submission(path: Path) -> Submission:
    aged: list[tuple[float, str, str]] = []  # by time, then by length of the name
    times: dict[str, float] = {}
    told = _Told()
    place = displayed(path.name)
    if path.is_symlink():
        return Submission(place, {}, ("it is a link, which is not followed",), place=place)
    student = place
    if not path.is_dir():
        cut = path.name.lower().find(NOTEBOOK)  # this includes `ann.ipynb.txt`
        student = displayed(path.name[:cut] if cut > 0 else path.stem)
    try:
        for name, changed, arrived, text in (
            _folder(path, told) if path.is_dir() else _file(path, "", told)
        ):
            if len(aged) == MAX_NOTEBOOKS:
                told.notes.append(f"more than {MAX_NOTEBOOKS} notebooks; the rest was not read")
                break
            aged.append((changed, name, text))
            times[name] = arrived
    except OSError as error:
        told.notes.append(_unread(student, error))
    aged.sort(key=lambda each: (each[0], -len(each[1]), each[1]))
    files = {name: text for _, name, text in aged}
    stray = not path.is_dir() and not files and not told.notes
    return Submission(student, files, tuple(told.notes), times, told.others, place, stray)


Read = Iterator[tuple[str, float, float, str]]
"""The name of each notebook, the times of its last change and of its file's, and its text."""


def _folder(folder: Path, told: _Told) -> Read:
    def unread(error: OSError) -> None:
        told.notes.append(_unread(displayed(os.fsdecode(error.filename)), error))

    for base, folders, names in os.walk(folder, onerror=unread):
        folders.sort()
        for path in (Path(base, each) for each in sorted(names)):
            inside = path.relative_to(folder)
            name = displayed(str(inside))
            if _is_hidden(inside.parts):
                _leave_hidden(inside, name, told)
            elif path.is_symlink():
                if _suffix(path) in (NOTEBOOK, ZIP, *PACKED):
                    told.notes.append(f"{name} is a link, which is not followed")
            elif path.is_file():
                yield from _file(path, name, told)


def _file(path: Path, name: str, told: _Told) -> Read:
    name = name or displayed(path.name)
    try:
        if _suffix(path) == ZIP:
            yield from _archive(path, name, told)
        elif _suffix(path) in PACKED:
            told.notes.append(f"{name} was not opened: pack notebooks as .zip")
        else:
            changed = path.stat().st_mtime
            with path.open("rb") as file:
                text = _notebook(file, path, name, told)
            if text is not None:
                yield name, changed, changed, text
    except OSError as error:
        told.notes.append(_unread(name, error))


def _archive(path: Path, name: str, told: _Told) -> Read:
    try:
        arrived = path.stat().st_mtime
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                parts = member.filename.replace("\\", "/").split("/")
                inside = PurePosixPath(*(each for each in parts if each not in ("", ".", "..")))
                inner = f"{name}/{displayed(str(inside))}"
                if member.is_dir():
                    continue
                if _is_hidden(inside.parts):
                    _leave_hidden(inside, inner, told)
                elif _suffix(inside) in (ZIP, *PACKED):
                    told.notes.append(f"{inner} was not opened: it is an archive in an archive")
                else:
                    with archive.open(member) as file:
                        text = _notebook(file, inside, inner, told)
                    if text is not None:
                        yield inner, _seconds(member.date_time), arrived, text
    # zipfile raises these for archives that are damaged, encrypted, or use an unknown compression.
    except (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, zlib.error, LZMAError) as error:
        told.notes.append(_unread(name, error))


def _notebook(file: IO[bytes], path: PurePath, name: str, told: _Told) -> str | None:
    """The text of a notebook, which may have a different suffix; None if the file is not a
    notebook."""
    start = file.read(FIRST)
    if _suffix(path) != NOTEBOOK and not decoded(start).lstrip().startswith("{"):
        told.leave(name, "it is not a notebook; ask for the .ipynb file")
        return None
    data = start + file.read(MAX_FILE + 1 - len(start))
    if len(data) > MAX_FILE:
        told.notes.append(f"{name} has more than {MAX_FILE >> 20} MiB")
        return None
    text = decoded(data)
    if _suffix(path) != NOTEBOOK and '"cells"' not in text and '"worksheets"' not in text:
        told.leave(name, "it is not a notebook; ask for the .ipynb file")
        return None
    return text


def _leave_hidden(path: PurePath, name: str, told: _Told) -> None:
    if _suffix(path) == NOTEBOOK and not path.name.startswith("._"):  # macOS adds these files
        told.leave(name, "it is hidden, and hidden files are not graded; ask for it under its name")


def _seconds(moment: Sequence[int]) -> float:
    """The time of a member of an archive, in an unknown time zone; it is only compared with other
    members."""
    year, month, day, hour, minute, second = moment[:6]
    return ((((year - 1970) * 12 + month) * 31 + day) * 24 + hour) * 3600 + minute * 60 + second


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _unread(name: str, error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return f"{name} could not be read: {type(error).__name__}: {displayed(reason)}"
