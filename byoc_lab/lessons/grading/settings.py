"""The settings of a course, `course.toml`: decisions of the teacher about points and tables."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from byoc_lab.errors import ByocLabError
from byoc_lab.lessons.grading.notebooks import POINTS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETTINGS = "course.toml"
TABLES = ("moodle", "canvas", "mistakes", "similar")
EVERY = "every"


class SettingsError(ByocLabError, ValueError):
    """A course's settings cannot be read, or have an invalid key or value."""


@dataclass(frozen=True)
class Late:
    """The penalty for late answers. grace_hours: hours after the deadline without a penalty. lost:
    pairs of hours after the grace period and the percentage that is lost from then on, ascending.
    linear: whether the percentage increases linearly between pairs instead of in steps."""

    grace_hours: float = 0.0
    lost: tuple[tuple[float, float], ...] = ((0.0, 100.0),)
    linear: bool = False

    def percent(self, hours: float) -> float:
        """The percentage that an answer loses if it is this many hours late."""
        over = hours - self.grace_hours
        reached = [pair for pair in self.lost if over > pair[0]]
        if not reached:
            return 0.0
        start, percent = reached[-1]
        if not self.linear or len(reached) == len(self.lost):
            return percent
        end, more = self.lost[len(reached)]
        return percent + (more - percent) * (over - start) / (end - start)


@dataclass(frozen=True)
class Partial:
    """Partial credit. variants: whether a wrong answer gets points in proportion to the variants
    for which it is right. hint_percent: the cost of each hint in percent."""

    variants: bool = False
    hint_percent: float = 0.0


@dataclass(frozen=True)
class Override:
    """Points given by the teacher, which replace those of the grader."""

    student: str
    exercise: str
    points: float
    why: str


@dataclass(frozen=True)
class Settings:
    """The settings in `course.toml`; without the file, the defaults.

    anonymous: whether codes replace names. tables: the names in TABLES of further tables to write.
    link: the address of a notebook, with `{exercise}`. deadlines: by exercise; EVERY for all
    others. handed_in: the submission time of a student, which replaces the time of the file. ids:
    the ids of students in the learning platform.
    """

    anonymous: bool = False
    tables: tuple[str, ...] = ()
    link: str = ""
    deadlines: Mapping[str, datetime] = field(default_factory=dict)
    late: Late = Late()
    handed_in: Mapping[str, datetime] = field(default_factory=dict)
    partial: Partial = Partial()
    ids: Mapping[str, str] = field(default_factory=dict)
    override: tuple[Override, ...] = ()

    def deadline(self, exercise: str) -> datetime | None:
        """The deadline of an exercise; None if it has none."""
        return self.deadlines.get(exercise, self.deadlines.get(EVERY))

    def shown(self, student: str, seed: int) -> str:
        """The displayed name of a student in tables and on pages: a code in an anonymous course.

        seed: the seed of the class, which is needed to compute the code of a name.
        """
        if not self.anonymous:
            return student
        digest = hashlib.sha256("\n".join((str(seed), student)).encode()).hexdigest()
        return f"student-{digest[:10]}"

    def check_students(self, students: Iterable[str]) -> None:
        """Raise SettingsError for a student in the settings who is not in the class."""
        known = set(students)
        named = {"override": [o.student for o in self.override], "handed_in": self.handed_in}
        for key, names in named.items():
            if unknown := [name for name in names if name not in known]:
                raise SettingsError(
                    f"{SETTINGS}: {key} names {unknown[0]!r}, who is not a student of the class; "
                    f"write the name as in the table of points"
                )


DEFAULTS = Settings()


def read_settings(folder: Path, exercises: Sequence[str]) -> Settings:
    """The settings in a folder; the defaults if it has no `course.toml`. exercises: the exercises
    of the course.

    Raises SettingsError if the file is not TOML, and for invalid keys and values.
    """
    path = folder / SETTINGS
    if not path.is_file():
        return Settings()
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read as TOML: {error}") from error
    return _Reader(str(path), exercises).settings(data)


