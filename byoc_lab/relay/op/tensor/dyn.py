"""Dynamic operators, with arguments instead of attributes: dyn.reshape, dyn.tile, ...

Each is defined in terms of the static operator, which has the attribute. `static_or_dynamic.py` has
the functions that choose between both.

Source: src/relay/op/dyn of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any as AnyValue
from typing import TypeGuard

import numpy as np

from byoc_lab.errors import BuildError, TypeInferenceError, enumerated
from byoc_lab.relay.ir.attrs import Attr, Attrs, AttrsType, integer, integers
from byoc_lab.relay.ir.dims import Any, Dim, Unknown
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.layout import positions
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    fail,
    need_one_of,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import (
    constant_array,
    constant_of,
    is_constant,
    rank_of,
    shape_of,
)
from byoc_lab.relay.op.framework.windows import SPATIAL

# Fusion patterns that differ from those of the static operators.
INJECTIVE_HERE = dict.fromkeys(("tile", "expand_dims"), OpPattern.INJECTIVE)
SCALAR = 0  # the rank of an argument; None stands for any rank
Shape = Callable[..., "Type | None"]
# The dtypes of constants created from numbers if another argument is an expression. Listed are only
# arguments with a different dtype than `const` gives.
KINDS = {
    **dict.fromkeys(("scale_d", "scale_h", "scale_w"), "float64"),
    "size": "int64",
    "roi": "float32",
}


def _dynamic(
    name: str,
    inputs: str,
    given: Mapping[str, int | None],
    result: Shape,
    empty: Mapping[str, AnyValue] | None = None,
    attrs: AttrsType | None = None,
    at_run_time: Callable[..., AnyValue] | None = None,
    **facts: AnyValue,
) -> Op:
    """Define dyn.<name>.

    given: the arguments that are attributes of the static operator, and their ranks. result(attrs,
    *types): the type of the result for complete argument types.
    empty: the values that TVM stores in the attributes of the same names.
    at_run_time: the translation to Relax for arguments that are not constants, if Relax supports
    it.
    """
    op, static = f"dyn.{name}", Op.get(name).definition
    names = inputs.split()

    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        operands = tensors(op, inputs, *types)
        for argument, ty in zip(names, operands, strict=True):
            rank = given.get(argument)
            if ty is None:
                continue
            if rank == SCALAR:
                if ty.shape not in ((), (1,)):
                    fail(op, f"{argument} must be a scalar, found {ty}")
            elif rank is not None:
                need_rank(op, argument, ty, rank)
                if isinstance(ty.shape[0], Unknown):
                    fail(op, f"{argument} must be of a known length, found {ty}")
        if any(ty is None for ty in operands):
            return *operands, None
        return *operands, result(attrs, *operands)

    def split(args: tuple[AnyValue, ...], array: Callable[..., np.ndarray]) -> AnyValue:
        """The values as (remaining arguments, arrays that become attributes)."""
        pairs = list(zip(names, args, strict=True))
        arrays = {n: array(a, op, n) for n, a in pairs if n in given}
        return [a for n, a in pairs if n not in given], arrays

    def reference(attrs: AnyValue, *args: np.ndarray) -> AnyValue:
        stay, arrays = split(args, lambda array, op, name: array)
        assert static.reference is not None
        return static.reference(_attributes(op, attrs, arrays), *stay)

    def relax(R: AnyValue, attrs: AnyValue, *args: AnyValue) -> AnyValue:
        if at_run_time is not None and not all(map(is_constant, args[1:])):
            return at_run_time(R, attrs, *args)
        stay, arrays = split(args, constant_array)
        assert static.relax is not None
        return static.relax(R, _attributes(op, attrs, arrays), *stay)

    def flops(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
        """The cost of the static operator; 0 while the size of the result is unknown."""
        if not _is_static(result):
            return 0
        kept = [t for n, t in zip(names, args, strict=True) if n not in given]
        return static.flops(attrs, kept, result) if static.flops else 0

    schema = attrs if attrs is not None else static.attrs if empty is not None else None
    DYNAMIC[op] = given
    is_copy = not callable(static.arithmetic) and static.arithmetic_of(None) is Arithmetic.COPY
    return define_op(
        op,
        inputs,
        relation,
        reference=reference,
        attrs=schema,
        attrs_key=None if attrs is None else "",  # TVM does not declare these attributes
        flops=flops,
        relax=relax,
        pattern=INJECTIVE_HERE.get(name, static.pattern),
        results=static.results,
        shape_from=tuple(given),
        arithmetic=Arithmetic.INDEXED if is_copy else static.arithmetic,
        fixed=empty or {},
        constants={**static.constants, **{argument: KINDS.get(argument) for argument in given}},
        **facts,
        doc=f"`{name}` with {enumerated(given)} given at run time.",
    )


# The arguments that are attributes of the static operator.
DYNAMIC: dict[str, Mapping[str, int | None]] = {}


def _attributes(op: str, attrs: AnyValue, arrays: Mapping[str, np.ndarray]) -> Attrs:
    """The attributes of the static operator."""
    given, schema = DYNAMIC[op], Op.get(op.removeprefix("dyn.")).definition.attrs
    values = {f.name: attrs[f.name] for f in schema.fields if attrs and f.name in attrs}
    kinds = {f.name: f.kind for f in schema.fields}
    for argument, array in arrays.items():
        if kinds[argument] in (
            integer,
            integers,
        ):  # TVM accepts numbers of any dtype, and casts them
            array = array.astype(np.int64)
        scalar = given[argument] == SCALAR
        values[argument] = array.reshape(()).item() if scalar else array.tolist()
    return schema.make(values)


def has_static_form(expr: Expr) -> TypeGuard[Call]:
    """Whether `expr` calls a dynamic operator that has a static form: all but dyn.expand_dims, as
    in TVM."""
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in WITH_STATIC_FORM


def run_time_arguments(call: Call) -> list[Expr]:
    """The arguments of a call of a dynamic operator that are attributes of its static form."""
    assert isinstance(call.op, Op)
    named = zip(call.op.definition.inputs, call.args, strict=True)
    return [arg for name, arg in named if name in DYNAMIC[call.op.name]]


def static_form(call: Call) -> Call | None:
    """The static form of a call that has one; None if an argument is not constant."""
    op = call.op
    assert isinstance(op, Op)
    given = DYNAMIC[op.name]
    named = dict(zip(op.definition.inputs, call.args, strict=True))
    constants = {n: a.numpy() for n, a in named.items() if n in given and isinstance(a, Constant)}
    if len(constants) < len(given):
        return None
    stay = [arg for name, arg in named.items() if name not in given]
    attrs = _attributes(op.name, call.attrs, constants)
    span = call.span
    return Call(Op.get(op.name.removeprefix("dyn.")), stay, attrs, span=span)


def _is_static(ty: AnyValue) -> bool:
    fields = ty.fields if isinstance(ty, TupleType) else (ty,)
    return all(isinstance(t, TensorType) and t.is_static for t in fields)


def of_rank(rank: Dim, dtype: str) -> TensorType:
    """A tensor of `rank` axes of unknown sizes."""
    if isinstance(rank, Unknown):
        raise TypeInferenceError("the number of dimensions of the result must be known")
    return TensorType([Any()] * rank, dtype)


def _as_shape(data: int, shape: int) -> Shape:
    """A result with one axis per element of argument `shape`, in the dtype of `data`."""
    return lambda attrs, *types: of_rank(
        types[shape].shape[0], (attrs and attrs.get("dtype")) or types[data].dtype
    )


def _sized(attrs: AnyValue, data: TensorType, *rest: AnyValue) -> TensorType:
    """The type of data with unknown spatial sizes."""
    target = f"NC{SPATIAL[len(data.shape) - 2]}" if 3 <= len(data.shape) <= 5 else "NCHW"
    order = positions("dyn", "layout", attrs.layout, target)
    kept = order[:2]
    return TensorType([d if n in kept else Any() for n, d in enumerate(data.shape)], data.dtype)


def _topk(attrs: AnyValue, data: TensorType, k: TensorType) -> Type:
    shape = list(data.shape)
    shape[axis_of("dyn.topk", attrs.axis, len(shape))] = Any()
    values, indices = TensorType(shape, data.dtype), TensorType(shape, attrs.dtype)
    both = TupleType((values, indices))
    results: dict[str, Type] = {"both": both, "values": values, "indices": indices}
    need_one_of("dyn.topk", "ret_type", attrs.ret_type, results)
    return results[attrs.ret_type]


def _sliced(attrs: AnyValue, data: TensorType, begin: TensorType, *rest: TensorType) -> TensorType:
    """The type of data with unknown sizes on the axes that have a begin."""
    count = begin.shape[0]
    assert isinstance(count, int)  # `_dynamic` has checked the types
    if count > len(data.shape):
        fail(
            "dyn.strided_slice",
            f"begin must have at most {len(data.shape)} elements, found {begin}",
        )
    return TensorType((*[Any()] * count, *data.shape[count:]), data.dtype)


def _slice_at_run_time(
    R: AnyValue, attrs: AnyValue, x: AnyValue, begin: AnyValue, end: AnyValue, strides: AnyValue
) -> AnyValue:
    """A slice with bounds computed at run time, by the rules of the static operator."""
    op = "dyn.strided_slice"
    steps = constant_array(strides, op, "strides").astype(np.int64)
    if (steps < 1).any():
        raise BuildError(
            f"{op}: with a begin or end that is computed, the strides must be positive for Relax, "
            f"found {steps.tolist()}"
        )
    rank = rank_of(x)
    lengths = R.shape_to_tensor(R.shape_of(x))
    zeros, ones = np.zeros(rank, np.int64), np.ones(rank, np.int64)

    def padded(given: AnyValue, rest: AnyValue) -> AnyValue:
        """One number for each axis."""
        count = shape_of(given)[0]
        wide = R.astype(given, "int64")
        if count == rank:
            return wide
        return R.concat([wide, R.strided_slice(rest, [0], [count], [rank], [1])], axis=0)

    def limited(at: AnyValue) -> AnyValue:
        counted = R.where(R.less(at, constant_of(zeros)), R.add(at, lengths), at)
        return R.minimum(R.maximum(counted, constant_of(zeros)), lengths)

    first, last = limited(padded(begin, constant_of(zeros))), padded(end, lengths)
    if attrs is not None and attrs.get("slice_mode") == "size":
        last = R.where(R.less(last, constant_of(zeros)), lengths, R.add(first, last))
        steps = ones
    last = R.maximum(limited(last), first)
    whole = np.concatenate([steps, ones[len(steps) :]]) if len(steps) > 1 else ones * steps
    return R.dynamic_strided_slice(x, first, last, constant_of(whole))


def _one_hot(attrs: AnyValue, indices: TensorType, *rest: TensorType) -> TensorType:
    at = axis_of("dyn.one_hot", attrs.axis, len(indices.shape) + 1)
    return TensorType((*indices.shape[:at], Any(), *indices.shape[at:]), attrs.dtype)


_dynamic(
    "reshape",
    "data newshape",
    {"newshape": 1},
    _as_shape(0, 1),
    {"newshape": ()},
    mixed_precision=FOLLOW,
)
_dynamic(
    "broadcast_to",
    "data shape",
    {"shape": 1},
    _as_shape(0, 1),
    {"shape": None},
    mixed_precision=FOLLOW,
)
_dynamic(
    "full",
    "fill_value shape",
    {"shape": 1},
    _as_shape(0, 1),
    {"shape": None},
    mixed_precision=FOLLOW,
)
for _name in ("zeros", "ones"):
    _dynamic(_name, "shape", {"shape": 1}, _as_shape(0, 0), {"shape": None})
_dynamic(
    "tile",
    "data reps",
    {"reps": 1},
    lambda attrs, x, reps: of_rank(max(len(x.shape), reps.shape[0]), x.dtype),
    {"reps": ()},
    mixed_precision=FOLLOW,
)
_dynamic("one_hot", "indices on_value off_value depth", {"depth": SCALAR}, _one_hot, {"depth": 0})
_dynamic("topk", "data k", {"k": SCALAR}, _topk, {"k": None})
_dynamic(
    "squeeze",
    "data axis",
    {"axis": 1},
    lambda attrs, x, axis: of_rank(len(x.shape) - axis.shape[0], x.dtype),
    {"axis": ()},
)
_dynamic(
    "expand_dims",
    "data axis",
    {"axis": SCALAR},
    lambda attrs, x, axis: of_rank(len(x.shape) + attrs.num_newaxis, x.dtype),
    attrs=AttrsType(
        "relay.attrs.DynExpandDimsAttrs", (Attr("num_newaxis", integer, 1, "how many new axes"),)
    ),
)
_dynamic(
    "nn.pad",
    "data pad_width pad_value",
    {"pad_width": 2},
    lambda attrs, x, width, value: of_rank(len(x.shape), x.dtype),
    {"pad_width": ()},
)
_dynamic(
    "image.resize2d",
    "data size roi",
    {"size": 1, "roi": 1},
    lambda attrs, x, size, roi: TensorType(_sized(attrs, x).shape, attrs.out_dtype or x.dtype),
    {"size": (), "roi": ()},
)
_dynamic(
    "nn.upsampling",
    "data scale_h scale_w",
    {"scale_h": SCALAR, "scale_w": SCALAR},
    _sized,
    {"scale_h": 0.0, "scale_w": 0.0},
)
_dynamic(
    "nn.upsampling3d",
    "data scale_d scale_h scale_w",
    {"scale_d": SCALAR, "scale_h": SCALAR, "scale_w": SCALAR},
    _sized,
    {"scale_d": 0.0, "scale_h": 0.0, "scale_w": 0.0},
)
_dynamic(
    "strided_slice",
    "data begin end strides",
    {"begin": 1, "end": 1, "strides": 1},
    _sliced,
    {"begin": None, "end": None, "strides": None},
    at_run_time=_slice_at_run_time,
    mixed_precision=FOLLOW,
)

WITH_STATIC_FORM = frozenset(DYNAMIC) - {"dyn.expand_dims"}
