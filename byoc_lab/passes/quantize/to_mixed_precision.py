"""ToMixedPrecision: a float32 network computes in float16 or bfloat16 where that is safe."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from operator import is_ as _is
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.passes import FunctionPass, PassContext, is_optimizable
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op import register_mixed_precision_conversion
from byoc_lab.relay.typing.infer import infer_expr

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = range(3)
WIDE = "float32"
FLOAT16_LIMIT = 65504.0
Conversion = Callable[[Call, str], "list[int | str]"]

DEFAULT_ALWAYS_LIST = (
    "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.batch_matmul",
)  # fmt: skip
DEFAULT_FOLLOW_LIST = (
    # They move numbers or make new ones.
    "nn.pad", "nn.batch_flatten", "concatenate", "zeros", "split", "squeeze", "transpose",
    "expand_dims", "reshape", "dyn.reshape", "broadcast_to_like", "dyn.broadcast_to",
    "strided_slice", "dyn.strided_slice", "take", "argwhere", "where", "tile", "dyn.tile",
    "scatter_elements", "scatter_nd", "full", "dyn.full", "nn.depth_to_space", "image.resize2d",
    # They compare and cast.
    "less", "greater", "less_equal", "greater_equal", "copy", "cast", "cast_like", "shape_of",
    # Arithmetic that stays in range.
    "add", "subtract", "multiply", "divide", "nn.bias_add", "nn.batch_norm", "sqrt", "max", "min",
    "maximum", "minimum", "argmax", "argmin",
    # Activations, some of which saturate early.
    "nn.relu", "nn.leaky_relu", "nn.prelu", "nn.dropout", "sigmoid", "tanh", "fast_tanh",
    "fast_exp", "fast_erf",
    # Windows.
    "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d",
    "nn.avg_pool3d", "nn.global_max_pool2d", "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
)  # fmt: skip
DEFAULT_NEVER_LIST = (
    # Their results are much greater than their operands, or of many summands.
    "exp", "power", "nn.softmax", "nn.l2_normalize", "erf", "nn.global_avg_pool2d",
    "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "sum", "mean",
    "variance", "nn.layer_norm",
    # The end of a range may be beyond what float16 can say.
    "arange",
)  # fmt: skip

# The attributes that name the dtype of a result, by the type of the attributes.
_RESULT_DTYPES = {
    "relay.attrs.InitOpAttrs": "dtype",
    **{
        f"relay.attrs.{kind}Attrs": "out_dtype"
        for kind in (
            "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv2DWinograd",
            "Conv2DWinogradNNPACKWeightTransform", "DeformableConv2D", "Conv3D", "Conv3DTranspose",
            "Conv3DWinograd", "Dense", "BatchMatmul",
        )
    },
}  # fmt: skip


def _of_colour(colour: int) -> Conversion:
    return lambda call, dtype: [colour, dtype, dtype]


for _colour, _names in enumerate((DEFAULT_ALWAYS_LIST, DEFAULT_FOLLOW_LIST, DEFAULT_NEVER_LIST)):
    for _name in _names:
        register_mixed_precision_conversion(_name, _of_colour(_colour))


def _clip(call: Call, dtype: str) -> list[int | str]:
    """Bounds that float16 cannot say are kept in float32."""
    assert call.attrs is not None
    bounds = (call.attrs.a_min, call.attrs.a_max)
    beyond = dtype == "float16" and any(abs(b) > FLOAT16_LIMIT for b in bounds)
    return [MIXED_PRECISION_NEVER if beyond else MIXED_PRECISION_FOLLOW, dtype, dtype]


register_mixed_precision_conversion("clip", _clip)


class ToMixedPrecision(FunctionPass):
    """A network of float32 computes in float16 or bfloat16 where that does no harm.

    Operators have three colours. Those that gain (ALWAYS: convolutions, products of matrices) get
    their floating-point operands cast to the narrow dtype; those that would lose (NEVER: softmax,
    sums) get them cast to float32; the others (FOLLOW) are narrow if all that they are made of is,
    where parameters and constants count as either. An operator's colour is its attribute
    "FTVMMixedPrecisionConversionType", see `relay.op.register_mixed_precision_conversion`.

    missing_op_mode: what becomes of an operator that has no colour. 1: it follows its operands,
        with a warning; 2: without one; 0: PassError.

    With the setting "relay.ToMixedPrecision.keep_orig_output_dtype" the results keep their dtypes.
    Functions that passes leave alone (those of other compilers) are called with what they take.
    Raises PassError for calls of other global functions and of constructors as well.

    Source: src/relay/transforms/to_mixed_precision.cc and
    python/tvm/relay/transform/mixed_precision.py of TVM 0.16.
    """

    def __init__(self, mixed_precision_type: str = "float16", missing_op_mode: int = 1):
        if missing_op_mode not in (0, 1, 2):
            raise ValueError(f"missing_op_mode must be 0, 1 or 2, found {missing_op_mode!r}")
        if not _is_float(mixed_precision_type):
            raise ValueError(
                f"mixed_precision_type must be a floating-point dtype ('float16', 'bfloat16'), "
                f"found {mixed_precision_type!r}"
            )
        self.dtype = mixed_precision_type
        self.missing_op_mode = missing_op_mode

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        keeps = bool(ctx.config.get("relay.ToMixedPrecision.keep_orig_output_dtype", False))
        mixer = _Mixer(func, mod, self.dtype, keeps)
        mixed = mixer.run()
        for name, count in mixer.missing.items():
            what = (
                f"{name}, called {count} times, has no FTVMMixedPrecisionConversionType; "
                f"give it one with relay.op.register_mixed_precision_conversion"
            )
            if self.missing_op_mode == 0:
                raise PassError(what)
            if self.missing_op_mode == 1:
                warnings.warn(f"{what}. It follows its operands", stacklevel=2)
        return mixed


class _Mixer:
    """Rewrites one global function.

    types: of what was made here, which is not typed. casts: by what is cast and to which dtype; a
    cast back is what was cast.
    """

    def __init__(self, func: Function, mod: IRModule, dtype: str, keeps_results: bool):
        self.func = func
        self.mod = mod
        self.dtype = dtype
        self.result = func.body if keeps_results else None
        self.missing: Counter[str] = Counter()
        self.types: dict[Expr, Type] = {}
        self.casts: dict[tuple[Expr, str], Expr] = {}
        self.memo: dict[Expr, Expr] = {}
        self.bound: dict[Expr, list[Var]] = {}
        for node in post_order(func):
            if isinstance(node, Let):
                self.bound.setdefault(node.value, []).append(node.var)

    def run(self) -> Function:
        rules = (
            RewriteRule("convert", f"{self.dtype} or {WIDE}, as its colour says", self._convert),
            RewriteRule("bind", "the value has another dtype", _bound_anew),
            RewriteRule("result type", "it is inferred anew", _without_result_type),
        )
        return rewrite(self.func, rules, memo=self.memo)

    def _convert(self, pre: Any, post: Any) -> Expr | None:
        new: Expr = post
        if isinstance(pre, Call):
            new = self._call(pre, post)
        elif isinstance(pre, Tuple) and pre is self.result:
            new = self._as_before(post, pre.checked_type)
        for var in self.bound.get(pre, ()):  # the let's body, where it is used, comes later
            ty = self._type(new)
            if ty != var.checked_type:
                self.memo[var] = Var(var.name_hint, ty, var.span)
        return new

    # Calls ----------------------------------------------------------------------------------------

    def _call(self, pre: Call, post: Call) -> Expr:
        colour, accumulated, wanted = self._colour(pre)
        types = [self._type(arg) for arg in post.args]
        if colour == MIXED_PRECISION_FOLLOW:
            narrow = all(map(self._may_be_narrow, post.args, types))
            colour = MIXED_PRECISION_ALWAYS if narrow else MIXED_PRECISION_NEVER
        dtype = self.dtype if colour == MIXED_PRECISION_ALWAYS else WIDE
        args = [self._cast(arg, ty, dtype) for arg, ty in zip(post.args, types, strict=True)]
        same = all(a is b for a, b in zip(args, post.args, strict=True))
        new: Expr = post if same else post.with_parts((post.op, *args))
        if colour == MIXED_PRECISION_ALWAYS:
            attrs = _with_dtype(pre.attrs, accumulated)
            if attrs != pre.attrs:
                new = Call(post.op, args, attrs, span=post.span)
            if accumulated != wanted:
                new = self._cast(new, self._type(new), wanted)
            if pre is self.result:
                new = self._as_before(new, pre.checked_type)
        return new

    def _is_left_alone(self, callee: Expr) -> bool:
        return isinstance(callee, GlobalVar) and not is_optimizable(self.mod[callee])

    def _colour(self, call: Call) -> tuple[int, str, str]:
        """The colour of a call, the dtype it computes in if that is narrow, and of its result."""
        if isinstance(call.op, (GlobalVar, Constructor)) and not self._is_left_alone(call.op):
            raise PassError(
                f"ToMixedPrecision changes calls of operators and of local functions, found one of "
                f"{describe(call.op)}; inline it (Inline) first"
            )
        if not isinstance(call.op, Op):  # a function, local or left alone, keeps its signature
            return MIXED_PRECISION_NEVER, WIDE, WIDE
        conversion = call.op.get_attr("FTVMMixedPrecisionConversionType")
        if conversion is None:
            self.missing[call.op.name] += 1
            return MIXED_PRECISION_FOLLOW, self.dtype, self.dtype
        found = list(conversion(call, self.dtype))
        if len(found) != 3 or int(found[0]) not in range(3):
            raise PassError(
                f"the FTVMMixedPrecisionConversionType of {call.op.name} must give a colour (0, 1 "
                f"or 2) and two dtypes, found {found}"
            )
        return int(found[0]), str(found[1]), str(found[2])

    def _may_be_narrow(self, arg: Expr, ty: Type) -> bool:
        return isinstance(arg, (Var, Constant)) or self._is_narrow(ty)

    def _is_narrow(self, ty: Type) -> bool:
        """Whether all floating-point numbers in a value of this type are narrow."""
        if isinstance(ty, TupleType):
            return all(map(self._is_narrow, ty.fields))
        return not _is_float(_tensor(ty).dtype) or _tensor(ty).dtype == self.dtype

    # Casts ----------------------------------------------------------------------------------------

    def _cast(self, expr: Expr, ty: Type, dtype: str) -> Expr:
        """A value with all its floating-point numbers in `dtype`."""
        if isinstance(ty, TupleType):
            fields = [TupleGetItem(expr, n) for n in range(len(ty.fields))]
            new = [self._cast(f, t, dtype) for f, t in zip(fields, ty.fields, strict=True)]
            return expr if all(map(_is, new, fields)) else Tuple(new)
        found = _tensor(ty).dtype
        if found == dtype or not _is_float(found):
            return expr
        if (expr, dtype) not in self.casts:
            cast = Op.get("cast")
            attrs = cast.definition.attrs.make(dtype=dtype)
            made = Call(cast, [expr], attrs)
            self.casts[expr, dtype] = made
            self.casts[made, found] = expr
        return self.casts[expr, dtype]

    def _as_before(self, expr: Expr, ty: Type) -> Expr:
        if not isinstance(ty, TupleType):
            return self._cast(expr, self._type(expr), _tensor(ty).dtype)
        fields = [TupleGetItem(expr, n) for n in range(len(ty.fields))]
        new = [self._as_before(f, t) for f, t in zip(fields, ty.fields, strict=True)]
        return expr if all(map(_is, new, fields)) else Tuple(new)

    def _type(self, expr: Expr) -> Type:
        """The type of a node. That of a call is made of the types of its arguments alone."""
        if expr.is_typed:
            return expr.checked_type
        if expr not in self.types:
            alone = expr
            if isinstance(expr, (Call, Tuple, TupleGetItem)):
                kept = (Op, Function, GlobalVar)
                alone = expr.with_parts(
                    [p if isinstance(p, kept) else Var("part", self._type(p)) for p in expr.parts()]
                )
            self.types[expr] = infer_expr(alone, self.mod).checked_type
        return self.types[expr]


def _bound_anew(pre: Any, post: Any) -> Expr | None:
    changed = isinstance(pre, Let) and post.var is not pre.var
    return post.with_parts(post.parts()) if changed else None


def _without_result_type(pre: Any, post: Any) -> Expr | None:
    changed = isinstance(pre, Function) and post is not pre
    return post.replace(ret_type=None) if changed else None


def _with_dtype(attrs: Attrs | None, dtype: str) -> Attrs | None:
    """The attributes of a call whose result, if it is of floating-point numbers, is of `dtype`."""
    name = _RESULT_DTYPES.get(attrs.type_key) if attrs is not None else None
    if attrs is None or name is None:
        return attrs
    stated = getattr(attrs, name)
    return attrs.replace(**{name: dtype}) if not stated or _is_float(stated) else attrs


def _tensor(ty: Type) -> TensorType:
    if not isinstance(ty, TensorType):
        raise PassError(f"ToMixedPrecision takes tensors and tuples of them, found a value of {ty}")
    return ty


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))
