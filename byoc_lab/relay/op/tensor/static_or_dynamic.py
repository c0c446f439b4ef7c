"""Functions that choose the static or the dynamic operator: `relay.reshape` and similar ones.

They create the static operator for numbers and constants, the dynamic one for other expressions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any as AnyValue

from byoc_lab.relay.ir.expr import Constant, Expr, Op, const
from byoc_lab.relay.op.framework.namespace import builds, function
from byoc_lab.relay.op.framework.registry import builder
from byoc_lab.relay.op.tensor.dyn import DYNAMIC, SCALAR


def _number(value: AnyValue, rank: int | None) -> AnyValue:
    """The value of a constant: a number or a list."""
    array = value.numpy()
    return array.reshape(()).item() if rank == SCALAR else array.tolist()


def _chooser(name: str, fold: bool = True, prepare: Callable[..., None] | None = None) -> None:
    """Make `relay.<name>` choose: the dynamic operator for expressions, the static one for numbers.

    fold: whether a constant counts as numbers, not as an expression.
    prepare(values): how TVM changes the arguments of the dynamic operator.
    """
    given = DYNAMIC[f"dyn.{name}"]
    static, dynamic = function(name), builder(Op.get(f"dyn.{name}"))
    signature = inspect.signature(static)
    shared = signature.parameters.keys() & inspect.signature(dynamic).parameters.keys()

    def build(*args: AnyValue, **kwargs: AnyValue) -> AnyValue:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        for argument, rank in given.items():
            if fold and isinstance(values[argument], Constant):
                values[argument] = _number(values[argument], rank)
        if not any(isinstance(values[argument], Expr) for argument in given):
            return static(**values)
        if prepare is not None:
            prepare(values)
        return dynamic(**{n: v for n, v in values.items() if n in shared})

    build.__name__ = build.__qualname__ = name.rpartition(".")[2]
    build.__signature__ = signature  # type: ignore[attr-defined]
    build.__doc__ = f"{static.__doc__}\n\n{' and '.join(given)} may be an expression."
    builds(name)(build)


def _slice_bounds(values: dict[str, AnyValue]) -> None:
    """Makes a negative begin count from the end, and limits it to the end.

    Raises ValueError for axes, which the dynamic operator does not have.
    """
    if values["axes"] is not None:
        raise ValueError("strided_slice: axes must be None when a bound is an expression")
    call = function
    for bound in ("begin", "end", "strides"):
        given = [1] if bound == "strides" and values[bound] is None else values[bound]
        values[bound] = given if isinstance(given, Expr) else const(list(given))
    begin = values["begin"]
    whole = call("cast_like")(call("shape_of")(values["data"]), begin)
    lengths = call("slice_like")(whole, begin)
    zero = call("cast_like")(const(0), begin)
    begin = call("where")(call("less")(begin, zero), call("add")(begin, lengths), begin)
    beyond = call("greater_equal")(begin, lengths)
    values["begin"] = call("where")(beyond, lengths, begin)


def _region(values: dict[str, AnyValue]) -> None:
    values["roi"] = [0.0] * 4 if values["roi"] is None else values["roi"]


for _name in ("reshape", "broadcast_to", "full", "zeros", "ones", "tile", "one_hot", "topk"):
    _chooser(_name)
for _name in ("squeeze", "nn.pad", "nn.upsampling", "nn.upsampling3d"):
    _chooser(_name)
_chooser("expand_dims", fold=False)
_chooser("image.resize2d", prepare=_region)
_chooser("strided_slice", prepare=_slice_bounds)


@builds("segment_sum")
def segment_sum(data: Expr, segment_ids: Expr, num_segments: AnyValue = None) -> Expr:
    """The sum of the rows of `data` for each id, for `num_segments` or all ids.

    Created from a scatter into zeros of a computed shape.
    """
    call = function
    one = call("cast_like")(const([1]), segment_ids)
    if num_segments:
        given = const([num_segments]) if isinstance(num_segments, int) else num_segments
        count = call("cast_like")(given, segment_ids)
    else:
        greatest = call("reshape")(call("max")(segment_ids, [0], False, False), -1)
        count = call("add")(greatest, one)
    whole = call("shape_of")(data, "int32")
    rest = call("strided_slice")(whole, [1], [-1], slice_mode="size")
    rest = call("cast_like")(rest, count)
    shape = call("concatenate")([count, rest], 0)
    ids_shape = call("concatenate")([call("reverse")(rest, 0), one], 0)
    positions = call("transpose")(call("tile")(segment_ids, ids_shape))
    zeros = call("cast_like")(call("zeros")(shape, "float64"), data)
    return call("scatter_elements")(zeros, positions, data, axis=0, reduction="add")
