"""The results of functions in TVM 0.16: `tvm_values(calls)` builds and runs each under its Python.

A call is a module as text, or Python text over x0, x1, ... for one expression. The same file runs
there, with the calls in a pickle file. For a call that TVM cannot build or run, the result is the
reason; a crash of the process counts as one.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# The oracle's default target is a machine other than the one it runs on.
TARGET = "llvm -mtriple=x86_64-linux-gnu"


def tvm_values(calls: list[tuple[str, list[Any]]]) -> list[list[Any] | str]:
    """For each (program, inputs of main): the arrays that main returns, or the reason why there
    are none."""
    return _asked("values", calls)


def tvm_typed(calls: list[tuple[str, list[Any]]]) -> list[str]:
    """For each call: its module as TVM prints it with types, or the reason why there is none."""
    return [answer if isinstance(answer, str) else answer[0] for answer in _asked("types", calls)]


def _asked(what: str, calls: list[tuple[str, list[Any]]]) -> list[Any]:
    from ..client import python_path

    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "calls"), Path(folder, "values")
        given.write_bytes(pickle.dumps(calls))
        command = [str(python_path()), __file__, what, str(given), str(found)]
        subprocess.run(command, check=True, cwd=folder, capture_output=True)
        return pickle.loads(found.read_bytes())


def _typed(program: str, inputs: list[Any]) -> Any:
    import numpy as np
    import tvm
    from tvm import relay

    if program.startswith("#[version"):
        mod = relay.parse(program)
    else:
        params = [
            relay.var(f"x{n}", shape=value.shape, dtype=value.dtype.name)
            for n, value in enumerate(inputs)
        ]
        names = {p.name_hint: p for p in params}
        made = eval(program, {"relay": relay, "np": np}, names)
        body = getattr(made, "tuple_value", made)
        mod = tvm.IRModule.from_expr(relay.Function(params, body))
    return relay.transform.InferType()(mod)


def _types(program: str, inputs: list[Any]) -> list[Any]:
    return [str(_typed(program, inputs).astext(show_meta_data=False))]


def _run(program: str, inputs: list[Any]) -> list[Any]:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    mod = _typed(program, inputs)
    if "qnn." in program:
        mod = relay.qnn.transform.CanonicalizeOps()(mod)
    if "?" in mod.astext(show_meta_data=False):  # sizes that only its virtual machine supports
        machine = relay.create_executor("vm", mod, tvm.cpu(), tvm.target.Target(TARGET))
        value = machine.evaluate()(*inputs)
        return [v.numpy() for v in ([value] if hasattr(value, "numpy") else value)]
    with tvm.transform.PassContext(opt_level=1):
        library = relay.build(mod, target=tvm.target.Target(TARGET))
    runner = graph_executor.GraphModule(library["default"](tvm.cpu()))
    for n, value in enumerate(inputs):
        runner.set_input(n, tvm.nd.array(value))
    runner.run()
    return [runner.get_output(n).numpy() for n in range(runner.get_num_outputs())]


def _apart(answering: Any, program: str, inputs: list[Any]) -> list[Any] | str:
    """Computes `answering` in a separate process, which TVM may crash."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            answer: list[Any] | str = answering(program, inputs)
        except Exception as error:  # any error of TVM is a result
            answer = [line for line in str(error).splitlines() if line.strip()][-1]
        with open(writer, "wb") as out:
            pickle.dump(answer, out)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as come:
        content = come.read()
    os.wait()
    return pickle.loads(content) if content else "TVM crashed"


if __name__ == "__main__":
    import tvm.relay  # noqa: F401 (once, for all processes that follow)

    answering = {"values": _run, "types": _types}[sys.argv[1]]
    asked = pickle.loads(Path(sys.argv[2]).read_bytes())
    Path(sys.argv[3]).write_bytes(pickle.dumps([_apart(answering, *call) for call in asked]))