class _Reader:
    """Reads values; an error for an invalid one names the file, the key and the expected value."""

    def __init__(self, path: str, exercises: Sequence[str]):
        self.path, self.exercises = path, exercises

    def settings(self, data: Mapping[str, Any]) -> Settings:
        return self.fields(
            Settings, "", data,
            anonymous=self.flag, tables=self.tables, link=self.link,
            deadlines=self.by(self.exercise_or_every, self.moment),
            late=lambda key, value: self.fields(
                Late, key, value, grace_hours=self.number(0), lost=self.steps,
                linear=self.flag,
            ),
            handed_in=self.by(self.text, self.moment),
            partial=lambda key, value: self.fields(
                Partial, key, value, variants=self.flag, hint_percent=self.number(0, 100)
            ),
            ids=self.by(self.text, self.text),
            override=self.overrides,
        )  # fmt: skip

    def wrong(self, key: str, expected: str, found: object) -> SettingsError:
        return SettingsError(f"{self.path}: {key} must be {expected}, found {found!r:.100}")

    def fields(
        self, kind: type[Any], key: str, value: Any, /, **readers: Callable[[str, Any], Any]
    ) -> Any:
        """A dataclass from a table whose keys are its fields."""
        if not isinstance(value, dict):
            raise self.wrong(key, "a table", value)
        start = f"{key}." if key else ""
        for name in value:
            if name not in readers:
                known = ", ".join(f"{start}{each.name}" for each in fields(kind))
                raise SettingsError(f"{self.path}: there is no key {start}{name}; known: {known}")
        return kind(**{name: readers[name](f"{start}{name}", value[name]) for name in value})

    def by(
        self, name: Callable[[str, Any], str], read: Callable[[str, Any], Any]
    ) -> Callable[[str, Any], dict[str, Any]]:
        """A reader of tables with arbitrary keys."""

        def table(key: str, value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise self.wrong(key, "a table", value)
            return {name(key, k): read(f"{key}.{k}", v) for k, v in value.items()}

        return table

    def flag(self, key: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false", value)
        return value

    def text(self, key: str, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, 'a text in quotes, such as "0042"', value)
        return value

    def number(self, least: float, most: float = float("inf")) -> Callable[[str, Any], float]:
        def read(key: str, value: Any) -> float:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise self.wrong(key, "a number", value)
            if not least <= value <= most:
                to = f" to {most:g}" if most != float("inf") else ""
                raise self.wrong(key, f"a number from {least:g}{to}", value)
            return float(value)

        return read

    def moment(self, key: str, value: Any) -> datetime:
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise self.wrong(
                key, "a time with its offset from UTC, as 2026-11-30T23:59:00+01:00", str(value)
            )
        return value

    def link(self, key: str, value: Any) -> str:
        address = self.text(key, value)
        if not address.startswith(("https://", "http://")):
            raise self.wrong(key, "an address that begins with https:// or http://", value)
        return address

    def tables(self, key: str, value: Any) -> tuple[str, ...]:
        if not isinstance(value, list) or any(each not in TABLES for each in value):
            raise self.wrong(key, f"a list of names among {', '.join(TABLES)}", value)
        return tuple(value)

    def steps(self, key: str, value: Any) -> tuple[tuple[float, float], ...]:
        expected = "a list of pairs [hours, percent] in ascending order, as [[0, 10], [24, 50]]"
        if not isinstance(value, list) or any(
            not isinstance(pair, list) or len(pair) != 2 for pair in value
        ):
            raise self.wrong(key, expected, value)
        hours, percent = self.number(0), self.number(0, 100)
        found = [(hours(key, pair[0]), percent(key, pair[1])) for pair in value]
        if found != sorted(found) or sorted(p for _, p in found) != [p for _, p in found]:
            raise self.wrong(key, expected, value)
        return tuple(found)

    def exercise(self, key: str, value: Any) -> str:
        if value not in self.exercises:
            known = ", ".join(self.exercises)
            raise self.wrong(key, f"an exercise of the course ({known})", value)
        return str(value)

    def exercise_or_every(self, key: str, value: Any) -> str:
        return EVERY if value == EVERY else self.exercise(f"a name in {key}", value)

    def overrides(self, key: str, value: Any) -> tuple[Override, ...]:
        if not isinstance(value, list):
            raise self.wrong(key, "tables that begin with [[override]]", value)
        found = []
        for number, each in enumerate(value, 1):
            name = f"{key} {number}"
            if isinstance(each, dict) and (missing := {f.name for f in fields(Override)} - {*each}):
                raise SettingsError(f"{self.path}: {name} lacks {', '.join(sorted(missing))}")
            found.append(
                self.fields(
                    Override, name, each, student=self.text, exercise=self.exercise,
                    points=self.number(0, POINTS), why=self.text,
                )
            )  # fmt: skip
        seen: set[tuple[str, str]] = set()
        for each in found:
            if (of := (each.student, each.exercise)) in seen:
                raise SettingsError(f"{self.path}: {key} has {' and '.join(of)} twice; keep one")
            seen.add(of)
        return tuple(found)


TEMPLATE = """\
# What you decide about points and tables; docs/teaching.md describes each key. Every key may be
# left out. Remove the "# " of those that you want. A change needs no notebook to run again.

# anonymous = true                 # codes in place of names, in tables and on pages
# tables = ["moodle", "canvas", "mistakes", "similar"]  # beside the table of points
# link = "https://hub.example.org/lab/tree/{exercise}.ipynb"

# [deadlines]
# every = 2026-11-30T23:59:00+01:00

# [late]
# grace_hours = 0.5
# lost = [[0, 10], [24, 50], [72, 100]]  # hours after the grace, and percent lost from then on
# linear = true                    # grows evenly from each pair to the next one

# [handed_in]                      # in place of the time of the file
# "ann" = 2026-11-30T20:15:00+01:00

# [partial]
# variants = true                  # the share of the variants for which an answer is right
# hint_percent = 10                # for each hint

# [ids]                            # of students in Moodle or Canvas
# "ann" = "0042"

# [[override]]                     # points that you give
# student = "ann"
# exercise = "annotate-diamond"
# points = 8
# why = "right idea, explained in the lab"
"""
