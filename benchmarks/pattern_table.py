"""Checks that the cost of a long pattern table depends on its matches.

MergeComposite with a table of 100 patterns, most of which match nowhere, on modules of 1,000 and
10,000 calls.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

from byoc_lab import relay
from byoc_lab.relay.patterns import is_op, wildcard

PATTERNS, CALLS, GROWTH_LIMIT = 100, (1_000, 10_000), 12.0
USED = ("abs", "exp", "tanh", "sqrt", "nn.relu")
UNUSED = ("log", "negative", "sigmoid", "erf", "floor")


def pattern_table() -> list[tuple[Any, ...]]:
    """Patterns of three operators in a row: 100 different triples, one of which matches."""
    entries: list[tuple[Any, ...]] = [("lib.hit", is_op("exp")(is_op("abs")(wildcard())))]
    for n in range(PATTERNS - 1):
        inner, middle = UNUSED[n % 5], USED[n // 5 % 5]
        outer = (*USED, *UNUSED)[n // 25 % 10]
        pattern = is_op(outer)(is_op(middle)(is_op(inner)(wildcard())))
        entries.append((f"lib.miss_{n}", pattern))
    return entries


def module(calls: int) -> relay.IRModule:
    data = relay.var("data", shape=(4, 4))
    value = data
    for n in range(calls):
        value = relay.Call(relay.op.get(USED[n % len(USED)]), [value])
    return relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([data], value)))


def main() -> int:
    options = arguments(__doc__ or "").parse_args()
    merge = relay.transform.MergeComposite(pattern_table())
    times = []
    for calls in CALLS:
        mod = module(calls)
        times.append(timed(lambda mod=mod: merge(mod), time.process_time)[1])
    factor = times[1] / times[0]
    head = ["MergeComposite", *(f"{n} calls" for n in CALLS), "factor"]
    print(table(head, [[f"{PATTERNS} patterns", *map(seconds, times), f"{factor:.1f}"]]))
    write_json(
        options.out / "pattern_table.json",
        {"patterns": PATTERNS, "calls": CALLS, "seconds": times, "limit": GROWTH_LIMIT},
    )
    miss = f"{PATTERNS} patterns: grows {factor:.1f}-fold, limit {GROWTH_LIMIT:g}"
    return verdict([miss] * (factor > GROWTH_LIMIT))


if __name__ == "__main__":
    sys.exit(main())
