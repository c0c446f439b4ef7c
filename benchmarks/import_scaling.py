"""Checks that the cost of importing an ONNX model grows linearly with its nodes.

Chains of blocks (Conv, BatchNormalization, Relu, Add) of 1,000 and of 10,000 nodes, alternately in
one process, `--repeat` times; the fastest run of each counts. Then DenseNet-121 of the onnx package
1.14.1 (1,746 nodes), and with `--oracle` the time that TVM 0.16's own importer takes for it (about
40 s). Both are in the environment that `make oracle` makes. Processor time.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

NODES = (1_000, 10_000)
GROWTH_LIMIT = 16.0  # growth limit for 10 times the nodes, with cache misses
DENSENET_LIMIT = 2.0  # limit in seconds
ROOT = Path(__file__).resolve().parents[1]
ORACLE = ROOT / ".oracle-venv"
DENSENET = "lib/python*/site-packages/onnx/backend/test/data/light/light_densenet121.onnx"
IN_TVM = """
import json, sys, time, onnx
from tvm import relay
model = onnx.load(sys.argv[1])
start = time.process_time()
relay.frontend.from_onnx(model)
print(json.dumps(time.process_time() - start))
"""


def chain(nodes: int) -> Any:
    """A model with blocks of four nodes."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.RandomState(0)
    weights = [numpy_helper.from_array(random.rand(8, 8, 3, 3).astype("float32"), "kernel")]
    weights += [numpy_helper.from_array(random.rand(8).astype("float32"), f"bn{i}") for i in "abcd"]
    made, x = [], "x"
    for i in range(nodes // 4):
        names = [f"{kind}{i}" for kind in ("conv", "norm", "relu", "add")]
        made += [
            helper.make_node("Conv", [x, "kernel"], [names[0]], names[0], pads=[1, 1, 1, 1]),
            helper.make_node(
                "BatchNormalization", [names[0], *("bn" + c for c in "abcd")], [names[1]]
            ),
            helper.make_node("Relu", [names[1]], [names[2]], names[2]),
            helper.make_node("Add", [names[2], x], [names[3]], names[3]),
        ]
        x = names[3]
    graph = helper.make_graph(
        made,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 8, 8])],
        [helper.make_tensor_value_info(x, TensorProto.FLOAT, None)],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def import_seconds(model: Any) -> float:
    from byoc_lab.importers.onnx import from_onnx

    gc.collect()
    return timed(partial(from_onnx, model), time.process_time)[1]


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=3, help="number of repetitions")
    parser.add_argument("--oracle", action="store_true", help="time TVM's own importer, too")
    options = parser.parse_args()
    models = {n: chain(n) for n in NODES}
    import_seconds(models[NODES[0]])  # definitions of operators are created on first use
    turns = [{n: import_seconds(m) for n, m in models.items()} for _ in range(options.repeat)]
    best = {n: min(turn[n] for turn in turns) for n in NODES}
    rows = [[f"chain of {n:,} nodes", seconds(best[n])] for n in NODES]
    growth = best[NODES[1]] / best[NODES[0]]
    misses = [f"10 times the nodes take {growth:.1f} times as long"] * (growth > GROWTH_LIMIT)
    found: dict[str, Any] = {"seconds": best, "growth": growth}
    densenet = next(ORACLE.glob(DENSENET), None)
    if densenet is not None:
        found["densenet"] = min(import_seconds(str(densenet)) for _ in range(options.repeat))
        rows.append(["DenseNet-121", seconds(found["densenet"])])
        misses += ["DenseNet-121 takes too long"] * (found["densenet"] > DENSENET_LIMIT)
        if options.oracle:
            command = [str(ORACLE / "bin" / "python"), "-c", IN_TVM, str(densenet)]
            run = subprocess.run(command, check=True, capture_output=True, text=True)
            found["densenet_tvm"] = json.loads(run.stdout.splitlines()[-1])
            rows.append(["DenseNet-121, TVM 0.16", seconds(found["densenet_tvm"])])
    print(table(["import", "time"], rows))
    print(f"\n10 times the nodes take {growth:.1f} times as long")
    write_json(options.out / "import_scaling.json", found)
    return verdict(misses)


if __name__ == "__main__":
    sys.exit(main())
