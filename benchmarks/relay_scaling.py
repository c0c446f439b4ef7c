"""Checks that cost grows linearly with the module.

Chains of n blocks, conv2d + bias + relu each, with an operator between them that DNNL does not
support, so that n external functions result. Every pass of the "dnnl" pipeline, the printer, the
parser, the linter, structural equality and repeated type inference: processor time (which excludes
other programs) and peak memory at each n, and the factor from one n to the next.

Each n has a separate process; smaller sizes have TIMES as many processes, and their median counts.
Everything is repeated `--repeat` times, with alternating sizes, and the fastest run of each stage
and size counts: on shared machines, memory can be slow for minutes, independently of the module's
size.
Python's cyclic garbage collector is off while a stage runs, as in `timeit`: it would visit all
other objects of the process, here the results of all earlier stages.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from report import (
    arguments,
    forget_peak,
    peak_bytes,
    seconds,
    table,
    timed,
    verdict,
    write_json,
)

Figures = dict[str, dict[str, float]]  # {stage: seconds and bytes}

SIZES = (100, 1_000, 10_000)
TIMES = 10
GROWTH_LIMIT = 12.0  # growth limit from n to 10 n
PIPELINE_SECONDS, PIPELINE_BYTES = 60.0, 2 * 1024**3  # limits at the largest n
WHOLE = "whole pipeline"
CHANNELS, SIDE = 4, 4


def chain(n: int, kind: str) -> Any:
    """A module of n blocks. kind: "bias", "batch_norm" (in place of the bias), or "residual" (the
    operator in between also adds the block's input, so every block has two paths through it)."""
    import numpy as np

    from byoc_lab import relay

    random = np.random.RandomState(0)

    def constant(*shape: int) -> Any:
        return relay.const(random.uniform(0.5, 1, shape).astype("float32"))

    data = relay.var("data", shape=(1, CHANNELS, SIDE, SIDE))
    value = data
    for _ in range(n):
        weight = constant(CHANNELS, CHANNELS, 1, 1)
        block = relay.nn.conv2d(value, weight, channels=CHANNELS, kernel_size=(1, 1))
        if kind == "batch_norm":
            block = relay.nn.batch_norm(block, *(constant(CHANNELS) for _ in range(4)))[0]
        else:
            block = relay.add(block, constant(CHANNELS, 1, 1))
        block = relay.negative(relay.nn.relu(block))
        value = relay.subtract(block, value) if kind == "residual" else block
    return relay.IRModule.from_expr(relay.Function([data], value))


class Meter:
    """Runs functions and records, for each, its time and the peak memory of the process."""

    def __init__(self) -> None:
        self.measured: Figures = {}

    def __call__(self, label: str, run: Callable[[], Any]) -> Any:
        gc.collect()  # exclude what earlier stages left behind
        forget_peak()
        gc.disable()
        result, spent = timed(run, time.process_time)
        gc.enable()
        self.measured[label] = {"seconds": spent, "bytes": peak_bytes()}
        return result

    def sum(self, label: str, parts: list[str]) -> None:
        rows = [self.measured[p] for p in parts]
        total = {"seconds": sum(r["seconds"] for r in rows), "bytes": max(r["bytes"] for r in rows)}
        self.measured[label] = total


def measure(n: int, kind: str) -> Figures:
    """All measurements on one chain."""
    from byoc_lab import relay
    from byoc_lab.backends import dnnl
    from byoc_lab.errors import ElidedMetadataWarning
    from byoc_lab.lab.linting import lint
    from byoc_lab.passes import PassContext
    from byoc_lab.relay.analysis.structural import structural_equal

    meter = Meter()
    mod = meter("building the module", lambda: chain(n, kind))
    after: dict[str, Any] = {}
    with PassContext(opt_level=3):
        for p in dnnl.pipeline():
            mod = after[p.name] = meter(p.name, lambda p=p, mod=mod: p(mod))
    meter.sum(WHOLE, list(after))
    expect(len(mod.functions) == n + 1, f"{n} external functions, found {len(mod.functions) - 1}")

    typed, annotated = after["InferType"], after["AnnotateTarget"]
    meter("InferType again", lambda: relay.transform.InferType()(typed))
    full = meter("print", typed.astext)
    bare = meter("print, no metadata", lambda: typed.astext(show_meta_data=False))
    read = meter("parse", lambda: relay.parse(full))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ElidedMetadataWarning)  # parsing such text is measured
        meter("parse, no metadata", lambda: relay.parse(bare))
    text = meter("print, partitioned", mod.astext)
    meter("parse, partitioned", lambda: relay.parse(text))
    same = meter("structural_equal", lambda: structural_equal(typed, read))
    expect(same, "the text to read back")
    findings = meter("lint, annotated", lambda: lint(annotated))
    expect(not findings, f"no findings, found {findings!r}")
    meter("lint, partitioned", lambda: lint(mod))
    return meter.measured


