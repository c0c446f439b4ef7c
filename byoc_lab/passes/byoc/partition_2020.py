"""The partitioner of January 2020, which reproduces the results of that time.

It works backwards from each `compiler_end`: the operand of an end starts a subgraph, and each call
in a subgraph adds its arguments to it. Only a `compiler_begin` ends this traversal, and becomes a
variable; a `compiler_end` does not. So if a begin is missing between two regions, the end of the
first region becomes part of the second, and its function is created inside the other one: they are
nested. Functions stay closures in the body (`%3 = fn (..., Compiler="dnnl",
ExternalSymbol="dnnl_0")`).

Source: the first partition_graph.cc of TVM (January 2020); its behaviour is reproduced, not its
code.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PartitionError
from byoc_lab.passes.framework.hook import is_heard, keeps_in, report
from byoc_lab.passes.framework.passes import each_function
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Function,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import with_mapped_parts
from byoc_lab.relay.typing.infer import infer_module


def partition_2020(mod: IRModule) -> IRModule:
    """Partition annotated regions into closures, nested if a begin is missing."""
    return infer_module(each_function(mod, lambda func, out: _Partitioner().run(func)))


class _Subgraph:
    def __init__(self, number: int):
        self.number = number
        self.nodes: dict[Expr, None] = {}
        self.inputs: list[tuple[Var, Expr]] = []


class _Partitioner:
    def __init__(self) -> None:
        self.subgraphs_of: dict[Expr, list[_Subgraph]] = {}
        self.variables = 0
        self.count = 0
        self.memo: dict[Expr, Expr] = {}

    def run(self, func: Function) -> Function:
        keeps_in(self.memo)
        stack: list[tuple[Expr, bool]] = [(func, False)]
        while stack:
            node, done = stack.pop()
            if node in self.memo:
                continue
            if done:
                self.memo[node] = self._leave(node)
            else:
                self._enter(node)
                stack.append((node, True))
                stack += [(p, False) for p in reversed(node.parts()) if p not in self.memo]
        result = self.memo[func]
        assert isinstance(result, Function)
        return result

    def find(self, node: Expr) -> _Subgraph | None:
        """The newest subgraph that contains the node: two may contain it after an end was merged
        into a subgraph."""
        return max(self.subgraphs_of.get(node, ()), key=lambda s: s.number, default=None)

    def _put(self, subgraph: _Subgraph, node: Expr) -> None:
        subgraph.nodes[node] = None
        owners = self.subgraphs_of.setdefault(node, [])
        if subgraph not in owners:
            owners.append(subgraph)

    def _pull_in(self, subgraph: _Subgraph, node: Expr) -> None:
        other = self.find(node)
        if other is None:
            self._put(subgraph, node)
        elif other is not subgraph:
            for n in other.nodes:
                self.subgraphs_of[n].remove(other)
                self._put(subgraph, n)
            subgraph.inputs += other.inputs

    def _enter(self, node: Expr) -> None:
        """Pre-order step: the subgraph of a node is passed on to its operands."""
        if is_annotation(node, BEGIN):
            return
        if is_annotation(node, END):
            value = node.parts()[1]
            subgraph = self.find(value)
            if subgraph is None:
                subgraph = _Subgraph(self.count)
                self.count += 1
                self._put(subgraph, value)
            self._put(subgraph, node)
            return
        subgraph = self.find(node)
        if subgraph is not None:
            for part in _pulled(node):
                self._pull_in(subgraph, part)

    def _leave(self, node: Any) -> Any:
        post: Any = with_mapped_parts(node, self.memo)
        if is_annotation(node, BEGIN):
            return self._input(node, post)
        if is_annotation(node, END):
            return self._closure(node, post)
        return post

    def _input(self, pre: Call, post: Call) -> Var:
        subgraph = self.find(pre)
        if subgraph is None:
            raise PartitionError(
                f"compiler_begin[{compiler_of(pre)}] opens no region: no user of it leads to a "
                f"compiler_end (TVM: Cannot find the corresponding subgraph for start "
                f"annotation)",
                pre,
            )
        var = Var(f"{compiler_of(pre)}_input{self.variables}", pre.checked_type)
        self.variables += 1
        subgraph.inputs.append((var, post.args[0]))
        return var

    def _closure(self, pre: Call, post: Call) -> Call:
        subgraph = self.find(pre)
        assert subgraph is not None  # `_enter` added the end to a subgraph
        params = [v for v, _ in subgraph.inputs]
        attrs = {
            "Compiler": compiler_of(pre),
            "ExternalSymbol": f"{compiler_of(pre)}_{subgraph.number}",
            "Primitive": 1,
        }
        func = Function(params, post.args[0], pre.args[0].checked_type, attrs=attrs)
        call = Call(func, [a for _, a in subgraph.inputs])
        reason = f"subgraph {subgraph.number} becomes a closure"
        nodes = [pre, *(n for n in subgraph.nodes if n is not pre)] if is_heard() else ()
        report("close subgraph", reason, pre, call, sources=nodes)
        return call


def _pulled(node: Expr) -> tuple[Expr, ...]:
    if isinstance(node, Call):
        return node.args
    if isinstance(node, Function):
        return node.params
    if isinstance(node, RefWrite):
        return (node.ref,)
    if isinstance(node, Let):
        return (node.var, node.value, node.body)
    if isinstance(node, (Tuple, TupleGetItem, If, RefCreate, RefRead)):
        return node.parts()
    return ()
