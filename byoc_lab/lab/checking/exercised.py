"""Which branches of operators inputs exercise: what a check of the numbers did not see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.errors import counted
from byoc_lab.relay.ir.expr import Call, Op

Array = np.ndarray
Branches = Callable[[Any, "tuple[Any, ...]", Any], "dict[str, bool]"]


def _relu(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    (x, *_) = args
    return {"a negative element": bool(np.any(x < 0)), "a positive element": bool(np.any(x > 0))}


def _clip(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    (x,) = args
    if attrs.a_min >= attrs.a_max:
        return {}
    return {
        f"an element below {attrs.a_min:g}": bool(np.any(x < attrs.a_min)),
        f"an element above {attrs.a_max:g}": bool(np.any(x > attrs.a_max)),
        "an element inside": bool(np.any((x > attrs.a_min) & (x < attrs.a_max))),
    }


def _both(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    x, y = args
    return {
        "the first operand": bool(np.any(value != y)),
        "the second operand": bool(np.any(value != x)),
    }


def _where(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    cond = args[0]
    return {"a true condition": bool(np.any(cond)), "a false condition": not bool(np.all(cond))}


def _truth(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    return {"a true result": bool(np.any(value)), "a false result": not bool(np.all(value))}


def _saturation(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    if value.dtype.kind not in "iu":
        return {}
    info = np.iinfo(value.dtype)
    inside = (value > info.min) & (value < info.max)
    return {
        f"a value that saturates at {info.max}": bool(np.any(value == info.max)),
        f"a value that saturates at {info.min}": bool(np.any(value == info.min)),
        "a value inside": bool(np.any(inside)),
    }


def _flat(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    (x,) = args
    return {
        "an argument beyond 8": bool(np.any(np.abs(x) > 8)),
        "one near 0": bool(np.any(np.abs(x) < 1)),
    }


def _uneven(attrs: Any, args: tuple[Any, ...], value: Any) -> dict[str, bool]:
    spread = np.ptp(value, axis=attrs.axis) if value.size else np.zeros(1)
    return {"results that differ": bool(np.any(spread > 1e-6))}


BRANCHES: dict[str, Branches] = {
    **dict.fromkeys(("nn.relu", "nn.leaky_relu", "nn.prelu", "abs"), _relu),
    "clip": _clip,
    **dict.fromkeys(("maximum", "minimum"), _both),
    "where": _where,
    **dict.fromkeys(("greater", "less", "greater_equal", "less_equal", "equal"), _truth),
    **dict.fromkeys(("qnn.quantize", "qnn.requantize"), _saturation),
    **dict.fromkeys(("sigmoid", "tanh"), _flat),
    "nn.softmax": _uneven,
}


class Exercised:
    """Hears of every operator call (see `observe`) and remembers which branches were taken."""

    def __init__(self) -> None:
        self.seen: dict[Call, dict[str, bool]] = {}

    def __call__(self, call: Call, args: tuple[Any, ...], value: Any) -> None:
        if not isinstance(call.op, Op) or call.op.name not in BRANCHES:
            return
        with np.errstate(all="ignore"):
            found = BRANCHES[call.op.name](call.attrs, args, value)
        known = self.seen.setdefault(call, {})
        for branch, taken in found.items():
            known[branch] = known.get(branch, False) or taken

    def missed(self) -> list[str]:
        """What no input exercised, in words; the same branch of one operator on one line."""
        counts: dict[tuple[str, str], int] = {}
        totals: dict[str, int] = {}
        for call, branches in self.seen.items():
            assert isinstance(call.op, Op)
            totals[call.op.name] = totals.get(call.op.name, 0) + 1
            for branch, taken in branches.items():
                if not taken:
                    key = (call.op.name, branch)
                    counts[key] = counts.get(key, 0) + 1
        return [
            f"{name}: no input gave {branch} ({count} of {counted(totals[name], 'call')})"
            for (name, branch), count in counts.items()
        ]
