"""The submissions of students: folders, notebooks and archives, under any names."""

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
from pathlib import Path, PurePosixPath

from byoc_lab.containment.limits import Limits
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.course import MANIFEST, Course, read_course
from byoc_lab.lessons.grading.settings import SETTINGS

VERSION = 4  # of kept results: those of another version are graded again
MAX_FILE = 32 << 20
MAX_NOTEBOOKS = 500  # per student
NOTEBOOK, ZIP = ".ipynb", ".zip"
PACKED = (".tar", ".tgz", ".gz", ".bz2", ".xz", ".7z", ".rar")
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")
)  # fmt: skip


@dataclass(frozen=True)
class Submission:
    """The notebooks of one student.

    files: their texts by path below the student's folder, the oldest first. notes: for the teacher,
    about files that could not be read. times: when each file was last changed, in seconds since
    1970: of a notebook in an archive, the archive, whose members can claim any time.
    """

    student: str
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict)

    def digest(self, course: Course, limits: Limits) -> str:
        """Changes with anything that the grades depend on."""
        parts = [VERSION, asdict(course), asdict(limits), list(self.files.items()), self.notes]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def decoded(data: bytes) -> str:
    """A text of unknown encoding: by its byte order mark, or UTF-8, or else Latin-1."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, errors="replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")


def displayed(name: str) -> str:
    """The name of a file as text that any file and terminal takes: in NFC, of bytes that are not
    UTF-8 the characters of Latin-1, and of control characters the escape sequences."""
    text = decoded(name.encode("utf-8", errors="surrogateescape"))
    text = unicodedata.normalize("NFC", text)
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def submissions_in(folder: Path) -> list[Submission]:
    """The submissions of a folder, sorted by student: a folder, a notebook or an archive for each.

    Whatever cannot be read gives a submission without that file, and a note. Raises ArgumentError
    if `folder` is not a folder.
    """
    if not folder.is_dir():
        raise ArgumentError(
            f"{folder} is not a folder; submissions are folders of notebooks in one"
        )
    found = [
        _submission(path)
        for path in folder.iterdir()
        if not path.name.startswith(".")
        and (path.is_symlink() or path.is_dir() or _suffix(path) in (NOTEBOOK, ZIP, *PACKED))
    ]
    return sorted(found, key=lambda each: each.student)


def course_of(folder: Path, submissions: Sequence[Submission]) -> tuple[Course, Path]:
    """The course that submissions belong to, and its folder: the one in the folder or its parent;
    else a course of the exercises in the notebooks, with the seeds in them."""
    places = (folder, folder.resolve().parent)
    for place in places:
        if (place / MANIFEST).is_file():
            return read_course(place), place
    handed_in = {Path(path).stem for each in submissions for path in each.files}
    names = tuple(e.name for e in all_exercises() if e.name in handed_in)
    place = next((each for each in places if (each / SETTINGS).is_file()), folder)
    return Course(folder.name, 1, names, from_notebooks=True), place


def whole_class(
    submissions: Sequence[Submission], course: Course, others: Iterable[str] = ()
) -> list[Submission]:
    """One submission for each student, including students of the course, and `others`, who handed
    in nothing.

    A student is called as the course has it, whatever the case of the letters of a file's name.
    Raises ArgumentError for several submissions of one student.
    """
    of: dict[str, Submission] = {}
    for each in submissions:
        student = course.student_called(each.student)
        if student in of:
            raise ArgumentError(
                f"several submissions are of one student: {student}; a folder NAME and a "
                f"notebook NAME.ipynb are both of NAME, and so is name.zip: put all into one "
                f"folder, or rename one"
            )
        of[student] = replace(each, student=student)
    known = dict.fromkeys((*course.students, *others))
    absent = [Submission(student) for student in known if student not in of]
    return [*of.values(), *absent]


def _suffix(path: Path | PurePosixPath) -> str:
    return path.suffix.lower()


def _submission(path: Path) -> Submission:
    aged: list[tuple[float, str, str]] = []  # by time, then by length of name
    times: dict[str, float] = {}
    notes: list[str] = []
    student = displayed(path.name)
    if path.is_symlink():
        return Submission(student, {}, ("it is a link, which is not followed",))
    if not path.is_dir():
        student = displayed(path.name[: -len(path.suffix)])
    try:
        for name, changed, arrived, text in (
            _folder(path, notes) if path.is_dir() else _file(path, "", notes)
        ):
            if len(aged) == MAX_NOTEBOOKS:
                notes.append(f"more than {MAX_NOTEBOOKS} notebooks; the rest was not read")
                break
            aged.append((changed, name, text))
            times[name] = arrived
    except OSError as error:
        notes.append(_unread(student, error))
    aged.sort(key=lambda each: (each[0], -len(each[1]), each[1]))
    return Submission(student, {name: text for _, name, text in aged}, tuple(notes), times)


Read = Iterator[tuple[str, float, float, str]]
"""The name of each notebook, the times of its last change and of its file's, and its text."""


