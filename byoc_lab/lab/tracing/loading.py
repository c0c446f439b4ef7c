"""`load_trace`: reads a saved trace, without running or unpickling anything.

`saving.py` describes the file format.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from byoc_lab import errors
from byoc_lab.errors import ByocLabError, RecordedError, TraceFileError
from byoc_lab.files import ordinary_file, path_of
from byoc_lab.lab.linting.finding import Finding, Severity
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.recording import RecordedStage, is_recording, read_recording
from byoc_lab.lab.tracing.saving import ARRAYS, EVENT, FORMAT, NODES, TRACE, VERSION, Json
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.passes.framework.hook import Event, Note, Round
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray, numpy_dtype
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.text.json.decoding import whole_json
from byoc_lab.relay.text.json.reader import read_nodes
from byoc_lab.relay.text.json.rows import RowReader
from byoc_lab.relay.text.printer_lines import Line

# Exceptions that reading a damaged file may raise.
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError,
    LookupError, TypeError, AttributeError, AssertionError, MemoryError, OverflowError,
)  # fmt: skip


NODES_1 = "nodes.json"
"""The nodes of a file of version 1."""
MAX_TEXT = 1 << 28
"""Limit for one unpacked JSON member, in bytes: a hundred times the size for 5,000 operators."""


@without_collection()
def load_trace(path: str | Path, *, max_bytes: int = MAX_TEXT) -> Trace:
    """A trace that `Trace.save` or, in a real TVM, `tvm_recorder.py` wrote (`byoc-lab recorder`
    prints that file). Nothing is run: no pass, no code from the file.

    Constants that were saved without their numbers are `elided`: they have a shape and a dtype, and
    read as zeros.

    max_bytes: the limit for one compressed member after unpacking; a file of some kilobytes may
    unpack to more than the memory holds.

    Raises ArgumentError if `path` is not a path; TraceFileError for a file that has a different
    format or version, is damaged or too large, or cannot be opened.
    """
    path = path_of(path)
    try:
        ordinary_file(path)
        if is_recording(path):
            return read_recording(path)
        with zipfile.ZipFile(path) as archive:
            data = whole_json(_member(archive, TRACE, max_bytes).decode())
            _check_version(data, path)
            arrays = _arrays(data["arrays"], _member(archive, ARRAYS, max_bytes))
            if data["version"] == 1:
                nodes = _version_1(data, _member(archive, NODES_1, max_bytes), arrays)
            else:
                with _opened(archive, NODES, max_bytes) as lines:
                    nodes = RowReader(arrays).read(line.decode() for line in lines)
        elided = {id(a) for a, d in zip(arrays, data["arrays"], strict=True) if not d["saved"]}
        for node in nodes.values():
            if isinstance(node, Constant) and id(node.data) in elided:
                set_field(node, "elided", True)
        return _Reader(data, nodes).trace()
    except TraceFileError:
        raise
    except zipfile.BadZipFile as error:
        raise TraceFileError(
            f"{path} is not a saved trace, or it is damaged ({error}); give a file that "
            f"Trace.save wrote"
        ) from error
    except OSError as error:
        raise TraceFileError(f"cannot open {path}: {error.strerror or error}") from error
    except (ByocLabError, *_DAMAGE) as error:
        raise TraceFileError(
            f"{path} is damaged: {type(error).__name__}: {error!s:.200}. Save the trace again"
        ) from error


def _opened(archive: zipfile.ZipFile, name: str, max_bytes: int) -> IO[bytes]:
    """A member of the file. A compressed member may unpack to at most `max_bytes`; an uncompressed
    member needs no limit, because it is not larger than the file."""
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED and info.file_size > max_bytes:
        raise TraceFileError(
            f"{archive.filename}: {name} has {info.file_size:,} bytes when it is unpacked (from "
            f"{info.compress_size:,}), more than {max_bytes:,}; if you trust the file, "
            f"load_trace(path, max_bytes={info.file_size}) reads it"
        )
    return archive.open(info)


def _member(archive: zipfile.ZipFile, name: str, max_bytes: int) -> bytes:
    with _opened(archive, name, max_bytes) as member:
        return member.read()


def _check_version(data: Any, path: Path) -> None:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceFileError(f"{path} is not a saved trace; give a file that Trace.save wrote")
    if data.get("version") not in (1, VERSION):
        raise TraceFileError(
            f"{path} is a saved trace of version {data.get('version')!r:.20}; this byoc_lab reads "
            f"versions 1 to {VERSION}. Save the trace again with this byoc_lab"
        )


def _version_1(data: Json, nodes: bytes, arrays: Sequence[NDArray]) -> dict[int, Any]:
    """The nodes of a file of version 1, which stores nodes as TVM's JSON graph and events as
    objects. Converts `data` to the current version."""
    data["texts"] = []
    left = list(data["stages"])
    while left:
        stage = left.pop()
        stage["events"] = [[event[name] for name in EVENT] for event in stage["events"]]
        left += stage.get("nested", ())
    return dict(enumerate(read_nodes(nodes.decode(), arrays)))


def _arrays(described: Sequence[Json], data: bytes) -> list[NDArray]:
    found = []
    at = 0
    for entry in described:
        dtype = numpy_dtype(str(entry["dtype"]))
        shape = tuple(int(n) for n in entry["shape"])
        if dtype.kind == "O" or min(shape, default=0) < 0:
            raise ValueError(f"invalid array: dtype {dtype}, shape {shape}")
        if entry["saved"]:
            count = int(np.prod(shape, dtype=object))
            little = dtype if dtype.isbuiltin == 2 else dtype.newbyteorder("<")
            array = np.frombuffer(data, little, count, at).reshape(shape)
            at += count * dtype.itemsize
        else:
            array = np.broadcast_to(np.zeros((), dtype), shape)  # shares one zero in memory
        found.append(NDArray(array))
    if at != len(data):
        raise ValueError(f"{ARRAYS} has {len(data)} bytes, expected {at}")
    return found


class _Reader:
    """Turns JSON into a trace."""

    def __init__(self, data: Json, nodes: Mapping[int, Any]):
        self.data = data
        self.nodes = nodes
        self.texts = list(map(str, data["texts"]))
        self.versions = {str(k): str(v) for k, v in data.get("versions", {}).items()}
        self.modules = [self.module(m) for m in data["modules"]]
        self.rounds = [
            Round(str(r["function"]), self.node(r["root"]), self.pairs(r["made"]),
                  [self.pairs(nodes) for nodes in r["copies"]])
            for r in data["rounds"]
        ]  # fmt: skip

    def at(self, position: int) -> Any:
        return self.nodes[position]

    def text(self, text: int | str) -> str:
        """A text given directly or as a position in the texts; version 1 has only direct texts."""
        return text if isinstance(text, str) else _item(self.texts, text)

    def node(self, position: int) -> Expr:
        found = self.nodes[position]
        if not isinstance(found, Expr):
            raise ValueError(f"node {position} must be an expression, found {found!r:.80}")
        return found

    def optional(self, position: int | None) -> Expr | None:
        return None if position is None else self.node(position)

    def pairs(self, positions: Sequence[int]) -> dict[Expr, Expr]:
        nodes = [self.node(p) for p in positions]
        return dict(zip(nodes[::2], nodes[1::2], strict=True))

    def module(self, data: Json) -> IRModule:
        if "text" in data:
            return UnparsedModule(str(data["text"]), str(data["reason"]))
        functions = {self.node(gv): self.at(func) for gv, func in data["functions"]}
        types = {self.at(name): self.at(ty) for name, ty in data["types"]}
        attrs = self.at(data["attrs"]) if data["attrs"] is not None else DictAttrs()
        if "language" in data:
            lines = list(map(self.line, data["lines"]))
            found = list(map(self.finding, data["findings"]))
            return ForeignModule(str(data["language"]), functions, attrs, lines, found)
        mod = IRModule(functions, types, attrs)
        mod.declared = {self.at(gv): self.at(ty) for gv, ty in data["declared"]}
        mod.notes = [str(note) for note in data["notes"]]
        return mod

    def line(self, data: Sequence[Any]) -> Line:
        text, node, function, refs, defines = data
        named = {str(name): self.node(n) for name, n in refs.items()}
        return Line(str(text), self.optional(node), function, named, defines)

    def finding(self, data: Json) -> Finding:
        return Finding(
            str(data["code"]),
            str(data["name"]),
            Severity(data["severity"]),
            str(data["message"]),
            str(data["what_to_do"]),
            self.optional(data["node"]),
            function=data["function"],
        )

    def trace(self) -> Trace:
        stages = [self.stage(s) for s in self.data["stages"]]
        error = self.error(self.data["error"])
        if self.data["ended_by_stage"]:
            error = stages[-1].error
        return Trace(stages, str(self.data["title"]), error, versions=self.versions)

    def stage(self, data: Json) -> Stage:
        after, level, ran_at = data["after"], data["needs_level"], data.get("opt_level")
        before = _item(self.modules, data["before"])
        is_recorded = self.versions and not isinstance(before, ForeignModule)
        kind = RecordedStage if is_recorded else Stage
        return kind(
            index=int(data["index"]),
            name=str(data["name"]),
            before=before,
            after=None if after is None else _item(self.modules, after),
            seconds=float(data["seconds"]),
            events=Events(self.event(e) for e in data["events"]),
            error=self.error(data["error"]),
            skipped=str(data["skipped"]),
            group=str(data["group"]),
            notes=Notes(
                Note(self.text(rule), self.text(reason), self.node(node), self.text(function))
                for rule, reason, node, function in data["notes"]
            ),
            needs_level=None if level is None else int(level),
            opt_level=None if ran_at is None else int(ran_at),
            nested=tuple(self.stage(inner) for inner in data.get("nested", ())),
        )

    def event(self, data: Sequence[Any]) -> Event:
        rule, reason, before, after, function, found, sources, bound = data
        if found is not None and (before is None or after is None):
            raise ValueError("a rewrite of a round lacks one of its nodes")
        return Event(
            self.text(rule),
            self.text(reason),
            self.optional(before),
            self.optional(after),
            self.text(function),
            None if found is None else _item(self.rounds, found),
            None if sources is None else tuple(map(self.node, sources)),
            {str(name): self.node(n) for name, n in bound.items()},
        )

    def error(self, data: Json | None) -> Exception | None:
        """The byoc_lab error with this class name and message; a RecordedError for other class
        names."""
        if data is None:
            return None
        name, message = str(data["type"]), str(data["message"])
        kind = getattr(errors, name, None)
        known = isinstance(kind, type) and issubclass(kind, ByocLabError)
        error: Exception = kind.__new__(kind) if known and kind else RecordedError()
        error.args = (message if known else f"{name}: {message}",)
        for field, value in data["fields"].items():
            if "value" in value:
                setattr(error, str(field), value["value"])
            elif "node" in value:
                setattr(error, str(field), self.node(value["node"]))
            else:
                setattr(error, str(field), tuple(map(self.node, value["nodes"])))
        return error


def _item(items: Sequence[Any], position: int) -> Any:
    if not 0 <= position < len(items):
        raise ValueError(f"position {position} of {len(items)} does not exist")
    return items[position]
