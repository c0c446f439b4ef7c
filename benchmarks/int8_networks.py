"""Compares MobileNet v1 and ResNet-50 in 8-bit integers with float32, on DNNL.

The networks are quantized as in `byoc_lab.lessons.quantize` (after one image) and partitioned; the
region with the convolutions is timed, from the float32 image to the float32 means of the last
feature maps, so quantizing and dequantizing are included. The float32 region has the same input and
output, up to the precision of 8 bits. Both run alternately, at each instruction set of the machine;
see `turns.py` for how it is measured. Times are the processor time of all threads together, on
which other programs have little influence.
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from contenders import data
from report import arguments, table, verdict, write_json
from turns import Contender, take_turns

REAL, WHOLE = "float32", "int8"
NETWORKS = ("mobilenet", "resnet-50")
THREADS = (1, 2)
# Minimum ratio of the float32 time to the int8 time: with VNNI instructions, and without them.
CLAIMS = {"VNNI": 2.5, "": 0.9}
TOLERANCE = 0.15  # error limit, as a share of the largest result, for one 8-bit scale per tensor
# {oneDNN's name of an instruction set: Linux's name}
LEVELS = {"SSE41": "sse4_1", "AVX2": "avx2", "AVX512_CORE": "avx512bw", "DEFAULT": "fpu"}


def workload(network: str) -> tuple[Any, Any]:
    from byoc_lab.lessons import mobilenet
    from byoc_lab.relay import testing

    if network == "mobilenet":
        return mobilenet.workload()
    return testing.resnet.get_workload(num_layers=50)


def region(network: str, kind: str, threads: int) -> Callable[[], np.ndarray]:
    """The region with the convolutions, of the float32 or of the quantized network."""
    from byoc_lab.backends import dnnl
    from byoc_lab.lessons.quantize import quantize
    from byoc_lab.run.build import external_calls

    mod, params = workload(network)
    x = data(network)
    if kind == WHOLE:
        parted = dnnl.partition_for_dnnl(quantize(mod, params, [x]))
    else:
        parted = dnnl.partition_for_dnnl(mod, params)
    graphs = [dnnl.region_graph(parted[gv], gv.name_hint) for gv in external_calls(parted)]
    graph = max(graphs, key=lambda g: len(g.graph["ops"]))
    made = dnnl.native.DnnlRegion(graph.graph, graph.constants, threads=threads)
    return lambda: made(x)[0]


def measure(network: str, threads: int, rounds: int, block: float) -> dict[str, Any]:
    """Times of both, and the ratio of float32 to int8 in each round. AssertionError if they
    disagree."""
    entered = {kind: Contender(region, (network, kind, threads)) for kind in (REAL, WHOLE)}
    turns = take_turns(
        entered, threads=threads, rounds=rounds, seconds=block, clock=time.process_time
    )
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


def levels() -> list[str]:
    """The instruction sets of this machine; DEFAULT is all of them together."""
    flags = Path("/proc/cpuinfo").read_text().split()
    return [level for level, flag in LEVELS.items() if flag in flags]


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--block", type=float, default=0.15, help="seconds of a block")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    rows, missed = [], []
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # a waiting thread takes no processor time
    for level, network, threads in product(levels(), NETWORKS, THREADS):
        os.environ["ONEDNN_MAX_CPU_ISA"] = level  # read by the contenders' processes
        found = measure(network, threads, options.rounds, options.block)
        results.setdefault(level, {}).setdefault(network, {})[str(threads)] = found
        times = [f"{found['seconds'][kind] * 1e3:.2f} ms" for kind in (REAL, WHOLE)]
        ratio, error = found["ratio"]["median"], f"{found['error']:.1%}"
        rows.append([f"{network}, {level}", str(threads), *times, f"{ratio:.2f}x", error])
        has_vnni = level == "DEFAULT" and "vnni" in Path("/proc/cpuinfo").read_text()
        claim = CLAIMS["VNNI" if has_vnni and network == "mobilenet" else ""]
        if ratio < claim:
            missed.append(f"{network}, {level}, {threads} threads: {ratio:.2f}, claimed {claim:g}")
    print(table(["network", "threads", REAL, WHOLE, "ratio", "largest error"], rows))
    write_json(
        options.out / "int8_networks.json",
        {"claims": CLAIMS, "clock": "processor time of all threads", "levels": results},
    )
    return verdict(missed)


if __name__ == "__main__":
    sys.exit(main())
