"""Checks that the cost of a Relax trace grows linearly with the module, and is small compared with
TVM's.

Chains of 1,000 and of 5,000 bindings go through the passes of `partition_for_dnnl` and LegalizeOps.
Each step is measured on both chains alternately, `--repeat` times in one process; the fastest run
counts. Times are processor time, which excludes other programs. "recording" is the time of the
trace minus the time of the passes without a trace.
"""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

BINDINGS = (1_000, 5_000)
GROWTH_LIMIT = 8.0  # growth limit for 5 times the bindings
LIMITS = {"recording": 2.0, "text": 5.0, "differences": 5.0, "page": 15.0, "save": 10.0}
"""Seconds on the longer chain."""


def chain(length: int) -> Any:
    """Alternating additions and error functions; DNNL supports only the additions."""
    from tvm import relax

    from byoc_lab.run.tvm_runtime import tensor_type

    builder = relax.BlockBuilder()
    value = x = relax.Var("x", tensor_type((1, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            for n in range(length):
                made = relax.op.erf(value) if n % 2 else relax.op.add(value, x)
                value = builder.emit(made)
            out = builder.emit_output(value)
        builder.emit_func_output(out)
    return builder.get()


def steps(length: int, folder: Path) -> dict[str, float]:
    """The time of each step on one chain, in seconds."""
    import tvm

    import byoc_lab
    from byoc_lab.relax.partition import partitioning_passes, preparing_passes

    mod = chain(length)
    members = [*preparing_passes(), *partitioning_passes(), tvm.relax.transform.LegalizeOps()]
    passes = tvm.transform.Sequential(members)
    _, alone = timed(lambda: passes(mod), time.process_time)
    recorded, taken = timed(lambda: byoc_lab.trace(mod, passes), time.process_time)
    found = {"recording": max(taken - alone, 0.0)}
    gc.collect()
    gc.freeze()  # exclude the modules themselves from garbage collection
    jobs: dict[str, Callable[[], object]] = {
        "text": lambda: str(recorded),
        "differences": lambda: [stage.diff().summary for stage in recorded],
        "page": lambda: recorded.save_html(folder / "page.html"),
        "save": lambda: recorded.save(folder / "saved.trace"),
    }
    for name, job in jobs.items():
        found[name] = timed(job, time.process_time)[1]
    return found


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=2, help="number of repetitions")
    options = parser.parse_args()
    quickest: dict[int, dict[str, float]] = {length: {} for length in BINDINGS}
    with tempfile.TemporaryDirectory() as folder:
        steps(10, Path(folder))  # imports and caches
        for _ in range(options.repeat):
            for length in BINDINGS:
                for name, taken in steps(length, Path(folder)).items():
                    before = quickest[length].get(name, taken)
                    quickest[length][name] = min(before, taken)
    small, large = (quickest[length] for length in BINDINGS)
    rows, misses = [], []
    for name, taken in large.items():
        growth = taken / small[name] if name != "recording" else 1.0  # a small difference
        rows.append([name, seconds(small[name]), seconds(taken), f"{growth:.1f}"])
        if taken > LIMITS[name]:
            misses.append(f"{name}: {taken:.1f} s, limit {LIMITS[name]:g} s")
        if growth > GROWTH_LIMIT:
            misses.append(f"{name}: grows {growth:.1f}-fold, limit {GROWTH_LIMIT:g}")
    print(table(["", *(f"{length:,}" for length in BINDINGS), "growth"], rows))
    write_json(
        options.out / "relax_scaling.json",
        {
            "limits": {"growth": GROWTH_LIMIT, **LIMITS},
            "repeat": options.repeat,
            "results": {str(length): found for length, found in quickest.items()},
        },
    )
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
