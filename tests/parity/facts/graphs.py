"""The graphs that TVM 0.16 makes of cases: operators, order and storage.

`graph_facts()` asks the oracle; the same file runs there. The result is the golden file
graphs.json. Layouts are unchanged, because TVM's preferred layouts depend on the target.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

GRAPHS = "graphs.json"
LEVELS = (0, 3)
LEFT_OUT = ["AlterOpLayout"]
# Operators that TVM can compile to C, without exp; no quotients by a root, which the oracle's
# SimplifyExpr does not change (see fork.py).
CASES = (
    "conv_bn_relu.two_blocks_constants", "fusing/constants", "fusing/repeated", "fusing/reshapes",
    "networks.dqn_constants", "networks.small_net_constants", "networks.squeezenet_constants",
)  # fmt: skip


def brief(graph: dict[str, Any]) -> dict[str, Any]:
    """The compared part of a graph, with one line for each node."""
    attrs, rows = graph["attrs"], graph["node_row_ptr"]
    nodes = []
    for n, node in enumerate(graph["nodes"]):
        own = {k: v for k, v in node.get("attrs", {}).items() if k not in ("hash", "Compiler")}
        results = slice(rows[n], rows[n + 1])
        kept = [attrs[key][1][results] for key in ("storage_id", "shape", "dltype")]
        nodes.append([node["op"], node["name"], own, node["inputs"], *kept])
    return {"nodes": nodes, "arg_nodes": graph["arg_nodes"], "heads": graph["heads"]}


def graph_facts() -> dict[str, Any]:
    """{case and level: brief graph, or None if TVM cannot compile it}."""
    from ..client import python_path

    with tempfile.TemporaryDirectory() as folder:
        found = Path(folder, "graphs")
        command = [str(python_path()), "-m", "parity.facts.graphs"]
        paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        subprocess.run([*command, str(found)], check=True, cwd=folder, env=paths)
        return json.loads(found.read_text(encoding="utf-8"))


def golden_text(facts: dict[str, Any]) -> str:
    """The golden file: one line for each node."""
    parts = []
    for name, graph in facts.items():
        text = "null"
        if graph is not None:
            nodes = ",\n".join(f"  {json.dumps(node)}" for node in graph["nodes"])
            rest = json.dumps({k: v for k, v in graph.items() if k != "nodes"})
            text = f'{rest[:-1]}, "nodes": [\n{nodes}\n]}}'
        parts.append(f"{json.dumps(name)}: {text}")
    return "{" + ",\n".join(parts) + "}\n"


def each_graph(graph: Callable[[str, int], dict[str, Any] | None]) -> dict[str, Any]:
    return {f"{case}, level {level}": graph(case, level) for case in CASES for level in LEVELS}


def _of_tvm(case: str, level: int) -> dict[str, Any] | None:
    import numpy as np
    import tvm
    import tvm.relay.testing  # `import relay` does not import it
    from tvm import relay

    from .. import cases

    mod = cases.load(case, tvm, relay, np)
    try:
        with tvm.transform.PassContext(opt_level=level, disabled_pass=LEFT_OUT):
            built = relay.build(mod, target="c")
    except tvm.TVMError:
        return None
    return brief(json.loads(built.get_graph_json()))


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(each_graph(_of_tvm)), encoding="utf-8")
