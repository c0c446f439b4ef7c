"""Checks that the cost of the laboratory grows linearly with the module.

`trace`, `lint`, `explain`, `coverage`, `Trace.save`, `load_trace` and `validate(detail="operator")`
on chains, residual blocks, a wide sum, concatenations and transformers, of 100 and more operators.
A separate process per module measures processor time, the minimum of `--repeat` runs, and the peak
memory that a step adds, including its result. The growth is the exponent of a power law in the
number of operators, fitted to all sizes: 1 is linear.

    python benchmarks/lab_scaling.py                      # 100, 1,000 and 5,000 operators
    python benchmarks/lab_scaling.py --sizes 1000 20000 --networks wide transformer
    python benchmarks/lab_scaling.py --sizes 100 1000 5000 20000 --steps save load
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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

SIZES = (100, 1_000, 5_000)
STEPS = (
    *("trace", "lint", "lint of the result", "explain", "coverage", "save", "load"),
    *("evaluate", "validate by operator"),
)
MAX_VALIDATED = 1_000  # number of operators: each is a separate kernel
MAX_EXPONENT = 1.15
MAX_OF_THE_TRACE = 3.0  # multiple of the trace, for explain
MAX_OF_AN_EVALUATION = 20.0  # multiple of an evaluation, for validate by operator
LARGE = 5_000  # number of operators for the limits of saved traces
SAVED_SECONDS, SAVED_MEGABYTES = 2.0, 150
Measured = dict[str, list[float]]


def chain(operators: int, *unary: str) -> Any:
    """Unary operators in sequence, with a shortcut over every third one."""
    from byoc_lab import relay

    before = at = relay.var("x", shape=(2, 4))
    for n in range(operators):
        one = getattr(relay, unary[n % len(unary)])(at)
        before, at = at, relay.add(at, before) if n % 3 == 0 else one
    return at


def residual(operators: int) -> Any:
    """Blocks of two convolutions with biases and ReLUs, and a sum: 7 operators."""
    from byoc_lab import relay
    from byoc_lab.relay import nn

    weight = relay.const(np.full((4, 4, 3, 3), 0.1, np.float32))
    bias = relay.const(np.zeros(4, np.float32))
    at = relay.var("x", shape=(1, 4, 8, 8))
    for _ in range(max(1, operators // 7)):
        inner = nn.relu(nn.bias_add(nn.conv2d(at, weight, padding=(1, 1)), bias))
        inner = nn.bias_add(nn.conv2d(inner, weight, padding=(1, 1)), bias)
        at = nn.relu(relay.add(inner, at))
    return at


def wide(operators: int) -> Any:
    """Two operators on each of many branches of one input; the branches are summed pairwise."""
    from byoc_lab import relay

    x = relay.var("x", shape=(2, 4))
    level = [relay.erf(relay.tanh(x)) for _ in range(max(1, operators // 3))]
    while len(level) > 1:
        pairs = [relay.add(a, b) for a, b in zip(level[::2], level[1::2], strict=False)]
        level = pairs + level[len(level) // 2 * 2 :]
    return level[0]


def concat(operators: int) -> Any:
    """Blocks of three branches that are concatenated, then reduced to the original width."""
    from byoc_lab import relay
    from byoc_lab.relay import nn

    weight = relay.const(np.full((4, 12), 0.1, np.float32))
    at = relay.var("x", shape=(2, 4))
    for _ in range(max(1, operators // 5)):
        parts = [relay.tanh(at), nn.relu(at), relay.sigmoid(at)]
        at = nn.dense(relay.concatenate(parts, axis=1), weight)
    return at


def transformer(operators: int, width: int = 16, length: int = 4, heads: int = 2) -> Any:
    """Encoder layers: attention, two layer norms, a GELU: 34 operators."""
    from byoc_lab import relay
    from byoc_lab.relay import nn

    rng = np.random.default_rng(0)

    def number(value: float) -> Any:
        return relay.const(np.float32(value))

    def weight(*shape: int) -> Any:
        return relay.const(rng.standard_normal(shape).astype(np.float32))

    def linear(x: Any, into: int, out: int) -> Any:
        return nn.bias_add(nn.dense(x, weight(out, into)), weight(out))

    def split(x: Any) -> Any:
        return relay.transpose(relay.reshape(x, (length, heads, width // heads)), (1, 0, 2))

    at = relay.var("x", shape=(length, width))
    for _ in range(max(1, operators // 34)):
        query, key, value = (split(linear(at, width, width)) for _ in range(3))
        shares = nn.softmax(nn.batch_matmul(query, key) * number(0.5))
        mixed = nn.batch_matmul(shares, relay.transpose(value, (0, 2, 1)))
        mixed = relay.reshape(relay.transpose(mixed, (1, 0, 2)), (length, width))
        at = nn.layer_norm(at + linear(mixed, width, width), weight(width), weight(width))
        inner = linear(at, width, 4 * width)
        inner = inner * (relay.erf(inner * number(0.5**0.5)) * number(0.5) + number(0.5))
        at = nn.layer_norm(at + linear(inner, 4 * width, width), weight(width), weight(width))
    return at


NETWORKS: dict[str, Callable[[int], Any]] = {
    "chain, all supported": lambda n: chain(n, "tanh"),
    "chain, none supported": lambda n: chain(n, "erf"),
    "chain, every second": lambda n: chain(n, "tanh", "erf"),
    "residual": residual,
    "wide": wide,
    "concat": concat,
    "transformer": transformer,
}


def measure(network: str, operators: int, repeat: int, chosen: list[str]) -> Measured:
    """For each function: processor time in seconds, and the peak memory that it adds in MB,
    including its result."""
    import byoc_lab
    from byoc_lab import relay
    from byoc_lab.transform import InferType

    body = NETWORKS[network](operators)
    function = relay.Function(relay.analysis.free_vars(body), body)
    mod = InferType()(relay.IRModule.from_expr(function))
    traced = byoc_lab.trace(mod, "dnnl")
    str(byoc_lab.coverage(relay.IRModule.from_expr(relay.tanh(relay.var("x", shape=(1,)))), "dnnl"))
    found: Measured = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "of.trace"
        steps: dict[str, Callable[[], object]] = {
            "trace": lambda: byoc_lab.trace(mod, "dnnl"),
            "lint": lambda: list(byoc_lab.lint(mod)),
            "lint of the result": lambda: list(byoc_lab.lint(traced.final)),
            "explain": lambda: str(byoc_lab.explain(mod, "dnnl")),
            "coverage": lambda: str(byoc_lab.coverage(mod, "dnnl")),
            "save": lambda: traced.save(file),
            "load": lambda: byoc_lab.load_trace(file),
        }
        if operators <= MAX_VALIDATED:
            inputs = [
                np.ones(p.checked_type.concrete_shape, np.float32) for p in mod["main"].params
            ]
            built = byoc_lab.build(traced.final)
            steps["evaluate"] = lambda: byoc_lab.evaluate(mod, inputs)
            steps["validate by operator"] = lambda: byoc_lab.validate(
                mod, built, inputs, detail="operator"
            )
        gc.collect()
        gc.freeze()  # exclude the module itself from garbage collection
        for name, run in steps.items():
            if name not in chosen:
                continue
            added, taken = [], []
            for _ in range(repeat):
                gc.collect()
                forget_peak()
                before = peak_bytes()
                taken.append(timed(run, time.process_time)[1])
                added.append((peak_bytes() - before) / 2**20)
            found[name] = [min(taken), max(added)]
    return found


def exponent(times: dict[int, float]) -> float | None:
    """The exponent of a power law in the number of operators, fitted to the times by least squares;
    from 1,000 operators on, where constant costs are negligible."""
    large = {n: t for n, t in times.items() if n >= 1_000}
    if len(large) < 2:
        return None
    sizes, taken = np.log(list(large)), np.log(list(large.values()))
    return float(np.polyfit(sizes, taken, 1)[0])


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="operators")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--steps", nargs="+", default=STEPS, choices=STEPS, help="what to measure")
    parser.add_argument("--repeat", type=int, default=2, help="turns of each")
    parser.add_argument("--one", nargs=2, help="a network and its size, measured in this process")
    options = parser.parse_args()
    if options.one:
        network, size = options.one
        print(json.dumps(measure(network, int(size), options.repeat, options.steps)))
        return 0
    results: dict[str, dict[int, Measured]] = {}
    misses = []
    for network in options.networks:
        results[network] = {size: in_a_process(network, size, options) for size in options.sizes}
        print(f"\n{network}")
        misses += [f"{network}: {miss}" for miss in told(results[network])]
    write_json(
        options.out / "lab_scaling.json",
        {"exponent": MAX_EXPONENT, "repeat": options.repeat, "results": results},
    )
    return verdict(misses)


def in_a_process(network: str, size: int, options: Any) -> Measured:
    command = [sys.executable, __file__, "--one", network, str(size)]
    command += ["--repeat", str(options.repeat), "--steps", *options.steps]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: Measured = json.loads(done.stdout)
    return found


def told(found: dict[int, Measured]) -> list[str]:
    """Print the table of one network; returns the claims that it does not satisfy."""
    misses, rows = [], []
    largest = max(found)
    for step in found[min(found)]:
        times = {size: of[step][0] for size, of in found.items() if step in of}
        growth = exponent(times)
        cells = [seconds(times[n]) if n in times else "" for n in found]
        memory = f"{found[largest][step][1]:.0f}" if step in found[largest] else ""
        rows.append([step, *cells, "" if growth is None else f"{growth:.2f}", memory])
        if growth is not None and growth > MAX_EXPONENT:
            misses.append(f"{step} grows with an exponent of {growth:.2f}")
    print(table(["", *(f"{n:,}" for n in found), "exponent", "MB added"], rows))
    misses += validation(found)
    times = {step: taken for step, (taken, _) in found[largest].items()}
    if times.get("explain", 0) > MAX_OF_THE_TRACE * times.get("trace", float("inf")):
        misses.append(f"explain takes {times['explain'] / times['trace']:.1f} times the trace")
    if LARGE in found:
        for step in {"save", "load"} & set(times):
            taken, added = found[LARGE][step]
            if taken > SAVED_SECONDS or added > SAVED_MEGABYTES:
                misses.append(f"{step} takes {taken:.1f} s and {added:.0f} MB")
    return misses


def validation(found: dict[int, Measured]) -> list[str]:
    """Print the cost of a validation by operator in evaluations; returns the claim if it is not
    satisfied."""
    steps = ("validate by operator", "evaluate")
    sizes = [size for size, of in found.items() if all(step in of for step in steps)]
    if not sizes:
        return []
    validated, evaluated = (found[max(sizes)][step][0] for step in steps)
    said = f"validate by operator takes {validated / evaluated:.0f} evaluations"
    print(f"{said} at {max(sizes):,} operators")
    return [said] * (validated > MAX_OF_AN_EVALUATION * evaluated)


if __name__ == "__main__":
    raise SystemExit(main())
