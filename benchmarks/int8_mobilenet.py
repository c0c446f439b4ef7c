"""How much faster is MobileNet v1 on integers of 8 bits than on float32, on DNNL?

The network is quantized as in `byoc_lab.lessons.quantize` (after one image) and partitioned; what
is timed is the region with its convolutions, from the float32 image to the float32 means of the
last feature maps, so that quantizing and dequantizing are counted. The float32 region takes and
gives the same, within what 8 bits allow. Both take turns; see `turns.py` for how it is measured.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from contenders import image
from report import arguments, table, verdict, write_json
from turns import Contender, take_turns

REAL, WHOLE = "float32", "int8"
THREADS = (1, 2)
CLAIM = 2.5  # times of the int8 region's time that the float32 region takes, at least
TOLERANCE = 0.05  # of the largest result: what one scale for a whole tensor of 8 bits costs


def region(kind: str, threads: int) -> Callable[[], np.ndarray]:
    """The region with the convolutions, of the network as it is or quantized."""
    from byoc_lab.backends import dnnl
    from byoc_lab.lessons import mobilenet
    from byoc_lab.lessons.quantize import quantize
    from byoc_lab.run.build import external_calls

    mod, params = mobilenet.workload()
    x = image()
    if kind == WHOLE:
        parted = dnnl.partition_for_dnnl(quantize(mod, params, [x]))
    else:
        parted = dnnl.partition_for_dnnl(mod, params)
    graphs = [dnnl.region_graph(parted[gv], gv.name_hint) for gv in external_calls(parted)]
    graph = max(graphs, key=lambda g: len(g.graph["ops"]))
    made = dnnl.native.DnnlRegion(graph.graph, graph.constants, threads=threads)
    return lambda: made(x)[0]


def measure(threads: int, rounds: int, block: float) -> dict[str, Any]:
    """Times of both, and float32 over int8 in each round. AssertionError when they disagree."""
    entered = {kind: Contender(region, (kind, threads)) for kind in (REAL, WHOLE)}
    turns = take_turns(entered, threads=threads, rounds=rounds, seconds=block)
    real, whole = (turns.results[kind] for kind in (REAL, WHOLE))
    error = float(np.abs(real.ravel() - whole.ravel()).max() / np.abs(real).max())
    if error > TOLERANCE:
        raise AssertionError(f"int8 is off by {error:.2f} of the largest result")
    ratios = turns.ratios(REAL, WHOLE)
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return {
        "seconds": {kind: turns.seconds(kind) for kind in entered},
        "ratio": {"median": middle, "low": low, "high": high},
        "error": error,
        "blocks": turns.blocks,
    }


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--block", type=float, default=0.15, help="seconds of a block")
    options = parser.parse_args()
    results, rows, missed = {}, [], []
    for threads in THREADS:
        found = results[str(threads)] = measure(threads, options.rounds, options.block)
        times = [f"{found['seconds'][kind] * 1e3:.2f} ms" for kind in (REAL, WHOLE)]
        ratio = found["ratio"]["median"]
        rows.append([str(threads), *times, f"{ratio:.2f}x", f"{found['error']:.1%}"])
        if ratio < CLAIM:
            missed.append(f"{threads} threads: float32 takes {ratio:.2f} times, claimed {CLAIM:g}")
    print(table(["threads", REAL, WHOLE, "ratio", "largest error"], rows))
    write_json(options.out / "int8_mobilenet.json", {"claim": CLAIM, "threads": results})
    return verdict(missed)


if __name__ == "__main__":
    sys.exit(main())
