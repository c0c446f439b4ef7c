"""FuseOps: moves operators that run as one kernel into a function that is called in their place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.compat.passes.normal_form.fusion_groups import Node, fusion_groups
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order

# Operators that only reshape; a function with only these is marked.
RESHAPES = (
    "reshape", "squeeze", "expand_dims", "nn.batch_flatten", "contrib_reverse_reshape",
    "dyn.reshape", "dyn.squeeze",
)  # fmt: skip
STOP = "annotation.stop_fusion"
MAX_NODES = 256


class FuseOps(FunctionPass):
    """Moves operators that run as one kernel into a function that is called in their place.

    `nn.relu(add(%x, %y))` -> `fn (%p0, %p1, Primitive=1) { nn.relu(add(%p0, %p1)) }(%x, %y)`. Every
    operator, including qnn operators, becomes part of such a function, possibly alone;
    `fusion_groups.py` forms the groups. Unchanged: functions that are already Primitive, functions
    of external compilers, operators that compute nothing (on_device), tuples with which nothing is
    fused, calls of functions. `annotation.stop_fusion` prevents the fusion of its operand with
    users; it is removed.

    fuse_opt_level: 0 fuses nothing, so every operator becomes a separate function; -1 means the
    level of the PassContext. The PassContext's settings "relay.FuseOps.max_depth" (maximum number
    of nodes per function, 256) and "relay.FuseOps.link_params" (whether constants stay inside) also
    apply.

    Source: src/relay/transforms/fuse_ops.cc of TVM 0.16.
    """

    required = ("InferType",)

    def __init__(self, fuse_opt_level: int = -1):
        self.fuse_opt_level = fuse_opt_level

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        level = ctx.opt_level if self.fuse_opt_level == -1 else self.fuse_opt_level
        groups = fusion_groups(
            func, level, int(ctx.config.get("relay.FuseOps.max_depth", MAX_NODES))
        )
        keeps_constants = bool(ctx.config.get("relay.FuseOps.link_params", False))
        return _Fuser(groups, keeps_constants).run(func)


class _Fuser:
    """Creates the fused functions of one global function."""

    def __init__(self, nodes: dict[Expr, Node], keeps_constants: bool):
        self.nodes = nodes
        self.keeps_constants = keeps_constants
        self.params: dict[Node, dict[Expr, Var]] = {}  # {group: {argument: parameter}}
        self.memo: dict[Expr, Expr] = {}

    def run(self, func: Function) -> Function:
        rules = (
            RewriteRule("fuse", "these operators run as one kernel", self._fuse),
            RewriteRule("stop fusion", "fusion is complete, so the annotation is removed", _stop),
        )
        return rewrite(func, rules, _is_open, self.memo, self._inside)

    def _inputs(self, expr: Expr) -> Sequence[Expr] | None:
        """The operands of a node that can be fused into a function; None for any other node."""
        if isinstance(expr, Call):
            return expr.args if _computes(expr.op) and not expr.is_op(STOP) else None
        if isinstance(expr, Tuple):
            return None if self._is_result(expr) else expr.fields
        if isinstance(expr, TupleGetItem):
            inside = self.nodes[expr.tuple_value].group is self.nodes[expr].group
            return [expr.tuple_value] if inside or not self._is_result(expr) else None
        return None

    def _is_result(self, expr: Expr) -> bool:
        """Whether a node is the result of its group's function."""
        return self.nodes[expr].group is self.nodes[expr]

    def _is_param(self, user: Expr, part: Expr) -> bool:
        node = self.nodes.get(part)
        if node is not None and node.group is self.nodes[user].group:
            return False
        return not (self.keeps_constants and isinstance(part, Constant))

    def _inside(self, pre: Any, post: Any) -> Expr:
        """A node inside its group's function, built from parameters and other inside nodes."""
        inputs = self._inputs(pre)
        if not inputs:
            return post
        parts = [self._param(pre, p) if self._is_param(pre, p) else self.memo[p] for p in inputs]
        if isinstance(pre, TupleGetItem):
            return TupleGetItem(parts[0], pre.index, pre.span)
        return pre.with_parts((pre.op, *parts) if isinstance(pre, Call) else parts)

    def _param(self, user: Expr, part: Expr) -> Var:
        """The parameter for a value from outside; it is created at the first use."""
        params = self.params.setdefault(self.nodes[user].group, {})
        return params.setdefault(_unmarked(part), Var(f"p{len(params)}", part.checked_type))

    def _fuse(self, pre: Any, post: Any) -> Expr | None:
        if self._inputs(pre) is None or not self._is_result(pre):
            return None
        params = self.params.get(self.nodes[pre], {})
        func = Function(list(params.values()), post, pre.checked_type, attrs=_attributes(post))
        return Call(func, [self.memo[value] for value in params])


def _computes(op: Expr) -> bool:
    """Whether a node is an operator to run; a qnn operator counts, because it represents other
    operators."""
    if not isinstance(op, Op):
        return False
    return not op.get_attr("TNonComputational") or op.get_attr("FTVMQnnCanonicalize") is not None


def _attributes(body: Expr) -> dict[str, int]:
    """The attributes of a fused function: whether it computes, and whether it only reshapes."""
    nodes = list(post_order(body))
    calls = [n.op_name for n in nodes if isinstance(n, Call)]
    tensors = all(isinstance(n.type_annotation, TensorType) for n in nodes if isinstance(n, Var))
    attrs = {"Primitive": int(bool(calls))}
    if calls and tensors and all(name in RESHAPES for name in calls):
        attrs["relay.reshape_only"] = 1
    return attrs


def _stop(pre: Any, post: Any) -> Expr | None:
    return post.args[0] if isinstance(post, Call) and post.is_op(STOP) else None


def _unmarked(value: Expr) -> Expr:
    while isinstance(value, Call) and value.is_op(STOP):
        (value,) = value.args
    return value


def _is_open(node: Expr) -> bool:
    """Whether the body of a function is fused: not if an external compiler handles it."""
    closed = isinstance(node, Function) and (
        node.attrs.get("Primitive") or "Compiler" in node.attrs
    )
    return not closed
