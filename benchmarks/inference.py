"""Compares the speed of networks on DNNL with other runtimes.

Twelve networks, from MobileNet v1 to an LSTM, in float32, with batches of 1 (SqueezeNet also of 4).
The regions of byoc_lab are compared with ONNX Runtime, torch.compile (with default options, and
with frozen weights), torch eager and the same module compiled by TVM's LLVM alone; and with the
peak rate of the machine, measured by oneDNN's product of two large matrices. Some networks are also
measured in int8: byoc_lab and ONNX Runtime run the same quantized ONNX model. All contenders use
the same weights, and their results must agree. `turns.py` describes the method; with one thread,
times are processor time. A claim is about the median; its 95 % interval is also printed. If the
interval contains the claimed value, another run may give the opposite verdict.

`--networks` and `--threads` select some of the measurements, which replace the same measurements in
the JSON file. The file has the measurements of one machine.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import contenders
import numpy as np
from report import arguments, machine, table, verdict, write_json
from turns import Contender, Turns, interval, take_turns

OURS, PEAK = "byoc_lab", "peak"
# The minimum time of each contender, as a multiple of byoc_lab's time, on the networks of CLASSIC.
# On the other networks, only the claim about ONNX Runtime is made.
CLASSIC = ("mobilenet", "resnet-18", "resnet-50")
CLAIMS = {
    "ONNX Runtime": 1.0,
    "torch.compile": 1.15,
    "torch.compile, frozen": 1.0,
    "torch eager": 1.4,
    "LLVM only": 10.0,
}
MEAN_CLAIM = 1.15  # limit for ONNX Runtime's geometric mean over all networks
PEAK_CLAIM = 0.9  # share of the peak, with one thread
THREADS = (1, 2)
# The largest difference of results, as a share of the largest score. In float32, summation orders
# differ. In int8, a sum near the middle of two 8-bit numbers may be rounded to either of them.
TOLERANCE = {"float32": 1e-3, "int8": 0.05}


def measure(
    network: str, threads: int, against: Sequence[str], rounds: int, seconds: float
) -> dict[str, Any]:
    """Times, ratios and the share of the peak; {"missing": ...} for a contender that is not
    installed."""
    at = (network, threads)
    entered = {
        OURS: Contender(contenders.byoc_lab, (network,)),
        "ONNX Runtime": Contender(contenders.onnxruntime, at),
        "torch.compile": Contender(contenders.torch_compile, at),
        "torch.compile, frozen": Contender(contenders.torch_compile, (*at, True)),
        "torch eager": Contender(contenders.torch_eager, at),
        "LLVM only": Contender(contenders.byoc_lab, (network, False)),
        PEAK: Contender(contenders.gemm, (threads, contenders.is_int8(network))),
    }
    needs = {name: "torch" for name in CLAIMS if name.startswith("torch")}
    needs["ONNX Runtime"] = "onnxruntime"
    missing = [n for n, package in needs.items() if importlib.util.find_spec(package) is None]
    for name in CLAIMS:
        if name in missing or name not in against or name not in possible(network):
            del entered[name]
    clock = time.process_time if threads == 1 else time.perf_counter
    turns = take_turns(entered, threads=threads, rounds=rounds, seconds=seconds, clock=clock)
    difference = _difference(turns, TOLERANCE[kind(network)])
    share = peak_share(network, turns)
    return {
        "seconds": {name: turns.seconds(name) for name in entered},
        "ratios": {n: _spread(turns.ratios(n, OURS)) for n in CLAIMS if n in entered},
        "gflop": contenders.flop(network) / 1e9,
        "difference": difference,
        "peak_gflop_per_second": contenders.gemm_flop() / turns.seconds(PEAK) / 1e9,
        "peak_share": _spread(share),
        "missing": missing,
        "blocks": turns.blocks,
    }


def peak_share(network: str, turns: Turns) -> list[float]:
    """FLOP per second as a share of the matrix product's rate, in each round."""
    work = contenders.flop(network) / contenders.gemm_flop()
    return [work * ratio for ratio in turns.ratios(PEAK, OURS)]


def _difference(turns: Turns, tolerance: float) -> float:
    """The largest difference of a result from byoc_lab's, as a share of the largest score.
    AssertionError if it exceeds the tolerance, or if another score is the largest."""
    wanted, largest = turns.results[OURS], 0.0
    for name, found in turns.results.items():
        if name == PEAK:
            continue
        off = float(np.abs(found - wanted).max() / np.abs(wanted).max())
        if not off <= tolerance or found.argmax() != wanted.argmax():
            raise AssertionError(f"{name} computes something else: off by {off:.2g}")
        largest = max(largest, off)
    return largest


def _spread(values: list[float]) -> dict[str, float]:
    """The median, and the ends of its confidence interval."""
    low, high = interval(values)
    return {"median": statistics.median(values), "low": low, "high": high}


def kind(network: str) -> str:
    """The number format in which a network computes."""
    return "int8" if contenders.is_int8(network) else "float32"


def possible(network: str) -> Sequence[str]:
    """The contenders that can run a network: only ONNX Runtime runs the quantized model."""
    return ("ONNX Runtime",) if contenders.is_int8(network) else list(CLAIMS)


def claimed(network: str) -> dict[str, float]:
    """The claims about a network."""
    name = "ONNX Runtime"
    return CLAIMS if network in CLASSIC else {name: CLAIMS[name]}


def means(results: dict[str, Any]) -> dict[str, float]:
    """The geometric means of ONNX Runtime's ratios over the float32 and over the int8 networks, for
    each number of threads."""
    found: dict[str, list[float]] = {}
    for network, by_threads in results.items():
        for threads, result in by_threads.items():
            if ratio := result["ratios"].get("ONNX Runtime"):
                group = f"all {kind(network)} networks, {_threads(threads)}"
                found.setdefault(group, []).append(ratio["median"])
    return {group: statistics.geometric_mean(ratios) for group, ratios in found.items()}


