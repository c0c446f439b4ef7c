"""JSON with values exchanged for others: modules as JSON, saved traces, recordings.

The text stays valid JSON, so a fault appears only where its values are used.
"""

from __future__ import annotations

import copy
import io
import json
import random as _random
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat.ir.ir import load_json, save_json
from byoc_lab.lab.tracing.saving import NODES, TRACE
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.text.json.metadata import write_metadata
from tests.fuzz.examine import Steps, limited

TEXT = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @f(%l: List[float32]) -> float32 { match (%l) { Cons(%h, _) => %h, Nil => 0f } }
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32], %c: bool) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  let %y = if (%c) { nn.relu(%0) } else { exp(%0) };
  %1 = fn (%p: Tensor[(1, 4, 8, 8), float32], Primitive=1, Compiler="dnnl", global_symbol="r") {
    add(%p, 1f)
  };
  let %r = ref(%y);
  let %q = ref_write(%r, %y);
  %2 = (%1(%y), ref_read(%r), @f(Cons(1f, Nil())));
  (%2.0, %2.1, %2.2)
}
"""
SMALL = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]))
}
"""
WEIGHTED = """def @main(%x: Tensor[(2), float32]) {
  nn.relu(add(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */))
}
"""
ODD: list[Any] = [None, 0, 1, -1, "0", "1", "-1", "", [], {}, "x", 1e300, 2**70, True, ["0"]]
ODD += [{"a": 1}, [[]], "9" * 30, "nan", "inf", "float99", "\ud800", "relay.Call", "Array", "Map"]


def make(random: _random.Random) -> bytes:
    """The name of a format, a newline, and JSON documents, one per line."""
    kind = random.choice(sorted(_samples()))
    documents = [json.loads(line) for line in _samples()[kind].splitlines()]
    places = [place for document in documents for place in _places(document)]
    for _ in range(random.choice([1, 1, 2, 4])):
        holder, key = random.choice(places)
        other, another = random.choice(places)
        roll = random.random()
        if roll < 0.5 and type(holder[key]) is type(other[another]):
            holder[key] = copy.deepcopy(other[another])
        elif roll < 0.7:
            holder[key] = copy.deepcopy(random.choice(ODD))
        elif isinstance(holder[key], int):
            holder[key] = random.randrange(100)
        elif str(holder[key]).isdecimal():
            holder[key] = str(random.randrange(100))
        places = [place for document in documents for place in _places(document)]
    return "\n".join([kind, *map(json.dumps, documents)]).encode()


def examine(data: bytes) -> int:
    kind, *documents = data.decode().split("\n")
    steps = Steps()
    with limited(), tempfile.TemporaryDirectory() as folder:
        found = steps.do(_READERS[kind], documents, Path(folder, "file"))
        if isinstance(found, byoc_lab.Trace):
            _use_trace(found, Path(folder), steps)
        elif isinstance(found, relay.IRModule):
            _use(found, steps)
        elif isinstance(found, relay.Expr):
            steps.do(str, found)
            steps.do(save_json, found)
    return steps.done


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Each nested value, as its container and its key in the container."""
    waiting = [document]
    while waiting:
        value = waiting.pop()
        keys: Any = range(len(value)) if isinstance(value, list) else list(value)
        for key in keys:
            yield value, key
            if isinstance(value[key], (list, dict)) and value[key]:
                waiting.append(value[key])


def _use(mod: relay.IRModule, steps: Steps) -> None:
    uses: list[Callable[[], Any]] = [
        mod.astext,
        lambda: save_json(mod),
        lambda: str(byoc_lab.lint(mod)),
        lambda: str(byoc_lab.trace(mod, "dnnl")),
        lambda: str(byoc_lab.explain(mod, "dnnl")),
        lambda: str(byoc_lab.diff(mod, _module(SMALL)).summary),
        lambda: relay.structural_hash(mod),
        lambda: relay.transform.InferType()(mod),
        lambda: [relay.analysis.well_formed(f) for f in mod.functions.values()],
    ]
    for use in uses:
        steps.do(use)


def _use_trace(trace: byoc_lab.Trace, folder: Path, steps: Steps) -> None:
    uses: list[Callable[[], Any]] = [
        lambda: str(trace),
        lambda: trace.save_html(folder / "page.html"),
        lambda: byoc_lab.load_trace(trace.save(folder / "again.byoc")),
        lambda: str(trace.diff(0, len(trace.stages) - 1)),
        lambda: [str(stage.events) + str(stage.diff) for stage in trace.stages],
    ]
    for use in uses:
        steps.do(use)
    if not isinstance(trace.initial, UnparsedModule):
        _use(trace.initial, steps)


def _module(text: str) -> relay.IRModule:
    return relay.parse(text)


@cache
def _samples() -> dict[str, str]:
    """JSON documents by format, one per line."""
    mod = _module(TEXT)
    trace = byoc_lab.trace(_module(SMALL), "dnnl")
    with tempfile.TemporaryDirectory() as folder:
        saved = trace.save(Path(folder, "trace.byoc"))
        with zipfile.ZipFile(saved) as archive:
            members = [archive.read(name).decode() for name in (TRACE, NODES)]
    head = {"format": "byoc_lab recording", "version": 2, "tvm": "0.16.0"}
    lines: list[dict[str, Any]] = [head, {"event": "context", "opt_level": 3}]
    table = json.loads(write_metadata({"relay.Constant": [relay.const([1.0, 2.0])]}))
    (array,) = table["b64ndarrays"]
    lines.append({"event": "array", "key": "first", "data": array})
    module = {"module": WEIGHTED, "metadata": {**table, "b64ndarrays": ["first"]}}
    for name, inner in (("A", "B"), ("C", "D")):
        lines += [
            {"event": "begin", "pass": name, "time": 1.0, "required": ["InferType"], **module},
            {"event": "begin", "pass": inner, "time": 2.0, "same": True},
            {"event": "end", "time": 3.0, **module, "module": WEIGHTED.replace("nn.relu", "exp")},
            {"event": "end", "time": 4.0, "same": True},
        ]
    lines.append({"event": "error", "type": "TVMError", "message": "Check failed"})
    return {
        "module": json.dumps(json.loads(save_json(mod))),
        "expression": json.dumps(json.loads(save_json(mod["main"].body))),
        "trace": "\n".join(json.dumps(json.loads(member)) for member in members),
        "recording": "\n".join(map(json.dumps, lines)),
    }


def _read_module(documents: list[str], path: Path) -> Any:
    return load_json(documents[0])


def _read_trace(documents: list[str], path: Path) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        saved = byoc_lab.trace(_module(SMALL), "dnnl").save(Path(folder, "trace.byoc"))
        data = io.BytesIO(saved.read_bytes())
    changed = dict(zip((TRACE, NODES), documents, strict=True))
    with zipfile.ZipFile(data) as archive, zipfile.ZipFile(path, "w") as new:
        for name in archive.namelist():
            new.writestr(name, changed.get(name) or archive.read(name))
    return byoc_lab.load_trace(path)


def _read_recording(documents: list[str], path: Path) -> Any:
    path.write_text("\n".join(documents))
    return byoc_lab.load_trace(path)


_READERS: dict[str, Callable[[list[str], Path], Any]] = {
    "module": _read_module,
    "expression": _read_module,
    "trace": _read_trace,
    "recording": _read_recording,
}
