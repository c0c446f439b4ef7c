"""LazyGradientInit: tensors become cells, so that zeros and ones are not computed to be added.

    fn (%x: T) { add(exp(%x), zeros_like(%x)) }
->  fn (%x: T) {
      let %x_0 = (fn (%x: GradCell[T]) {
        @AddGradCell(fn (%lhs: T, %rhs: T) { add(%lhs, %rhs) },
                     Raw(exp(@FromGradCell(%x))),
                     Zero(fn () { zeros_like(@FromGradCell(%x)) }))
      })(Raw(%x));
      @FromGradCell(%x_0)
    }

What the names mean is in `relay/std/gradient.rly`, which the module gets. Functions with type
parameters stay as they are.

Source: src/relay/transforms/lazy_gradient_init.cc of TVM 0.16, where the cell of zeros_like says
that it holds ones, which gives wrong products, and where branches, calls of global functions and
operators on tuples give malformed functions. Here they are taken out of their cells, and put back.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.base import FunctionPass, PassContext
from byoc_lab.passes.hook import report_function
from byoc_lab.passes.let_list import LetList
from byoc_lab.passes.rewrite import RewriteRule, rewrite
from byoc_lab.relay.adt import Constructor, Match
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.types import FuncType, RefType, TensorType, TupleType, Type, TypeCall
from byoc_lab.relay.visit import post_order

# What becomes a cell that knows what it holds, and what takes such cells.
MADE = {"zeros": "Zero", "zeros_like": "Zero", "ones": "One", "ones_like": "One"}
COMBINED = {"add": "AddGradCell", "multiply": "MultiplyGradCell"}


class LazyGradientInit(FunctionPass):
    """Compute with cells instead of tensors.

    Raises PassError for functions that take, give or use what is neither tensor nor tuple:
    functions, references and data types as parameters or results, matches, constructors.
    """

    opt_level = 2

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        with_cells = mod.copy()
        with_cells.import_from_std("gradient.rly")
        for gv, func in with_cells.functions.items():
            if gv not in mod:
                reason = "functions of cells call it"
                report_function("add function", reason, gv.name_hint, None, func)
        return super().run(with_cells, ctx)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return func if func.type_params else _Cells(mod).around(func)


class _Cells:
    def __init__(self, mod: IRModule):
        header, *constructors = mod.get_type("GradCell")
        self.header = header
        self.constructors = {c.name_hint: c for c in constructors}
        self.functions = {n: mod.get_global_var(n) for n in (*COMBINED.values(), "FromGradCell")}

    def around(self, func: Function) -> Function:
        """`func` by way of a function of cells, which it is an argument to."""
        for node in post_order(func.body):
            self._check(node)
        lets = LetList()
        new: dict[Expr, Expr] = {}

        def step(pre: Any, post: Any) -> Expr | None:
            if pre is not func:
                return self._of_cells(pre, post)
            cells = [self._put(p, p.checked_type, lets) for p in func.params]
            inner = self._function(pre, post)
            result = pre.checked_type.ret_type
            taken = self._take(lets.name(Call(inner, cells)), result, lets)
            return Function(func.params, lets.close(taken), result, span=func.span)

        reason = "a cell knows when it holds zeros or ones"
        return rewrite(func, [RewriteRule("compute with cells", reason, step)], memo=new)

    def _check(self, node: Expr) -> None:
        if isinstance(node, (Constructor, Match)):
            raise PassError(f"LazyGradientInit is for tensors and tuples, found {node.in_words()}")
        below = node.args if isinstance(node, Call) else node.parts()
        for part in below:
            if isinstance(part, (GlobalVar, Op)):
                raise PassError(
                    f"LazyGradientInit is for functions that are called, found "
                    f"{part.in_words()} as a value: write a function that calls it"
                )

    def _of_cells(self, pre: Any, post: Any) -> Expr | None:
        if isinstance(pre, Var):
            return Var(pre.name_hint, self._type(pre.checked_type), pre.span)
        if isinstance(pre, Constant):
            return self._put(pre, pre.checked_type)
        if isinstance(pre, Function):
            return self._function(pre, post)
        if isinstance(pre, If):
            condition = self._take(post.cond, pre.cond.checked_type)
            return If(condition, post.true_branch, post.false_branch, pre.span)
        if not isinstance(pre, Call):
            return None
        if isinstance(pre.op, Op) and pre.op.name in COMBINED and _same_types(pre):
            return self._combined(pre, post)
        if not isinstance(pre.op, (Op, GlobalVar)):
            return Call(post.op, post.args, post.attrs, span=pre.span)
        given = [self._take(b, a.checked_type) for a, b in zip(pre.args, post.args, strict=True)]
        call = Call(pre.op, given, pre.attrs, pre.type_args, pre.span)
        if isinstance(pre.op, Op) and pre.op.name in MADE:
            make = Function([], call, pre.checked_type)
            return Call(self.constructors[MADE[pre.op.name]], [make])
        return self._put(call, pre.checked_type)

    def _function(self, pre: Function, post: Function) -> Function:
        result = pre.checked_type.ret_type
        return Function(post.params, post.body, self._type(result), None, pre.attrs, pre.span)

    def _combined(self, pre: Call, post: Call) -> Expr:
        left, right = (Var(n, pre.checked_type) for n in ("lhs", "rhs"))
        combine = Function([left, right], Call(pre.op, [left, right], pre.attrs), pre.checked_type)
        return Call(self.functions[COMBINED[pre.op_name]], [combine, *post.args])

    def _put(self, value: Expr, ty: Type, lets: LetList | None = None) -> Expr:
        """`value`, of type `ty`, in cells."""
        if isinstance(ty, TensorType):
            return Call(self.constructors["Raw"], [value])
        fields = zip(_fields(value, ty, lets), _types(ty), strict=True)
        return Tuple([self._put(field, t, lets) for field, t in fields])

    def _take(self, cells: Expr, ty: Type, lets: LetList | None = None) -> Expr:
        """What is in `cells`, of type `ty`."""
        if isinstance(ty, TensorType):
            return Call(self.functions["FromGradCell"], [cells])
        fields = zip(_fields(cells, ty, lets), _types(ty), strict=True)
        return Tuple([self._take(field, t, lets) for field, t in fields])

    def _type(self, ty: Type) -> Type:
        """`ty` with cells for tensors."""
        if isinstance(ty, TensorType):
            return TypeCall(self.header, [ty])
        if isinstance(ty, TupleType):
            return TupleType([self._type(field) for field in ty.fields])
        if isinstance(ty, RefType):
            return RefType(self._type(ty.value))
        if isinstance(ty, FuncType) and not ty.type_params:
            return FuncType([self._type(t) for t in ty.arg_types], self._type(ty.ret_type))
        raise PassError(f"LazyGradientInit is for tensors and tuples, found a value of type {ty}")


def _same_types(call: Call) -> bool:
    types = [call.checked_type, *(a.checked_type for a in call.args)]
    return all(t == types[0] for t in types)


def _types(ty: Type) -> tuple[Type, ...]:
    if not isinstance(ty, TupleType):
        raise PassError(
            f"LazyGradientInit is for functions of tensors and tuples, found a value of type {ty} "
            f"that goes in or out"
        )
    return ty.fields


def _fields(value: Expr, ty: Type, lets: LetList | None) -> list[Expr]:
    """The fields of a tuple; with `lets` under names."""
    if isinstance(value, Tuple):
        return list(value.fields)
    fields: list[Expr] = [TupleGetItem(value, n) for n in range(len(_types(ty)))]
    return fields if lets is None else [lets.name(field) for field in fields]
