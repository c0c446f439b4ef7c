"""Blocked layouts ("NCHW16c", "OIHW16i16o") for operators with layout attributes.

Such a call is computed as the call with unblocked layouts: the arguments are converted before it,
and the result after it.

Source: the relations of TVM 0.16 use `BijectiveLayout` in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.relations import Types
from byoc_lab.relay.op.framework.relax_types import shape_of, typed
from byoc_lab.relay.op.tensor.relayout import axes_of_layout, relaid


def plain_layout(layout: str) -> str:
    """ "NCHW16c" -> "NCHW"."""
    return re.sub(r"\d+[a-z]", "", layout)


def relayout_type(op: str, ty: AnyValue, source: str, target: str) -> AnyValue:
    """A tensor type in another layout; None stays None."""
    if not isinstance(ty, TensorType) or source == target:
        return ty
    return TensorType(relaid(op, ty.shape, source, target)[2], ty.dtype)


def relayout_array(op: str, x: np.ndarray, source: str, target: str) -> np.ndarray:
    """An array in another layout."""
    if source == target:
        return x
    parts, order, result = relaid(op, x.shape, source, target)
    return np.ascontiguousarray(x.reshape(parts).transpose(order).reshape(result))


def relayout_relax(R: AnyValue, op: str, x: AnyValue, source: str, target: str) -> AnyValue:
    """A typed Relax expression in another layout."""
    if source == target:
        return x
    parts, order, result = relaid(op, shape_of(x), source, target)
    return typed(R.reshape(R.permute_dims(R.reshape(x, parts), list(order)), result))


def with_blocked_layouts(
    op: str,
    names: Sequence[str],
    results: Sequence[str],
    *,
    relation: Callable[..., Types],
    reference: Callable[..., np.ndarray],
    flops: Callable[..., int],
    relax: Callable[..., AnyValue],
) -> dict[str, AnyValue]:
    """The given parts of an operator definition, extended to blocked layouts.

    names: for each argument the attribute with its layout.
    results: the attributes with the layout of the result; the first non-empty one applies.
    """
    every = tuple(dict.fromkeys([*names, *results]))

    def plain_of(attrs: AnyValue) -> AnyValue:
        """The attributes with unblocked layouts; `attrs` itself if no layout has blocks."""
        blocked = {n: attrs[n] for n in every if any(map(str.islower, attrs[n]))}
        for layout in blocked.values():
            axes_of_layout(op, layout)  # raises an error for an invalid layout
        return (
            attrs.replace(**{n: plain_layout(v) for n, v in blocked.items()}) if blocked else attrs
        )

    def pairs(attrs: AnyValue, plain: AnyValue) -> list[tuple[str, str]]:
        return [(attrs[n], plain[n]) for n in names]

    def of_result(attrs: AnyValue) -> str:
        return next(attrs[n] for n in results if attrs[n])

    def typed_relation(attrs: AnyValue, *types: Type | None) -> Types:
        plain = plain_of(attrs)
        if plain is attrs:
            return relation(attrs, *types)
        layouts = pairs(attrs, plain)
        flat = [relayout_type(op, t, *each) for t, each in zip(types, layouts, strict=True)]
        *solved, result = relation(plain, *flat)
        back = [relayout_type(op, t, b, a) for t, (a, b) in zip(solved, layouts, strict=True)]
        return (*back, relayout_type(op, result, of_result(plain), of_result(attrs)))

    def typed_reference(attrs: AnyValue, *values: np.ndarray) -> np.ndarray:
        plain = plain_of(attrs)
        layouts = pairs(attrs, plain)
        flat = [relayout_array(op, x, *each) for x, each in zip(values, layouts, strict=True)]
        result = reference(plain, *flat)
        return relayout_array(op, result, of_result(plain), of_result(attrs))

    def typed_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
        plain = plain_of(attrs)
        layouts = pairs(attrs, plain)
        flat = [relayout_type(op, t, *each) for t, each in zip(args, layouts, strict=True)]
        return flops(plain, flat, relayout_type(op, result, of_result(attrs), of_result(plain)))

    def typed_relax(R: AnyValue, attrs: AnyValue, *values: AnyValue) -> AnyValue:
        plain = plain_of(attrs)
        if plain is attrs:
            return relax(R, attrs, *values)
        layouts = pairs(attrs, plain)
        flat = [relayout_relax(R, op, x, *each) for x, each in zip(values, layouts, strict=True)]
        result = typed(relax(R, plain, *flat))
        return relayout_relax(R, op, result, of_result(plain), of_result(attrs))

    return {
        "relation": typed_relation,
        "reference": typed_reference,
        "flops": typed_flops,
        "relax": typed_relax,
    }
