"""Reads a recording that `tvm_recorder.py` made inside a real TVM, as a Trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from byoc_lab.errors import ByocLabError, RecordedError, TraceFileError
from byoc_lab.lab.tracing.recording.modules import Modules
from byoc_lab.lab.tracing.recording.pass_tree import RecordedPass, shown_passes
from byoc_lab.lab.tracing.recording.replayed import RecordedStage
from byoc_lab.lab.tracing.stages import Trace
from byoc_lab.relay.text.json.decoding import whole_json

FORMAT, VERSION = "byoc_lab recording", 2


def recorder_source() -> str:
    """The text of `tvm_recorder.py`."""
    return (Path(__file__).parent / "tvm_recorder.py.txt").read_text(encoding="utf-8")


def is_recording(path: Path) -> bool:
    """Whether a file starts like a recording. Raises OSError."""
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(100)


def read_recording(path: Path) -> Trace:
    """The passes of a recording as stages, without events, because TVM's C++ reports none.

    The members of a sequence are stages. The passes that a pass runs are `nested` in its stage. A
    module that does not parse is an `UnparsedModule`. If the recording ends inside a pass, for
    example because TVM crashed, that pass is the last stage, with an error that says so.

    Raises TraceFileError if the file is damaged, has a different version, or has no passes.
    """
    try:
        head, *lines = _lines(path)
        if head["version"] != VERSION:
            raise TraceFileError(
                f"{path} is a recording of version {head['version']!r:.20}; this byoc_lab "
                f"reads version {VERSION}. `byoc-lab recorder` writes the recorder that fits"
            )
        return _Reader(path, head).trace(lines)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, ByocLabError):
            raise
        raise TraceFileError(
            f"{path} is a damaged recording: {type(error).__name__}: {error!s:.200}. Record again"
        ) from error


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file, without the last one if it is incomplete (TVM's process ended while
    writing it)."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            try:
                yield whole_json(line)
            except ValueError:
                if line.endswith("\n"):
                    raise


class _Reader:
    def __init__(self, path: Path, head: dict[str, Any]):
        self.path = path
        self.versions = {str(k): str(v) for k, v in head.items() if k not in ("format", "version")}
        self.modules = Modules(path.name)
        self.opt_level: int | None = None

    def trace(self, lines: Iterable[dict[str, Any]]) -> Trace:
        """The trace of the lines after the head."""
        top: list[RecordedPass] = []
        open_passes: list[RecordedPass] = []
        error: Exception | None = None
        for line in lines:
            event = line["event"]
            if event == "array":
                self.modules.add_array(str(line["key"]), str(line["data"]))
            elif event == "context":
                self.opt_level = int(line["opt_level"])
            elif event == "error":
                error = RecordedError(f"{line['type']}: {line['message']}")
                _end_all(open_passes, error)
            elif event == "begin":
                error = None
                begun = self._begun(line)
                (open_passes[-1].inner if open_passes else top).append(begun)
                open_passes.append(begun)
            else:
                ended = open_passes.pop()
                ended.after = self.modules.state(line)
                ended.seconds = float(line["time"]) - ended.begun
        if open_passes:
            error = RecordedError(
                f"the recording ends inside pass {open_passes[-1].name}: TVM's process ended, or "
                f"the file is truncated; the last known module is .before of that stage"
            )
            _end_all(open_passes, error)
        stages = self.stages(top)
        if not stages:
            raise TraceFileError(
                f"{self.path} has no pass; run passes in a PassContext that has the options of "
                f"the recorder: PassContext(**recorder.options())"
            )
        title = (
            f"{self.path.name}, recorded by TVM {self.versions.get('tvm', 'of unknown version')}"
        )
        return Trace(list(stages), title, error, versions=self.versions)

    def _begun(self, line: dict[str, Any]) -> RecordedPass:
        return RecordedPass(
            str(line["pass"]),
            self.modules.state(line),
            float(line["time"]),
            tuple(map(str, line.get("required", ()))),
            self.opt_level,
        )

    def stages(self, passes: Sequence[RecordedPass]) -> tuple[RecordedStage, ...]:
        return tuple(self._stage(n, *shown) for n, shown in enumerate(shown_passes(passes)))

    def _stage(self, index: int, ran: RecordedPass, group: str) -> RecordedStage:
        return RecordedStage(
            index,
            ran.name,
            self.modules.module(ran.before, ran.name),
            None if ran.after is None else self.modules.module(ran.after, ran.name),
            ran.seconds,
            error=ran.error,
            group=group,
            nested=self.stages(ran.inner),
            opt_level=ran.opt_level,
        )


def _end_all(open_passes: list[RecordedPass], error: Exception) -> None:
    for begun in open_passes:
        begun.error = error
    open_passes.clear()
