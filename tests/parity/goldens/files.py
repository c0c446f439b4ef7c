"""The format of a golden file: a head of comments, the IR before, a mark, the IR after.

    // A region's result is used inside and outside the next region.
    // case: annotations/G4
    // before: ["MergeCompilerRegions"]
    // pass: "PartitionGraph"
    // written by: python -m tests.parity.write_golden
    #[version = "0.0.5"]
    def @main(...) {...}
    // ---- after
    #[version = "0.0.5"]
    def @main(...) {...}

A line `// upstream: <case>` means that the oracle differs from TVM 0.16 (see `fork.py`), and that
the IR after the mark is TVM 0.16's, from this case. If the pass failed, the last part is a comment,
`// error: <kind>: <message>`. A file of the printer (`print/`) has no pass and no second part; a
text with metadata is a separate file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from byoc_lab import passes
from byoc_lab.compat import passes as compat_passes

TESTS = Path(__file__).resolve().parents[2]
WRITER = "python -m tests.parity.write_golden"
MARK = "// ---- after"
ERROR = "// error: "


@dataclass(frozen=True)
class GoldenFile:
    """One golden file, read or about to be written.

    Attributes:
        about: what the case shows.
        case: its name in `cases`.
        before: the steps that led to `text_before`.
        step: the step that leads from `text_before` to `text_after`; None in a printer's file.
        text_before: IR, as TVM prints it, without spans.
        text_after: IR, or None when the step failed or there was none.
        error: (kind, message) of the failure, or None. Kind "crash" is a process that died.
        upstream: the case that `text_after` was taken from, where the oracle is not to be followed.
    """

    about: str
    case: str
    before: list[Any]
    step: Any
    text_before: str
    text_after: str | None = None
    error: tuple[str, str] | None = None
    upstream: str | None = None

    def __str__(self) -> str:
        head = [
            f"// {self.about}",
            f"// case: {self.case}",
            f"// before: {json.dumps(self.before)}",
            *([f"// pass: {json.dumps(self.step)}"] if self.step is not None else []),
            *([f"// upstream: {self.upstream}"] if self.upstream else []),
            f"// written by: {WRITER}",
        ]
        parts = [*head, self.text_before.rstrip("\n")]
        if self.text_after is not None:
            parts += [MARK, self.text_after.rstrip("\n")]
        if self.error is not None:
            first, *rest = f"{self.error[0]}: {self.error[1]}".rstrip("\n").split("\n")
            parts += [MARK, ERROR + first, *(f"// {line}".rstrip() for line in rest)]
        return "\n".join(parts) + "\n"

    @classmethod
    def read(cls, path: Path) -> GoldenFile:
        """Reads a golden file.

        Raises ValueError if its head is incomplete.
        """
        lines = path.read_text(encoding="utf-8").split("\n")
        length = next(index for index, line in enumerate(lines) if not line.startswith("//"))
        about, *entries = (line[3:] for line in lines[:length])
        head = dict(entry.split(": ", 1) for entry in entries)
        if missing := {"case", "before", "written by"} - head.keys():
            raise ValueError(f"{path}: no `// {sorted(missing)[0]}:` line in its head")
        body = "\n".join(lines[length:]).rstrip("\n")
        before, mark, after = body.partition(f"\n{MARK}\n")
        error = None
        if after.startswith(ERROR):
            text = "\n".join(line[3:] for line in after.split("\n"))[len("error: ") :]
            kind, message = text.split(": ", 1)
            error = (kind, message)
        return cls(
            about=about,
            case=head["case"],
            before=json.loads(head["before"]),
            step=json.loads(head["pass"]) if "pass" in head else None,
            text_before=before,
            text_after=after if mark and error is None else None,
            error=error,
            upstream=head.get("upstream"),
        )


@cache
def golden_folders() -> dict[str, Path]:
    """Every golden folder and table by its name.

    Each is in a folder `golden` beside the tests that use it.
    """
    return {path.name: path for home in sorted(TESTS.rglob("golden")) for path in home.iterdir()}


def golden_path(name: str) -> Path:
    """The path of the golden file or table `name` ("FoldConstant/adt_fold.relay",
    "operators.json").

    It is with the tests of its pass, if the pass is known.
    """
    folder, _, file = name.partition("/")
    home = golden_folders().get(folder)
    if home is None:
        cls = getattr(passes, folder, None) or getattr(compat_passes, folder, None)
        group = "/".join(cls.__module__.split(".")[1:-1]) if cls else "parity"
        home = TESTS / group / "golden" / folder
    return home / file if file else home


def golden_name(path: Path) -> str:
    """The name of a golden file or table: its path below its folder `golden`."""
    return str(path)[str(path).rindex("/golden/") + len("/golden/") :]


def all_golden_files() -> list[Path]:
    """All golden files, sorted by name."""
    folders = (path for path in golden_folders().values() if path.is_dir())
    return sorted((file for path in folders for file in path.glob("*.relay")), key=golden_name)


def golden_files(folder: str) -> list[Path]:
    """The golden files of a pass (or of `print`), sorted.

    Raises ValueError if there is none.
    """
    paths = sorted(golden_path(folder).glob("*.relay"))
    if not paths:
        raise ValueError(f"no golden file is named {folder}/...; `{WRITER}` writes them")
    return paths
