"""What functions compute in TVM 0.16: `tvm_values(calls)` builds and runs each under its Python.

The same file runs there, with the calls in a file of pickles. A call that TVM cannot build or run
gives the reason instead of its values; one that takes the process down counts as such.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

# The oracle's own default target is another machine than the one it runs on.
TARGET = "llvm -mtriple=x86_64-linux-gnu"


def tvm_values(calls: list[tuple[str, list[Any]]]) -> list[list[Any] | str]:
    """For each (module text, inputs of main) the arrays that main gives, or why it does not."""
    from .client import python_path

    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder, "calls"), Path(folder, "values")
        given.write_bytes(pickle.dumps(calls))
        command = [str(python_path()), __file__, str(given), str(found)]
        subprocess.run(command, check=True, cwd=folder, capture_output=True)
        return pickle.loads(found.read_bytes())


def _run(text: str, inputs: list[Any]) -> list[Any]:
    import tvm
    from tvm import relay
    from tvm.contrib import graph_executor

    mod = relay.transform.InferType()(relay.parse(text))
    if "qnn." in text:
        mod = relay.qnn.transform.CanonicalizeOps()(mod)
    with tvm.transform.PassContext(opt_level=1):
        library = relay.build(mod, target=tvm.target.Target(TARGET))
    runner = graph_executor.GraphModule(library["default"](tvm.cpu()))
    for n, value in enumerate(inputs):
        runner.set_input(n, tvm.nd.array(value))
    runner.run()
    return [runner.get_output(n).numpy() for n in range(runner.get_num_outputs())]


def _apart(text: str, inputs: list[Any]) -> list[Any] | str:
    """`_run` in a process of its own, which TVM may take down."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            answer: list[Any] | str = _run(text, inputs)
        except Exception as error:  # any error of TVM is an answer
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

    asked = pickle.loads(Path(sys.argv[1]).read_bytes())
    Path(sys.argv[2]).write_bytes(pickle.dumps([_apart(*call) for call in asked]))
