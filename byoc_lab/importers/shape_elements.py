"""The known elements of shapes that the graph computes at run time.

Exporters compute a shape by picking sizes of another shape and concatenating them with constants.
With a dynamic batch, the other sizes are still known, which is enough for a static reshape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, Tuple
from byoc_lab.relay.ir.types import TensorType

Numbers = np.ndarray[Any, Any]  # ints, and None for each unknown element
LONGEST = 64  # a shape has few numbers; longer values are not shapes


def known_numbers(node: Expr, known: Mapping[Expr, Numbers]) -> Numbers | None:
    """The known elements of an integer scalar or vector, derived from the known elements of its
    operands; None for other values, and if no element is known."""
    ty = node.checked_type
    if not isinstance(ty, TensorType) or len(ty.shape) > 1 or "int" not in ty.dtype:
        return None
    if not ty.is_static or (ty.shape and ty.concrete_shape[0] > LONGEST):
        return None
    if isinstance(node, Constant):
        return np.asarray(node.numpy().tolist(), object)
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return None
    if node.op.name == "shape_of":
        return _lengths(node.args[0])
    if node.op.name == "concatenate":
        return _joined(node.args[0], known)
    rule = _RULES.get(node.op.name)
    parts = [known.get(a) for a in node.args]
    if rule is None or any(p is None for p in parts):
        return None
    found: Numbers = rule(node.attrs, *parts)
    return found.reshape(ty.concrete_shape)


def _lengths(x: Expr) -> Numbers:
    shape = x.checked_type.shape
    return np.asarray([n if isinstance(n, int) else None for n in shape], object)


def _joined(parts: Expr, known: Mapping[Expr, Numbers]) -> Numbers | None:
    fields = parts.fields if isinstance(parts, Tuple) else ()
    found = [known.get(field) for field in fields]
    if not found or any(f is None for f in found):
        return None
    return np.concatenate([np.atleast_1d(f) for f in found if f is not None])


def _taken(attrs: Any, x: Numbers, index: Numbers) -> Numbers:
    places = [None if i is None else int(i) for i in np.atleast_1d(index)]
    inside = [p is not None and 0 <= p < len(np.atleast_1d(x)) for p in places]
    picked = [np.atleast_1d(x)[p] if ok else None for p, ok in zip(places, inside, strict=True)]
    return np.asarray(picked, object)


def _sliced(attrs: Any, x: Numbers) -> Numbers:
    strides = attrs.strides[0] if attrs.strides else 1
    return x[int(attrs.begin[0]) : int(attrs.end[0]) : int(strides)]


def _elementwise(compute: Callable[[int, int], int]) -> Callable[..., Numbers]:
    def rule(attrs: Any, x: Numbers, y: Numbers) -> Numbers:
        pairs = np.broadcast(x, y)
        return np.asarray([None if None in pair else compute(*pair) for pair in pairs], object)

    return rule


def _same(attrs: Any, x: Numbers) -> Numbers:
    return x


_RULES: dict[str, Callable[..., Numbers]] = {
    "cast": _same, "copy": _same, "expand_dims": _same, "squeeze": _same, "reshape": _same,
    "take": _taken, "strided_slice": _sliced,
    "add": _elementwise(lambda a, b: a + b), "subtract": _elementwise(lambda a, b: a - b),
    "multiply": _elementwise(lambda a, b: a * b), "maximum": _elementwise(max),
    "minimum": _elementwise(min),
}  # fmt: skip