def _threads(threads: str) -> str:
    return f"{threads} thread{'s' * (threads != '1')}"


def misses(results: dict[str, Any]) -> list[str]:
    """The claims that the medians do not satisfy, and the claims without measurements."""
    found = []
    if len(results) == len(contenders.NETWORKS):
        for of, mean in means(results).items():
            if mean < MEAN_CLAIM:
                found.append(f"{of}: ONNX Runtime takes {mean:.2f} times, claimed {MEAN_CLAIM:g}")
    for network, by_threads in results.items():
        for threads, result in by_threads.items():
            place = f"{network}, {_threads(threads)}"
            for name, least in claimed(network).items():
                ratio = result["ratios"].get(name)
                if ratio is None:
                    found.append(f"{place}: {name} was not measured, claimed {least:g} times")
                elif ratio["median"] < least:
                    found.append(
                        f"{place}: {name} takes {ratio['median']:.3f} times "
                        f"({ratio['low']:.3f} to {ratio['high']:.3f}), claimed {least:g}"
                    )
            share = result["peak_share"]["median"]
            if network in CLASSIC and threads == "1" and share < PEAK_CLAIM:
                found.append(f"{place}: {share:.0%} of the peak, claimed {PEAK_CLAIM:.0%}")
    return found


def rows(results: dict[str, Any]) -> list[list[str]]:
    lines = []
    for network, by_threads in results.items():
        for threads, result in by_threads.items():
            ratios = result["ratios"]
            cells = [f"{ratios[n]['median']:.2f}x" if n in ratios else "-" for n in CLAIMS]
            ours = f"{result['seconds'][OURS] * 1e3:.2f} ms"
            share = f"{result['peak_share']['median']:.0%}"
            lines.append([network, threads, ours, *cells, share])
    return lines


def plot(results: dict[str, Any], path: Path) -> None:
    """Plot the time of each contender as a multiple of byoc_lab's; black ticks are the claims."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    groups = [(n, t) for n, by_threads in results.items() for t in by_threads]
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.9 * len(groups)), layout="constrained")
    step = 0.8 / len(CLAIMS)
    axes.axvline(1, color="black", linewidth=0.8)
    for k, (name, least) in enumerate(CLAIMS.items()):
        found = [
            (place + k * step, results[n][t]["ratios"][name], claimed(n))
            for place, (n, t) in enumerate(groups)
            if name in results[n][t]["ratios"]
        ]
        if not found:
            continue
        places = [place for place, _, _ in found]
        medians = [ratio["median"] for _, ratio, _ in found]
        ends = [[abs(r[end] - r["median"]) for _, r, _ in found] for end in ("low", "high")]
        axes.errorbar(medians, places, xerr=ends, fmt="o", markersize=5, capsize=3, label=name)
        for place, ratio, claims in found:
            told = (max(ratio["high"], claims.get(name, 0)), place)
            axes.annotate(
                f"{ratio['median']:.2f}", told, (7, 0), textcoords="offset points",
                verticalalignment="center", fontsize=7,
            )  # fmt: skip
        ticks_at = [place for place, _, claims in found if name in claims]
        axes.plot([least] * len(ticks_at), ticks_at, "|", color="black", markersize=9)
    axes.set_xscale("log")
    ticks = [0.3, 0.5, 1, 2, 5, 10, 20, 50, 100]
    axes.set_xticks(ticks, [f"{t:g}x" for t in ticks])
    axes.minorticks_off()
    axes.set_xlim(0.2, 110)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
    labels = [f"{n}, {_threads(t)}" for n, t in groups]
    axes.set_yticks([n + 0.4 - step / 2 for n in range(len(groups))], labels)
    axes.set_ylim(len(groups), -0.4)
    axes.set_xlabel("time / time of byoc_lab (medians with 95 % intervals; |: claimed minimum)")
    figure.legend(loc="outside upper center", ncols=len(CLAIMS), frameon=False)
    figure.savefig(path, dpi=120)
    print(f"written: {path}")


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument(
        "--networks", nargs="+", default=contenders.NETWORKS, choices=contenders.NETWORKS
    )
    parser.add_argument("--threads", nargs="+", type=int, default=THREADS)
    parser.add_argument("--against", nargs="+", default=list(CLAIMS), choices=CLAIMS)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--block", type=float, default=0.15, help="seconds of a block")
    options = parser.parse_args()
    path = options.out / "inference.json"
    results, measured = kept(path), {n: {} for n in options.networks}
    for network in options.networks:
        for threads in options.threads:
            found = measure(network, threads, options.against, options.rounds, options.block)
            measured[network][str(threads)] = found
            results.setdefault(network, {})[str(threads)] = found
            print(f"measured: {network}, threads {threads}", flush=True)
    results = {n: dict(sorted(results[n].items())) for n in contenders.NETWORKS if n in results}
    print(table(["network", "threads", OURS, *CLAIMS, "of peak"], rows(results)))
    for group, mean in means(results).items():
        print(f"ONNX Runtime's geometric mean, {group}: {mean:.2f}")
    claims = {**CLAIMS, "share of peak": PEAK_CLAIM, "mean over ONNX Runtime": MEAN_CLAIM}
    write_json(path, {"claims": claims, "results": results})
    plot(results, options.out / "inference.png")
    return verdict(misses(measured))


def kept(path: Path) -> dict[str, Any]:
    """The earlier measurements on this machine; empty if there are none."""
    if not path.exists():
        return {}
    found = json.loads(path.read_text())
    return found["results"] if found["machine"] == machine() else {}


if __name__ == "__main__":
    sys.exit(main())
