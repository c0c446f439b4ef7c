"""Saving traces: `save_trace` writes the file that `loading.py` reads.

The file is a ZIP archive with three members:

    nodes.jsonl all expressions and types of all stages, each once, in the format of `rows.py`
    trace.json   {"format", "version", ...}: stages, modules, events. Expressions and types are
                 numbers, their positions in nodes.jsonl. An event is the list of the fields in
                 `EVENT`, a note the list [rule, reason, node, function]; their texts are
                 numbers, positions in "texts"
    arrays.bin   the numbers of the constants, one array after the other, little-endian
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from byoc_lab.files import replacing
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.lab.tracing.pass_record import PassRecord
from byoc_lab.lab.tracing.pickling import roots
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.text.json.rows import RowWriter

FORMAT, VERSION = "byoc_lab.trace", 2
TRACE, NODES, ARRAYS = "trace.json", "nodes.jsonl", "arrays.bin"
EVENT = ("rule", "reason", "before", "after", "function", "round", "sources", "bound")
COMPRESSION = 3
"""The compression level of zlib: files are a tenth larger than at the default level, but written in
a third of the time."""
SMALL = 16
"""Arrays with at most this many elements are always saved."""
Json = dict[str, Any]


@without_collection()
def save_trace(
    path: str | Path,
    stages: Sequence[PassRecord],
    title: str,
    error: Exception | None,
    versions: Mapping[str, str],
    *,
    constants: bool,
) -> Path:
    """Write a trace, given by its attributes, to a file. constants: whether to save the numbers of
    constants; if not, only arrays of up to 16 elements keep their numbers, and the file stays
    small.

    Raises AttributeValueError for an attribute or dtype that the file format cannot represent.
    """
    path = Path(path)
    packed: Any = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": COMPRESSION}
    with replacing(path) as new, zipfile.ZipFile(new, "w", **packed) as archive:
        with archive.open(NODES, "w", force_zip64=True) as out:
            nodes = RowWriter(lambda line: out.write(line.encode()))
            writer = _Writer(stages, nodes)
            data: Json = {
                "format": FORMAT,
                "version": VERSION,
                "title": title,
                "versions": versions,
                "error": writer.error(error),
                "ended_by_stage": any(s.error is error for s in stages if s.error),
                "modules": writer.modules,
                "rounds": writer.rounds,
                "stages": writer.stages,
                "texts": list(writer.texts),
            }
            arrays = nodes.finish()
        kept = [constants or a.view().size <= SMALL for a in arrays]
        data["arrays"] = [
            {"dtype": a.dtype, "shape": list(a.shape), "saved": k}
            for a, k in zip(arrays, kept, strict=True)
        ]
        archive.writestr(TRACE, json.dumps(data, separators=(",", ":")))
        # stored uncompressed
        with archive.open(zipfile.ZipInfo(ARRAYS), "w", force_zip64=True) as out:
            for array, keep in zip(arrays, kept, strict=True):
                if keep:
                    view = array.view()
                    out.write(view.astype(view.dtype.newbyteorder("<"), copy=False).tobytes())
    return path


class _Writer:
    """Turns the stages of a trace into JSON, and numbers the expressions and types that they refer
    to."""

    def __init__(self, stages: Sequence[PassRecord], nodes: RowWriter):
        self.ref, self.placed = nodes.place, nodes.placed
        self.modules: list[Json] = []
        self._module_at: dict[int, int] = {}
        self.rounds: list[Json] = []
        self._round_at: dict[Round, int] = {}
        self.texts: dict[str, int] = {}
        for node in post_order(*roots(stages)):
            self.ref(node)
        self.stages = [self.stage(stage) for stage in stages]

    def refs(self, values: Iterable[Any]) -> list[int]:
        """The positions of expressions, types or attributes in the table."""
        return [self.ref(v) for v in values]

    def optional(self, value: Any) -> int | None:
        return None if value is None else self.ref(value)

    def text(self, text: str) -> int:
        return self.texts.setdefault(text, len(self.texts))

    def stage(self, stage: PassRecord) -> Json:
        return {
            "index": stage.index,
            "name": stage.name,
            "group": stage.group,
            "skipped": stage.skipped,
            "needs_level": stage.needs_level,
            "seconds": stage.seconds,
            "before": self.module(stage.before),
            "after": None if stage.after is None else self.module(stage.after),
            "error": self.error(stage.error),
            "events": [self.event(e) for e in stage.events],
            "notes": [
                [self.text(n.rule), self.text(n.reason), self.ref(n.node), self.text(n.function)]
                for n in stage.notes
            ],
            "opt_level": stage.opt_level,
            "nested": [self.stage(inner) for inner in stage.nested],
        }

    def module(self, mod: IRModule) -> int:
        if id(mod) in self._module_at:
            return self._module_at[id(mod)]
        self._module_at[id(mod)] = len(self.modules)
        if isinstance(mod, UnparsedModule):
            self.modules.append({"text": mod.text, "reason": mod.reason})
        else:
            foreign = self.foreign(mod) if isinstance(mod, ForeignModule) else {}
            self.modules.append({
                **foreign,
                "functions": [self.refs(item) for item in mod.functions.items()],
                "types": [self.refs(item) for item in mod.type_definitions.items()],
                "declared": [self.refs(item) for item in mod.declared.items()],
                "attrs": self.ref(mod.attrs) if len(mod.attrs) else None,
                "notes": list(mod.notes),
            })  # fmt: skip
        return self._module_at[id(mod)]

    def foreign(self, mod: ForeignModule) -> Json:
        """The content of a non-Relay module other than its nodes: its text and findings."""
        return {
            "language": mod.language,
            "lines": [
                [
                    line.text,
                    self.optional(line.node),
                    line.function,
                    {name: self.ref(node) for name, node in line.refs.items()},
                    line.defines,
                ]
                for line in mod.lines
            ],
            "findings": [
                {
                    "code": f.code,
                    "name": f.name,
                    "severity": str(f.severity),
                    "message": f.message,
                    "what_to_do": f.what_to_do,
                    "node": self.optional(f.node),
                    "function": f.function,
                }
                for f in mod.findings
            ],
        }

    def event(self, event: Event) -> list[Any]:
        return [
            self.text(event.rule),
            self.text(event.reason),
            self.optional(event.before),
            self.optional(event.after),
            self.text(event.function),
            None if event.round is None else self.round(event.round),
            None if event.sources is None else self.refs(event.sources),
            {name: self.ref(node) for name, node in event.bound.items()},
        ]

    def round(self, found: Round) -> int:
        if found not in self._round_at:
            self._round_at[found] = len(self.rounds)
            self.rounds.append({
                "function": found.function,
                "root": self.ref(found.root),
                "made": self.pairs(found.made),
                "copies": [self.pairs(nodes) for nodes in found.copies],
            })  # fmt: skip
        return self._round_at[found]

    def pairs(self, nodes: Mapping[Expr, Expr]) -> list[int]:
        """Keys and values alternating; all of them are in `roots` and therefore numbered."""
        placed = self.placed
        return [placed[id(n)] for pair in nodes.items() for n in pair]

    def error(self, error: Exception | None) -> Json | None:
        if error is None:
            return None
        fields: Json = {}
        for name, value in vars(error).items():
            if isinstance(value, (str, int)):
                fields[name] = {"value": value}
            elif isinstance(value, Expr):
                fields[name] = {"node": self.ref(value)}
            elif isinstance(value, tuple) and all(isinstance(v, Expr) for v in value):
                fields[name] = {"nodes": self.refs(value)}
        return {"type": type(error).__name__, "message": str(error), "fields": fields}
