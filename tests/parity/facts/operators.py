"""TVM 0.16's operators: their properties, the signatures of their Python functions, and the results
of the calls in tests/relay/op/calls.py.

`operator_facts()` asks the oracle; the same file runs there. The result is the golden file
operators.json.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

OPERATORS = "operators.json"
# The modules in which scripts find operators; functions that only the fork has are omitted.
MODULES = (
    "", "nn", "image", "qnn.op", "vision", "random", "annotation",
)  # fmt: skip
OWN_OF_THE_FORK = ("csi", "csinn", "cache_", "fsmn", "swish", "celu", "hardmax", "segment_m")


def operator_facts(calls: list[str], holes: dict[str, str]) -> dict[str, Any]:
    """{"operators": ..., "signatures": ..., "calls": ..., "holes": ...} from the oracle.

    `holes`: by name, modules as text in which a parameter of @main has no type; the value is the
    type that TVM infers for it, or None.
    """
    from ..client import python_path

    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "calls"), Path(folder, "facts")
        given.write_text(json.dumps([calls, holes]), encoding="utf-8")
        command = [str(python_path()), __file__, str(given), str(found)]
        subprocess.run(command, check=True, cwd=folder, capture_output=True)
        return json.loads(found.read_text(encoding="utf-8"))


def golden_text(facts: dict[str, Any]) -> str:
    """The golden file: one line for each entry."""
    parts = []
    for name, section in facts.items():
        lines = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in section.items())
        parts.append(f"{json.dumps(name)}: {{\n{lines}\n}}")
    return "{" + ",\n".join(parts) + "}\n"


RULES = {
    "FTVMFakeQuantizationToInteger": "always", "FTVMOptionalFakeQuantizationToInteger": "if asked",
}  # fmt: skip
"""When FakeQuantizationToInteger rewrites an operator, by the attribute that has its rule."""


def _operators() -> dict[str, Any]:
    import tvm
    from tvm.relay.op.contrib.dnnl import IsComputeIntensiveGraph

    found = {}
    for name in sorted(map(str, tvm.ir.Op.list_op_names())):
        if name.startswith(("tir.", "relax.", "qnn.csi.", "test.")):
            continue
        op = tvm.ir.Op.get(name)
        marks = {"TOpPattern": None, "TNonComputational": None, "TOpIsStateful": None}
        for mark in marks:
            value = op.get_attr(mark)
            marks[mark] = None if value is None else int(value)
        found[name] = {"inputs": int(op.num_inputs), "attrs": op.attrs_type_key, **marks}
        found[name]["support_level"] = int(op.support_level)
        if IsComputeIntensiveGraph().is_graph_compute_intensive(tvm.relay.Call(op, [])):
            found[name]["compute_intensive"] = True
        for key, when in RULES.items():
            if op.get_attr(key) is not None:
                found[name]["fake_quantized"] = when
    return found


def _signatures() -> dict[str, str]:
    from tvm import relay

    found = {}
    for path in MODULES:
        home: Any = relay
        for word in filter(None, path.split(".")):
            home = getattr(home, word)
        for name, value in sorted(vars(home).items()):
            if name.startswith(("_", *OWN_OF_THE_FORK)) or not inspect.isfunction(value):
                continue
            origin = value.__module__
            if ".op." not in origin or origin.endswith((".op.op", ".utils", "codegen")):
                continue
            bare = [
                p.replace(annotation=inspect.Parameter.empty)
                for p in inspect.signature(value).parameters.values()
            ]
            found[f"{path}.{name}".lstrip(".")] = str(inspect.Signature(bare))
    return found


def names(relay: Any, np: Any) -> dict[str, Any]:
    """The names that the text of a call may use, with TVM's relay or byoc_lab's."""
    count = iter(range(100))

    def variable(shape: Any, dtype: str = "float32") -> Any:
        return relay.var(f"x{next(count)}", shape=shape, dtype=dtype)

    return {"R": relay, "nn": relay.nn, "np": np, "V": variable, "C": relay.const, "A": relay.Any()}


def printed(relay: Any, np: Any, infer: Callable[[Any], Any], call: str) -> str:
    """The function over a call's variables, with types, without metadata."""
    made = eval(call, names(relay, np))
    body = getattr(made, "tuple_value", made)
    function = relay.Function(relay.analysis.free_vars(body), body)
    lines = str(infer(function).astext(show_meta_data=False)).splitlines()
    return "\n".join(x for x in lines if x.startswith(("def", "  ", "}")))


def hole_of(text: str) -> int:
    """The parameter of @main without a type in a module's text."""
    head = text.split("def @main(", 1)[1].split(") {", 1)[0]
    return next(n for n, p in enumerate(head.split("%")[1:]) if ":" not in p)


def _call(call: str) -> str:
    import numpy as np
    import tvm
    from tvm import relay

    def infer(function: Any) -> Any:
        return relay.transform.InferType()(tvm.IRModule.from_expr(function))

    return printed(relay, np, infer, call)


def _hole(text: str) -> str:
    from tvm import relay

    main = relay.transform.InferType()(relay.parse(text))["main"]
    return str(main.params[hole_of(text)].checked_type)


def _apart(answering: Callable[[str], str], asked: str) -> str | None:
    """The result, or None for calls that TVM refuses, computed in a separate process."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            answer = answering(asked)
        except Exception:  # any error of TVM counts as a refusal
            answer = ""
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as come:
        text = come.read().decode()
    os.wait()
    return text or None


if __name__ == "__main__":
    import tvm.relay  # noqa: F401 (once, for all processes that follow)

    calls, holes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    answer = {
        "operators": _operators(),
        "signatures": _signatures(),
        "calls": {call: _apart(_call, call) for call in calls},
        "holes": {name: _apart(_hole, text) for name, text in holes.items()},
    }
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")
