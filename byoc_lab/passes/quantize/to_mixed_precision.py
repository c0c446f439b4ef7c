"""ToMixedPrecision: converts a float32 network to float16 or bfloat16 where that is safe."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
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
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.framework.precision import MixedPrecision
from byoc_lab.relay.typing.infer import infer_expr

WIDE = "float32"

# attribute class -> its attribute for the dtype of the result
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

# Parts whose types are fixed by other nodes: by the other branch, or by the reference.
_FIXED_PARTS: dict[type[Expr], tuple[int, ...]] = {
    If: (1, 2), RefCreate: (0,), RefRead: (), RefWrite: (1,),
}  # fmt: skip


class ToMixedPrecision(FunctionPass):
    """Convert a float32 network to float16 or bfloat16 where that is safe.

    Each operator's definition has one of three categories (`MixedPrecision`). ALWAYS:
    floating-point operands are cast to the narrow dtype. NEVER: they are cast to float32. FOLLOW:
    the operator is narrow if all operands are narrow; parameters and constants fit either. The
    category is the operator's attribute "FTVMMixedPrecisionConversionType", replaced by
    `relay.op.register_mixed_precision_conversion`.

    missing_op_mode: what to do with an operator that has no category. 1: it follows its operands,
    with a warning; 2: it follows them without a warning; 0: raise PassError.

    With the setting "relay.ToMixedPrecision.keep_orig_output_dtype" the results keep their dtypes.
    Functions for other compilers are not changed, and are called with the dtypes of their
    parameters. Raises PassError for calls of other global functions and of constructors as well.

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

    types: the types of new nodes, which have no checked_type. casts: the cast of each value to each
    dtype; casting a cast back returns the original value.
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
            RewriteRule(
                "convert", f"{self.dtype} or {WIDE}, by the category of the operator", self._convert
            ),
            RewriteRule("bind", "the value has another dtype", _rebind),
            RewriteRule("result type", "the return type is inferred again", _without_result_type),
        )
        return rewrite(self.func, rules, memo=self.memo)

    def _convert(self, pre: Any, post: Any) -> Expr | None:
        new: Expr = post
        if isinstance(pre, Call):
            new = self._call(pre, post)
        elif isinstance(pre, Tuple) and pre is self.result:
            new = self._as_before(post, pre.checked_type)
        elif type(pre) in _FIXED_PARTS:
            new = self._keeping_type(pre, post)
        # The let's body, which uses the variable, is rewritten later.
        for var in self.bound.get(pre, ()):
            ty = self._type(new)
            if ty != var.checked_type:
                self.memo[var] = Var(var.name_hint, ty, var.span)
        return new

    def _keeping_type(self, pre: Any, post: Any) -> Expr:
        """Cast the parts whose types are fixed (_FIXED_PARTS) back to their original types. An if
        becomes narrow if both of its branches are."""
        if isinstance(pre, If) and self._type(post.true_branch) == self._type(post.false_branch):
            self.types[post] = self._type(post.true_branch)
            return post
        parts, wanted = list(post.parts()), pre.parts()
        for n in _FIXED_PARTS[type(pre)]:
            parts[n] = self._as_before(parts[n], wanted[n].checked_type)
        same = all(map(_is, parts, post.parts()))
        new = post if same else post.with_parts(parts)
        self.types[new] = pre.checked_type
        return new

    # Calls ----------------------------------------------------------------------------------------

    def _call(self, pre: Call, post: Call) -> Expr:
        category, accumulated, wanted = self._category(pre)
        types = [self._type(arg) for arg in post.args]
        if category == MixedPrecision.FOLLOW:
            narrow = all(map(self._may_be_narrow, post.args, types))
            category = MixedPrecision.ALWAYS if narrow else MixedPrecision.NEVER
        dtype = self.dtype if category == MixedPrecision.ALWAYS else WIDE
        args = [self._cast(arg, ty, dtype) for arg, ty in zip(post.args, types, strict=True)]
        same = all(a is b for a, b in zip(args, post.args, strict=True))
        new: Expr = post if same else post.with_parts((post.op, *args))
        if category == MixedPrecision.ALWAYS:
            attrs = _with_dtype(pre.attrs, accumulated)
            if attrs != pre.attrs:
                new = Call(post.op, args, attrs, span=post.span)
            if accumulated != wanted:
                new = self._cast(new, self._type(new), wanted)
            if pre is self.result:
                new = self._as_before(new, pre.checked_type)
        return new

    def _is_external(self, callee: Expr) -> bool:
        return isinstance(callee, GlobalVar) and not is_optimizable(self.mod[callee])

    def _category(self, call: Call) -> tuple[int, str, str]:
        """The category of a call, and the dtypes in which it accumulates and returns if it is
        narrow."""
        if isinstance(call.op, (GlobalVar, Constructor)) and not self._is_external(call.op):
            raise PassError(
                f"ToMixedPrecision changes calls of operators and of local functions, found one of "
                f"{describe(call.op)}; inline it (Inline) first"
            )
        if not isinstance(call.op, Op):  # local and external functions keep their signatures
            return MixedPrecision.NEVER, WIDE, WIDE
        conversion = call.op.get_attr("FTVMMixedPrecisionConversionType")
        if conversion is None:
            self.missing[call.op.name] += 1
            return MixedPrecision.FOLLOW, self.dtype, self.dtype
        found = list(conversion(call, self.dtype))
        if len(found) != 3 or int(found[0]) not in range(3):
            raise PassError(
                f"the FTVMMixedPrecisionConversionType of {call.op.name} must give a category "
                f"(0, 1 or 2) and two dtypes, found {found}"
            )
        return int(found[0]), str(found[1]), str(found[2])

    def _may_be_narrow(self, arg: Expr, ty: Type) -> bool:
        return isinstance(arg, (Var, Constant)) or self._is_narrow(ty)

    def _is_narrow(self, ty: Type) -> bool:
        """Whether all floating-point tensors in a value of this type are narrow."""
        if isinstance(ty, TupleType):
            return all(map(self._is_narrow, ty.fields))
        return not _is_float(_tensor(ty).dtype) or _tensor(ty).dtype == self.dtype

    # Casts ----------------------------------------------------------------------------------------

    def _cast(self, expr: Expr, ty: Type, dtype: str) -> Expr:
        """A value with its floating-point tensors cast to `dtype`."""
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
        """The type of a node; the type of a new call is inferred from the types of its
        arguments."""
        waiting = [expr]
        while waiting:
            node = waiting[-1]
            parts = node.parts() if isinstance(node, (Call, Tuple, TupleGetItem)) else ()
            inner = [p for p in parts if not isinstance(p, (Op, Function, GlobalVar))]
            untyped = [p for p in inner if not self._has_type(p)]
            if self._has_type(node):
                waiting.pop()
            elif untyped:
                waiting += untyped
            else:
                self.types[node] = self._inferred(node, inner)
        return expr.checked_type if expr.is_typed else self.types[expr]

    def _has_type(self, node: Expr) -> bool:
        return node.is_typed or node in self.types

    def _inferred(self, node: Expr, inner: Sequence[Expr]) -> Type:
        """The type of a node, inferred from the known types of its parts `inner`."""
        if isinstance(node, Function):
            node = node.replace(ret_type=None)  # its return type belongs to the original function
        elif inner:
            known = {p: Var("part", p.checked_type if p.is_typed else self.types[p]) for p in inner}
            node = node.with_parts([known.get(p, p) for p in node.parts()])
        return infer_expr(node, self.mod).checked_type


def _rebind(pre: Any, post: Any) -> Expr | None:
    changed = isinstance(pre, Let) and post.var is not pre.var
    return post.with_parts(post.parts()) if changed else None


def _without_result_type(pre: Any, post: Any) -> Expr | None:
    changed = isinstance(pre, Function) and post is not pre
    return post.replace(ret_type=None) if changed else None


def _with_dtype(attrs: Attrs | None, dtype: str) -> Attrs | None:
    """The attributes of a call with result dtype `dtype`, if the result is floating-point."""
    name = _RESULT_DTYPES.get(attrs.type_key) if attrs is not None else None
    if attrs is None or name is None:
        return attrs
    stated = getattr(attrs, name)
    return attrs.replace(**{name: dtype}) if not stated or _is_float(stated) else attrs


def _tensor(ty: Type) -> TensorType:
    if not isinstance(ty, TensorType):
        raise PassError(
            f"ToMixedPrecision supports tensors and tuples of them, found a value of {ty}"
        )
    return ty


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))
