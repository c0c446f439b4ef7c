"""From Relay to Relax: what is left of a module for TVM to compile.

Each operator is translated by its definition (`OpDef.relax`); an external function becomes a call
of the code that its back end made, `call_dps_packed(symbol, inputs)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relay.analysis import free_vars
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
    describe,
)
from byoc_lab.relay.types import TensorType, TupleType, Type
from byoc_lab.run.tvm_runtime import import_tvm, tensor_type, tuple_type

ENTRY = "main"


def to_relax(main: Function) -> Any:
    """A Relax module whose function "main" computes what `main` does, parameters in order.

    `main` is typed and flat (see `inline.inlined`): the functions that it still calls are external
    ones. Raises BuildError for what has no translation, naming it.
    """
    tvm = import_tvm()
    builder = tvm.relax.BlockBuilder()
    _Translator(tvm, builder).function(ENTRY, main.params, main.body)
    return builder.get()


def relax_type(ty: Type | None, what: str) -> Any:
    """Relax's form of a Relay type of known shape."""
    if isinstance(ty, TensorType) and ty.is_static:
        return tensor_type(ty.concrete_shape, ty.dtype)
    if isinstance(ty, TupleType):
        return tuple_type([relax_type(f, what) for f in ty.fields])
    raise BuildError(f"{what} must be a tensor of known shape or a tuple of such, found {ty}")


class _Translator:
    def __init__(self, tvm: Any, builder: Any):
        self.tvm = tvm
        self.relax = tvm.relax
        self.builder = builder
        self.branch_count = 0
        self.branches_of: dict[If, list[tuple[Any, list[Var]]]] = {}

    def function(self, name: str, params: Any, body: Expr) -> Any:
        """Add a Relax function; the global variable that it is called by."""
        made = {
            p: self.relax.Var(f"p{n}_{p.name_hint}", relax_type(p.checked_type, f"%{p.name_hint}"))
            for n, p in enumerate(params)
        }
        nodes = _evaluated(body)
        for node in nodes:
            if isinstance(node, If):  # functions cannot be made while another one is
                self.branches_of[node] = self._branches(node)
        with self.builder.function(name, list(made.values())):
            # Only what stands in a dataflow block is fused, and a branch cannot stand in one.
            if any(isinstance(node, If) for node in nodes):
                result = self._emit_all(nodes, made, self.builder.emit)
            else:
                with self.builder.dataflow():
                    value = self._emit_all(nodes, made, self.builder.emit)
                    result = self.builder.emit_output(value)
            return self.builder.emit_func_output(result)

    def _emit_all(self, nodes: list[Expr], made: dict[Any, Any], emit: Callable[..., Any]) -> Any:
        values: dict[Expr, Any] = dict(made)
        for node in nodes:
            if node in values or isinstance(node, (Op, GlobalVar)):
                continue
            values[node] = self._translate(node, values, emit)
        last = values[nodes[-1]]
        return emit(last) if isinstance(nodes[-1], (Var, Constant, Tuple)) else last

    def _translate(self, node: Expr, values: dict[Expr, Any], emit: Callable[..., Any]) -> Any:
        if isinstance(node, Constant):
            return self.relax.const(node.numpy(), node.data.dtype)
        if isinstance(node, Tuple):
            return self.relax.Tuple([values[f] for f in node.fields])
        if isinstance(node, TupleGetItem):
            return emit(self.relax.TupleGetItem(values[node.tuple_value], node.index))
        if isinstance(node, Call) and isinstance(node.op, Op):
            return emit(self._operator(node, node.op, values))
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            return emit(self._external(node, node.op, values))
        if isinstance(node, If):
            return emit(self._if(node, values))
        if isinstance(node, Var):
            raise BuildError(f"%{node.name_hint} has no value: it is no parameter of @main")
        place = f"{node.span}: " if node.span else ""
        raise BuildError(
            f"{place}{describe(node)} has no translation to Relax; references and functions as "
            f"values cannot be built. byoc_lab.run.evaluate runs them with NumPy"
        )

    def _operator(self, node: Call, op: Op, values: dict[Expr, Any]) -> Any:
        definition = op.definition
        if definition.relax is None:
            raise BuildError(f"{op.name} has no translation to Relax: {definition.why_no('relax')}")
        attrs = node.attrs
        if attrs is None and definition.attrs is not None:
            attrs = definition.attrs.make()
        try:
            args = [values[a] for a in node.args]
            return self.builder.normalize(definition.relax(self.relax.op, attrs, *args))
        except BuildError:
            raise
        except (RuntimeError, ValueError, TypeError) as error:
            place = f"{node.span}: " if node.span else ""
            raise BuildError(f"{place}Relax refuses {op.name}: {error}") from error

    def _external(self, node: Call, callee: GlobalVar, values: dict[Expr, Any]) -> Any:
        ty = node.checked_type
        what = f"the result of @{callee.name_hint}"
        fields = list(ty.fields) if isinstance(ty, TupleType) else [ty]
        if any(isinstance(f, TupleType) for f in fields):
            raise BuildError(f"{what} must be a tensor or a tuple of tensors, found {ty}")
        types = [relax_type(f, what) for f in fields]
        args = self.relax.Tuple([values[a] for a in node.args])
        call = self.relax.op.call_dps_packed(callee.name_hint, args, types)
        if isinstance(ty, TupleType) and len(fields) == 1:
            # One output makes a tensor in Relax, whatever Relay calls it.
            return self.relax.Tuple([self.builder.emit(call)])
        return call

    def _branches(self, node: If) -> list[tuple[Any, list[Var]]]:
        """For each branch a function of the parameters it uses: what it needs is computed in it."""
        made = []
        for branch in (node.true_branch, node.false_branch):
            self.branch_count += 1
            params = free_vars(branch)
            made.append((self.function(f"branch_{self.branch_count}", params, branch), params))
        return made

    def _if(self, node: If, values: dict[Expr, Any]) -> Any:
        calls = [
            self.relax.Call(callee, [values[p] for p in params])
            for callee, params in self.branches_of[node]
        ]
        return self.relax.If(values[node.cond], *calls)


def _evaluated(root: Expr) -> list[Expr]:
    """The nodes that are computed whenever `root` is, operands first: not those in branches."""
    order: dict[Expr, None] = {}
    stack = [(root, False)]
    while stack:
        node, done = stack.pop()
        if done:
            order[node] = None
        elif node not in order:
            stack.append((node, True))
            parts = () if isinstance(node, Function) else node.parts()
            needed = (node.cond,) if isinstance(node, If) else parts
            stack += [(p, False) for p in reversed(needed) if p not in order]
    return list(order)
