"""Simplifications of SimplifyExpr based on dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.passes.simplify.simplify_shapes import NodeMap
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.patterns import DFPatternCallback, is_op, wildcard


def cast(data: Expr, dtype: str) -> Expr:
    return function("cast")(data, dtype)


def _dtype(expr: Any) -> str:
    return expr.checked_type.dtype


class ConcretizeCastLike(DFPatternCallback):
    """`cast_like(%x, %y)` -> `cast(%x, dtype=...)`."""

    reason = "the dtype is known, so it becomes an attribute"

    def __init__(self) -> None:
        super().__init__()
        self.data = wildcard()
        self.pattern = is_op("cast_like")(self.data, wildcard())

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        return cast(node_map[self.data][0], _dtype(pre))


class SimplifySameCast(DFPatternCallback):
    """Remove a cast to the dtype of its operand."""

    reason = "the operand already has this dtype"

    def __init__(self) -> None:
        super().__init__()
        self.data = wildcard()
        self.pattern = is_op("cast_like")(self.data, wildcard()) | is_op("cast")(self.data)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        return node_map[self.data][0] if _dtype(pre) == _dtype(pre.args[0]) else post


class SimplifyConsecutiveCast(DFPatternCallback):
    """`cast(cast(%x, wide), dtype)` -> `cast(%x, dtype)`, when nothing is lost in between."""

    reason = "the first cast loses nothing"

    def __init__(self) -> None:
        super().__init__()
        self.data = wildcard()
        inner = is_op("cast_like")(self.data, wildcard()) | is_op("cast")(self.data)
        self.pattern = is_op("cast_like")(inner, wildcard()) | is_op("cast")(inner)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        first = pre.args[0]
        if not _widens(_dtype(first.args[0]), _dtype(first)):
            return post
        return cast(node_map[self.data][0], _dtype(pre))


# From narrow to wide, in TVM's order: a bool is an unsigned integer of one bit.
_KINDS = {"i": 0, "u": 1, "b": 1, "f": 2}


def _widens(origin: str, wide: str) -> bool:
    if "bfloat16" in (origin, wide):
        return origin == wide
    have, get = np.dtype(origin), np.dtype(wide)
    bits = [1 if d.kind == "b" else 8 * d.itemsize for d in (have, get)]
    return _KINDS[have.kind] <= _KINDS[get.kind] and bits[0] <= bits[1]


def _bounds(dtype: str) -> tuple[float, float]:
    """The minimum and maximum of a dtype."""
    if dtype == "bool":
        return 0.0, 1.0
    if dtype == "bfloat16":
        import ml_dtypes  # NumPy does not define its limits

        info: Any = ml_dtypes.finfo(dtype)
    else:
        info = np.finfo(dtype) if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    return float(info.min), float(info.max)


class SimplifyClipAndConsecutiveCast(DFPatternCallback):
    """Remove casts after a clip if their dtypes hold all numbers in the clip's range."""

    reason = "all values after the clip fit the dtype"

    def __init__(self) -> None:
        super().__init__()
        self.clip = is_op("clip")(wildcard())
        inner = wildcard()
        self.pattern = is_op("cast")(inner)
        inner.redirect_to(self.pattern | self.clip)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        casts, clip = [], pre
        while clip.is_op("cast"):
            casts.append(clip)
            clip = clip.args[0]
        low, high = clip.attrs.a_min, clip.attrs.a_max
        kept = [_dtype(c) for c in casts if not _holds(_dtype(c), low, high)]
        if (kept or [_dtype(clip)])[0] != _dtype(pre):
            kept.insert(0, _dtype(pre))
        if len(kept) == len(casts):
            return post
        result = node_map[self.clip][0]
        for dtype in reversed(kept):
            result = cast(result, dtype)
        return result


def _holds(dtype: str, low: float, high: float) -> bool:
    least, greatest = _bounds(dtype)
    return least <= low and high <= greatest


class SimplifyClip(DFPatternCallback):
    """Remove a clip that keeps all numbers of its dtype.

    It is kept after `qnn.requantize` and `qnn.add`, because patterns of back ends expect it there.
    """

    reason = "no number of this dtype is outside the limits"

    def __init__(self) -> None:
        super().__init__()
        self.x = wildcard()
        self.pattern = is_op("clip")(self.x)

    def callback(self, pre: Any, post: Any, node_map: NodeMap) -> Expr:
        data = post.args[0]
        if isinstance(data, Call) and data.op_name in ("qnn.requantize", "qnn.add"):
            return post
        low, high = _bounds(_dtype(pre))
        everything = pre.attrs.a_min <= low and high <= pre.attrs.a_max
        return node_map[self.x][0] if everything else post


class SimplifyDequantizedIndex(DFPatternCallback):
    """`argmax(qnn.dequantize(%x, ...))` -> `argmax(%x)`, and so for argmin and argsort."""

    reason = "scaling does not change the order of the numbers"

    def __init__(self, name: str):
        super().__init__()
        self.x = wildcard()
        self.op = Op.get(name)
        self.pattern = is_op(name)(is_op("qnn.dequantize")(self.x, wildcard(), wildcard()))

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        return Call(self.op, [node_map[self.x][0]], pre.attrs)
