"""Types, folds and places expressions while they are built, each node once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from byoc_lab.importers.lengths import Numbers, known_numbers
from byoc_lab.passes.fold.fold_constant import typed_and_folded
from byoc_lab.relay.ir.expr import Constant, Expr, Op
from byoc_lab.relay.ir.span import SourceName, Span
from byoc_lab.relay.ir.visit import post_order_new, with_mapped_parts
from byoc_lab.relay.typing.infer import infer_above


class Settler:
    """Gives each expression its type, its value if it is constant, and as its span the name of the
    node, input or weight of the model that it comes from.

    What was settled before is not walked again, so importing n nodes takes n steps.
    """

    def __init__(self) -> None:
        self._settled: dict[Expr, Expr] = {}
        self._numbers: dict[Expr, Numbers] = {}
        self._span: Span | None = None

    @contextmanager
    def placed(self, name: str) -> Iterator[None]:
        """Expressions that are settled inside belong to the node of this name."""
        before, self._span = self._span, Span(SourceName(name), 0, 0, 0, 0)
        try:
            yield
        finally:
            self._span = before

    def __call__(self, expr: Expr) -> Expr:
        """`expr` typed, with its constant parts folded as FoldConstant does."""
        settled = self._settled
        for node in list(post_order_new(expr, settled, None)):
            if node in settled:
                continue
            result = self._placed(typed_and_folded(with_mapped_parts(node, settled)))
            if not isinstance(result, Op):
                result = self._with_numbers(result)
            settled[node] = settled[result] = result
        return settled[expr]

    def _placed(self, node: Expr) -> Expr:
        if node.span is not None or isinstance(node, Op):
            return node
        placed: Expr = node.with_type(node.checked_type, span=self._span)
        return placed

    def numbers(self, expr: Expr) -> Numbers | None:
        """The known numbers of a shape that is computed in the graph: ints, and None for unknown
        ones; None if nothing is known."""
        return self._numbers.get(self(expr))

    def _with_numbers(self, node: Expr) -> Expr:
        """`node` with the numbers that are known if it computes a shape; a constant if all are
        known."""
        found = known_numbers(node, self._numbers)
        if found is None:
            return node
        if not isinstance(node, Constant) and not any(n is None for n in found.ravel()):
            ty = node.checked_type
            values = np.asarray(found.tolist(), ty.dtype).reshape(ty.concrete_shape)
            node = self._placed(infer_above(Constant(values)))
        self._numbers[node] = found
        return node