def _folder(folder: Path, notes: list[str]) -> Read:
    def unread(error: OSError) -> None:
        notes.append(_unread(displayed(os.fsdecode(error.filename)), error))

    for base, folders, names in os.walk(folder, onerror=unread):
        folders[:] = sorted(each for each in folders if not _is_hidden((each,)))
        for path in (Path(base, each) for each in sorted(names)):
            name = displayed(str(path.relative_to(folder)))
            if path.name.startswith(".") or _suffix(path) not in (NOTEBOOK, ZIP, *PACKED):
                continue
            if path.is_symlink():
                notes.append(f"{name} is a link, which is not followed")
            elif path.is_file():
                yield from _file(path, name, notes)


def _file(path: Path, name: str, notes: list[str]) -> Read:
    name = name or displayed(path.name)
    try:
        if _suffix(path) == ZIP:
            yield from _archive(path, name, notes)
        elif _suffix(path) != NOTEBOOK:
            notes.append(f"{name} was not opened: pack notebooks as .zip")
        elif path.stat().st_size > MAX_FILE:
            notes.append(f"{name} has more than {MAX_FILE >> 20} MiB")
        else:
            changed = path.stat().st_mtime
            yield name, changed, changed, decoded(path.read_bytes())
    except OSError as error:
        notes.append(_unread(name, error))


def _archive(path: Path, name: str, notes: list[str]) -> Read:
    try:
        arrived = path.stat().st_mtime
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                inside = PurePosixPath(member.filename)
                if member.is_dir() or _is_hidden(inside.parts):
                    continue
                if _suffix(inside) in (ZIP, *PACKED):
                    inner = displayed(member.filename)
                    notes.append(f"{name}/{inner} was not opened: it is an archive in an archive")
                if _suffix(inside) != NOTEBOOK:
                    continue
                with archive.open(member) as file:
                    data = file.read(MAX_FILE + 1)
                if len(data) > MAX_FILE:
                    notes.append(f"{name}/{displayed(member.filename)} has too many bytes")
                    continue
                changed = _seconds(member.date_time)
                yield f"{name}/{displayed(member.filename)}", changed, arrived, decoded(data)
    # zipfile raises these for archives that are damaged, encrypted, or packed in an unknown way.
    except (zipfile.BadZipFile, RuntimeError, ValueError, EOFError, zlib.error, LZMAError) as error:
        notes.append(_unread(name, error))


def _seconds(moment: Sequence[int]) -> float:
    """The time of a member of an archive, in an unknown time zone: it is compared with others."""
    year, month, day, hour, minute, second = moment[:6]
    return ((((year - 1970) * 12 + month) * 31 + day) * 24 + hour) * 3600 + minute * 60 + second


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)


def _unread(name: str, error: Exception) -> str:
    reason = getattr(error, "strerror", None) or str(error)
    return f"{name} could not be read: {type(error).__name__}: {displayed(reason)}"