def expect(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"expected {what}: the benchmark measured something else")


def in_own_process(n: int, kind: str) -> Figures:
    command = [sys.executable, __file__, "--kind", kind, "--measure", str(n)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ)
    return json.loads(done.stdout)


def combined(runs: list[Figures], how: Callable[[list[float]], float]) -> Figures:
    """For each measurement of each stage, the median or minimum of several runs of one size."""
    return {
        label: {key: how([run[label][key] for run in runs]) for key in figures}
        for label, figures in runs[0].items()
    }


def growth(results: dict[int, Figures]) -> dict[str, list[float]]:
    """For each stage, the ratio of its times at successive sizes."""
    stages = results[next(iter(results))]
    return {
        label: [b[label]["seconds"] / a[label]["seconds"] for a, b in pairwise(results.values())]
        for label in stages
    }


def rows_of(results: dict[int, Figures], factors: dict[str, list[float]]) -> list[list[str]]:
    rows = []
    for label, grows in factors.items():
        row = [label]
        for figures in results.values():
            cell = figures[label]
            row += [seconds(cell["seconds"]), f"{cell['bytes'] / 1024**2:.0f} MB"]
        rows.append([*row, *(f"{f:.1f}" for f in grows)])
    return rows


def misses(results: dict[int, Figures], factors: dict[str, list[float]]) -> list[str]:
    """The claims that are not satisfied, as sentences."""
    found = [
        f"{label}: grows {grows[-1]:.1f}-fold, limit {GROWTH_LIMIT:g}"
        for label, grows in factors.items()
        if grows[-1] > GROWTH_LIMIT
    ]
    whole = results[SIZES[-1]][WHOLE]
    if whole["seconds"] > PIPELINE_SECONDS or whole["bytes"] > PIPELINE_BYTES:
        found.append(f"{WHOLE}: {whole}, limits {PIPELINE_SECONDS} s and {PIPELINE_BYTES} bytes")
    return found


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    parser.add_argument("--kind", choices=("bias", "batch_norm", "residual"), default="bias")
    parser.add_argument("--repeat", type=int, default=5, help="number of repetitions")
    parser.add_argument("--measure", type=int, metavar="N", help="one size, as JSON to stdout")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.kind)))
        return 0
    runs: dict[int, list[Figures]] = {n: [] for n in options.sizes}
    for _ in range(options.repeat):
        for n in options.sizes:
            times = 1 if n == options.sizes[-1] else TIMES
            several = [in_own_process(n, options.kind) for _ in range(times)]
            runs[n].append(combined(several, statistics.median))
    results = {n: combined(of_n, min) for n, of_n in runs.items()}
    factors = growth(results)
    head = ["stage"]
    for n in results:
        head += [f"n = {n}", "peak"]
    head += [f"x{b / a:g}" for a, b in pairwise(options.sizes)]
    print(table(head, rows_of(results, factors)))
    write_json(
        options.out / f"relay_scaling_{options.kind}.json",
        {
            "kind": options.kind,
            "limits": {
                "growth": GROWTH_LIMIT,
                "seconds": PIPELINE_SECONDS,
                "bytes": PIPELINE_BYTES,
            },
            "repeat": options.repeat,
            "results": results,
            "growth": factors,
        },
    )
    if tuple(options.sizes) != SIZES:
        print(f"no claim checked: they are about n = {SIZES}")
        return 0
    return verdict(misses(results, factors))


if __name__ == "__main__":
    sys.exit(main())
