"""Checks that the texts of `explain` and `coverage` take at most 3 times as long as the trace.

This includes the changes that `explain` proposes, each of which it runs.

Networks: ResNet-50, MobileNet v1 quantized to 8 bits, a transformer encoder of 12 layers, and a
chain of 1,000 operators, a third of which DNNL supports. A separate process per network measures
processor time, the minimum of `--repeat` runs after a first run.

    python benchmarks/explaining.py
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from contenders import data
from int8_networks import workload
from lab_scaling import MAX_OF_THE_TRACE, chain, transformer
from report import arguments, seconds, table, timed, verdict, write_json

TEXTS = ("explain", "coverage")


def bound(network: str) -> Any:
    from byoc_lab.relay.build_module import bind_params_by_name

    mod, params = workload(network)
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod


def quantized() -> Any:
    from byoc_lab.lessons.quantize import quantize

    return quantize(*workload("mobilenet"), [data("mobilenet")])


def of(body: Any) -> Any:
    from byoc_lab import relay

    return relay.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


NETWORKS: dict[str, Callable[[], Any]] = {
    "resnet-50": lambda: bound("resnet-50"),
    "mobilenet, int8": quantized,
    "transformer": lambda: of(transformer(12 * 34)),
    "chain": lambda: of(chain(1_000, "erf")),
}


def measure(network: str, repeat: int) -> dict[str, float]:
    """Processor time in seconds."""
    import byoc_lab
    from byoc_lab.transform import InferType

    mod = InferType()(NETWORKS[network]())
    steps: dict[str, Callable[[], object]] = {
        "trace": lambda: byoc_lab.trace(mod, "dnnl"),
        "explain": lambda: str(byoc_lab.explain(mod, "dnnl")),
        "coverage": lambda: str(byoc_lab.coverage(mod, "dnnl")),
    }
    for run in steps.values():
        run()  # a warm-up run: imports, and caches of the pattern table
    gc.collect()
    gc.freeze()
    taken = {name: min(turn(run) for _ in range(repeat)) for name, run in steps.items()}
    changes = sum(group.change is not None for group in byoc_lab.explain(mod, "dnnl").groups)
    return {**taken, "changes": changes}


def turn(run: Callable[[], object]) -> float:
    gc.collect()  # exclude the results of earlier runs from garbage collection
    return timed(run, time.process_time)[1]


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--networks", nargs="+", default=list(NETWORKS), choices=list(NETWORKS))
    parser.add_argument("--repeat", type=int, default=3, help="turns of each")
    parser.add_argument("--one", help="a network, measured in this process")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one, options.repeat)))
        return 0
    results: dict[str, dict[str, float]] = {}
    for network in options.networks:
        command = [sys.executable, __file__, "--one", network, "--repeat", str(options.repeat)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        results[network] = json.loads(done.stdout)
    misses, rows = [], []
    for network, taken in results.items():
        times = {step: taken[step] / taken["trace"] for step in TEXTS}
        cells = [seconds(taken[step]) for step in ("trace", *TEXTS)]
        changes = str(int(taken["changes"]))
        rows.append([network, *cells, *(f"{t:.1f}" for t in times.values()), changes])
        misses += [
            f"{network}: {step} takes {t:.1f} times the trace"
            for step, t in times.items()
            if t > MAX_OF_THE_TRACE
        ]
    heads = ["", "trace", *TEXTS, *(f"{step}/trace" for step in TEXTS), "changes"]
    print(table(heads, rows))
    write_json(options.out / "explaining.json", {"repeat": options.repeat, "results": results})
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
