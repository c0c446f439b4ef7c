"""Does the cost of `lint` and `explain` grow linearly with the module?

Chains of 1,000 and of 5,000 operators, of which DNNL supports all, every second one, or none, and
which are plain, annotated, or annotated and merged. Both lengths are measured in turn, in one
process, `--repeat` times; the quickest turn of each counts. Processor time, which does not count
what else the machine does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

OPERATORS = (1_000, 5_000)
GROWTH_LIMIT = 8.0  # for 5 times the operators
LINT_LIMIT, EXPLAIN_LIMIT = 2.0, 30.0  # seconds on the longer chain
CHAINS = {"tanh": ("tanh",), "erf": ("erf",), "tanh, erf": ("tanh", "erf")}


def chain(unary: tuple[str, ...], operators: int) -> Any:
    """A chain with a shortcut over every third operator."""
    from byoc_lab import relay
    from byoc_lab.transform import InferType

    before = at = relay.var("x", shape=(2, 4))
    for n in range(operators):
        one = getattr(relay, unary[n % len(unary)])(at)
        before, at = at, relay.add(at, before) if n % 3 == 0 else one
    body = relay.Function(relay.analysis.free_vars(at), at)
    return InferType()(relay.IRModule.from_expr(body))


def cases(operators: int) -> dict[str, Callable[[], object]]:
    """What is measured on chains of that many operators."""
    from byoc_lab import explain, lint
    from byoc_lab.transform import AnnotateTarget, MergeCompilerRegions

    found: dict[str, Callable[[], object]] = {}
    for name, unary in CHAINS.items():
        plain = chain(unary, operators)
        annotated = AnnotateTarget("dnnl")(plain)
        merged = MergeCompilerRegions()(annotated)
        forms = {"plain": plain, "annotated": annotated, "merged": merged}
        for form, mod in forms.items():
            found[f"lint {name}, {form}"] = partial(lint, mod)
        found[f"explain {name}"] = lambda mod=plain: str(explain(mod, "dnnl"))  # type: ignore[misc]
    return found


def main() -> int:
    parser = arguments(__doc__ or "")
    parser.add_argument("--repeat", type=int, default=2, help="how often in all")
    options = parser.parse_args()
    runs = {operators: cases(operators) for operators in OPERATORS}
    quickest: dict[int, dict[str, float]] = {operators: {} for operators in OPERATORS}
    gc.freeze()  # the modules themselves are not what the collector has to walk
    for _ in range(options.repeat):
        for name in runs[OPERATORS[0]]:
            for operators in OPERATORS:
                gc.collect()
                taken = timed(runs[operators][name], time.process_time)[1]
                before = quickest[operators].get(name, taken)
                quickest[operators][name] = min(taken, before)
    small, large = (quickest[operators] for operators in OPERATORS)
    rows, misses = [], []
    for name, taken in large.items():
        growth = taken / small[name]
        rows.append([name, seconds(small[name]), seconds(taken), f"{growth:.1f}"])
        limit = LINT_LIMIT if name.startswith("lint") else EXPLAIN_LIMIT
        if taken > limit:
            misses.append(f"{name}: {taken:.1f} s, limit {limit:g} s")
        if growth > GROWTH_LIMIT:
            misses.append(f"{name}: grows {growth:.1f}-fold, limit {GROWTH_LIMIT:g}")
    print(table(["", *(f"{operators:,}" for operators in OPERATORS), "growth"], rows))
    write_json(
        options.out / "lab_scaling.json",
        {
            "limits": {"growth": GROWTH_LIMIT, "lint": LINT_LIMIT, "explain": EXPLAIN_LIMIT},
            "repeat": options.repeat,
            "results": {str(operators): found for operators, found in quickest.items()},
        },
    )
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
