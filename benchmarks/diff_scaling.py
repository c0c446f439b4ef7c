"""Checks that the cost of a diff grows linearly with the modules.

Chains of blocks (see `relay_scaling.py`) of 1,000 and of 10,000 calls, and the diff of every pass
of the "dnnl" pipeline on them: the summary, the aligned rows, the text, and applying the diff.
Both lengths are measured alternately in one process, `--repeat` times; the fastest run of each
counts. Times are processor time, which excludes other programs.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from relay_scaling import chain
from report import arguments, seconds, table, timed, verdict, write_json

CALLS = (1_000, 10_000)
PER_BLOCK = {"bias": 4, "batch_norm": 4, "residual": 5}  # number of calls per block
GROWTH_LIMIT = 16.0  # growth limit for 10 times the calls: sorting, and cache misses
SECONDS_LIMIT = 5.0  # limit in seconds for the diff of a pass, longer chain
STEPS = ("summary", "rows", "text", "apply")
Figures = dict[str, dict[str, float]]


def measure(stages: list[Any]) -> Figures:
    """The time of each step for each stage, in seconds."""
    from byoc_lab.lab.diffing import apply, diff

    found: Figures = {}
    for stage in stages:
        steps: dict[str, Callable[[Any], Any]] = {
            "summary": lambda made: made.summary,
            "rows": lambda made: made.rows(),
            "text": str,
            "apply": lambda made, stage=stage: apply(made, stage.before),  # type: ignore[misc]
        }
        made = diff(stage.before, stage.after)
        figures: dict[str, float] = {}
        for step, run in steps.items():
            gc.collect()
            figures[step] = timed(partial(run, made), time.process_time)[1]
        found[f"{stage.index} {stage.name}"] = figures
    return found


def quickest(turns: list[Figures]) -> Figures:
    """The minimum over several runs, for each step of each stage."""
    return {
        stage: {step: min(turn[stage][step] for turn in turns) for step in steps}
        for stage, steps in turns[0].items()
    }


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--kind", choices=sorted(PER_BLOCK), default="batch_norm")
    parser.add_argument("--repeat", type=int, default=3, help="number of repetitions")
    options = parser.parse_args()
    from byoc_lab import trace

    traces = {}
    for calls in CALLS:
        traces[calls] = trace(chain(calls // PER_BLOCK[options.kind], options.kind), "dnnl").stages
    gc.freeze()  # exclude the modules themselves from garbage collection
    turns: dict[int, list[Figures]] = {calls: [] for calls in CALLS}
    for _ in range(options.repeat):
        for calls in CALLS:
            turns[calls].append(measure(traces[calls]))
    small, large = (quickest(turns[calls]) for calls in CALLS)
    rows, misses = [], []
    for stage, steps in large.items():
        whole, before = steps["summary"], small[stage]["summary"]
        total, first = sum(steps.values()), sum(small[stage].values())
        rows.append(
            [
                stage,
                *(seconds(steps[s]) for s in STEPS),
                f"{whole / before:.1f}",
                f"{total / first:.1f}",
            ]
        )
        if whole > SECONDS_LIMIT:
            misses.append(f"{stage}: {whole:.1f} s, limit {SECONDS_LIMIT:g} s")
        if total > first * GROWTH_LIMIT:
            misses.append(f"{stage}: grows {total / first:.1f}-fold, limit {GROWTH_LIMIT:g}")
    head = [f"diff, {CALLS[1]:,} calls", *STEPS, "x10, summary", "x10, all"]
    print(table(head, rows))
    results = {str(calls): figures for calls, figures in zip(CALLS, (small, large), strict=True)}
    write_json(
        options.out / f"diff_scaling_{options.kind}.json",
        {
            "kind": options.kind,
            "limits": {"growth": GROWTH_LIMIT, "seconds": SECONDS_LIMIT},
            "repeat": options.repeat,
            "results": results,
        },
    )
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
