"""Checks that `reduce` takes less than a minute for 5,000 operators.

On a chain, it reduces to one lint finding, and to a predicate that requires two operators, which
are adjacent, at both ends, or in the second half. Times are processor time.

    python benchmarks/reducing.py
"""

from __future__ import annotations

import time
from typing import Any

from report import arguments, seconds, table, timed, verdict, write_json

from byoc_lab import IRModule, reduce, relay
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order

LENGTH = 5_000
MAX_SECONDS = 60
NEEDED = ("tanh", "sigmoid")
PLACES = {
    "near each other": (10, 20),
    "at both ends": (10, LENGTH - 10),
    "in the second half": (LENGTH // 2, LENGTH - 1),
}


def chain(special: dict[int, str]) -> IRModule:
    """A chain of nn.relu and add, with other operators at some positions."""
    x = relay.var("x", shape=(2, 4))
    out: relay.Expr = x
    for n in range(LENGTH):
        name = special.get(n, "nn.relu" if n % 2 else "add")
        if name == "begin":
            out = relay.annotation.compiler_begin(out, "dnnl")
        else:
            out = Call(relay.Op.get(name), [out, x] if name == "add" else [out])
    return IRModule.from_expr(out)


def has_both(mod: IRModule) -> bool:
    names = [n.op_name for n in post_order(mod["main"]) if isinstance(n, Call)]
    return all(name in names for name in NEEDED)


def cases() -> dict[str, tuple[IRModule, Any]]:
    found: dict[str, tuple[IRModule, Any]] = {
        "a begin without an end": (chain({LENGTH // 2: "begin"}), "finding:BYL002")
    }
    for where, places in PLACES.items():
        found[f"two operators {where}"] = (
            chain(dict(zip(places, NEEDED, strict=True))),
            has_both,
        )
    return found


def main() -> int:
    options = arguments(__doc__ or "").parse_args()
    rows, misses, results = [], [], {}
    for case, (mod, predicate) in cases().items():
        found, taken = timed(lambda m=mod, p=predicate: reduce(m, p), time.process_time)
        left = sum(isinstance(n, Call) for n in post_order(found.module["main"]))
        rows.append([case, seconds(taken), str(found.calls), str(left)])
        results[case] = {"seconds": taken, "calls": found.calls, "operators": left}
        if taken > MAX_SECONDS:
            misses.append(f"{case}: {taken:.0f} s for {LENGTH} operators")
    print(table(["", "time", "calls of the predicate", "operators left"], rows))
    write_json(options.out / "reducing.json", {"length": LENGTH, "results": results})
    return verdict(misses)


if __name__ == "__main__":
    raise SystemExit(main())
