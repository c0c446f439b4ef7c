"""Experiments with the pattern table of a pipeline: the matches in variants of the module."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from byoc_lab.errors import counted
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential, is_optimizable
from byoc_lab.passes.framework.predicates import ask_operator
from byoc_lab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Var, bind
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import array
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import post_order_patterns, root_operators
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.matcher import find_match
from byoc_lab.relay.patterns.patterns import CallPattern, ConstantPattern
from byoc_lab.relay.typing.infer import infer_module


@dataclass(frozen=True, eq=False)
class EscapingValue:
    """A match that is refused because `value`, inside it, has a `user` outside. entry: the name of
    the pattern table entry."""

    entry: str
    value: Expr
    user: Expr


@dataclass(frozen=True, order=True)
class Merged:
    """The result of applying a pattern table to a module: the operators outside of composites, then
    the number of composites. Smaller is better."""

    outside: int
    composites: int

    @classmethod
    def of(cls, mod: IRModule) -> Merged:
        """Counts both in a module. mod: the result of MergeComposite."""
        nodes = set(post_order(*mod.functions.values(), enter=lambda n: not _is_composite(n)))
        outside = sum(isinstance(n, Call) and isinstance(n.op, Op) for n in nodes)
        return cls(outside, len(list(_composites_in(mod))))

    @printable
    def __str__(self) -> str:
        made = counted(self.composites, "composite")
        return f"{made} and {counted(self.outside, 'operator')} outside"


class Experiment:
    """The passes of a pipeline up to MergeComposite, run on a typed module and its variants."""

    def __init__(self, mod: IRModule, context: Context):
        self.mod = infer_module(mod)
        self.context = context
        self.passes = context.before(MergeComposite)

    def run(self) -> None:
        """Run the passes on the unchanged module. Raises the errors of the passes."""
        _ = self._plain

    def runs(self, kind: type[Pass]) -> bool:
        """Whether a pass of this class runs before MergeComposite."""
        return any(isinstance(p, kind) for p in self.passes)

    def has(self, name: str) -> bool:
        """Whether the unchanged module gets composites of an entry. Raises the errors of the
        passes."""
        return self._plain[name] > 0

    def without_lets(self) -> Counter[str]:
        """The additional composites if the module had no lets."""
        return self._gained(ToGraphNormalForm()(self.mod))

    def with_values(self, positions: Iterable[int]) -> Counter[str]:
        """The additional composites if these parameters of @main, tensors of known shape, were
        bound to values."""
        main = self.mod["main"]
        values: dict[Var, Expr] = {}
        for position in positions:
            ty = main.params[position].checked_type
            if isinstance(ty, TensorType) and ty.is_static:
                ones = np.ones(ty.concrete_shape, ty.dtype)
                values[main.params[position]] = Constant(array(ones))
        if not values:
            return Counter()
        variant = self.mod.copy()
        variant["main"] = bind(main, values)
        return self._gained(variant)

    def simplified(self) -> Counter[str]:
        """The additional composites if norms were decomposed and folded before."""
        with PassContext(opt_level=3):
            passes = [SimplifyInference(), FoldConstant(), FoldScaleAxis()]
            return self._gained(Sequential(passes)(self.mod))

    def escapes(self) -> Iterator[EscapingValue]:
        """The matches that a user outside prevents, if a call inside stays on the host.

        Only for modules that the passes before MergeComposite do not change.
        """
        if any(not isinstance(p, InferType) for p in self.passes):
            return
        for func in self.mod.functions.values():
            if not is_optimizable(func):
                continue
            graph = IndexedGraph(func)
            groups = [g for _, p, *_ in self.context.table for g in find_groups(p, graph)]
            taken = {n for g in groups for n in g.nodes}
            for name, pattern, *_ in self.context.table:
                for root in _ends(pattern, graph):
                    inside = _calls_in(pattern, root, graph)
                    if any(n not in taken and not self._is_supported(n) for n in inside):
                        escape = _escape(name, root, inside, graph)
                        if escape is not None:
                            yield escape

    def operators(self, names: Iterable[str]) -> set[str]:
        """The operators in the patterns with these names."""
        wanted = set(names)
        return {
            op
            for entry, pattern, *_ in self.context.table
            if entry in wanted
            for part in post_order_patterns(pattern)
            if isinstance(part, CallPattern) and (op := part.op_name())
        }

    @cached_property
    def wants_constants(self) -> bool:
        """Whether a pattern of the table requires a constant."""
        return any(
            isinstance(part, ConstantPattern)
            for _, pattern, *_ in self.context.table
            for part in post_order_patterns(pattern)
        )

    def _gained(self, variant: IRModule) -> Counter[str]:
        return self._composites(variant) - self._plain

    @cached_property
    def _plain(self) -> Counter[str]:
        return self._composites(self.mod)

    def merged(self, table: Sequence[Any]) -> Merged:
        """The result of applying a different pattern table to the module. Raises the errors of the
        passes."""
        return Merged.of(self._merged(self.mod, table))

    def _composites(self, mod: IRModule) -> Counter[str]:
        return Counter(_composites_in(self._merged(mod, self.context.table)))

    def _merged(self, mod: IRModule, table: Sequence[Any]) -> IRModule:
        merge = MergeComposite([tuple(entry) for entry in table])
        with PassContext(opt_level=3):
            merged: IRModule = Sequential([*self.passes, merge])(infer_module(mod))
        return merged

    def _is_supported(self, node: Expr) -> bool:
        """Whether a target supports the operator alone, so that the match is not needed."""
        if not (isinstance(node, Call) and isinstance(node.op, Op)):
            return False
        for p in self.context.running:
            if not isinstance(p, AnnotateTarget):
                continue
            for target in p.targets:
                predicate = p.predicate(node.op, target)
                if predicate is not None and ask_operator(predicate, node, target):
                    return True
        return False


def _is_composite(node: Expr) -> bool:
    return isinstance(node, Function) and "Composite" in node.attrs


def _composites_in(mod: IRModule) -> Iterator[str]:
    """Maps each call of a composite to the composite's name."""
    for node in post_order(*mod.functions.values()):
        if isinstance(node, Call) and isinstance(node.op, Function) and _is_composite(node.op):
            yield str(node.op.attrs["Composite"])


def _ends(pattern: DFPattern, graph: IndexedGraph) -> list[Expr]:
    """The calls of a graph that can be the root of a match of the pattern."""
    return [c for op in root_operators(pattern) or () for c in graph.calls_of.get(op, ())]


def _calls_in(pattern: DFPattern, root: Expr, graph: IndexedGraph) -> list[Expr]:
    """The calls of the match with root `root`; empty if there is no match."""
    taken = find_match(pattern, root, graph) or {}
    calls = {e for p, found in taken.items() if isinstance(p, CallPattern) for e in found}
    return sorted(calls, key=graph.index.__getitem__)


def _escape(name: str, root: Expr, inside: list[Expr], graph: IndexedGraph) -> EscapingValue | None:
    for value in inside:
        for user in graph.outputs[value] if value is not root else ():
            if user not in inside and not graph.dominates(root, user):
                return EscapingValue(name, value, user)
    return None
