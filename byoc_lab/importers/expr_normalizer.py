"""Types and folds expressions while they are built, and sets their spans; each node once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from byoc_lab.importers.shape_elements import Numbers, known_numbers
from byoc_lab.passes.fold.fold_constant import typed_and_folded
from byoc_lab.relay.ir.expr import Constant, Expr, Op
from byoc_lab.relay.ir.span import SourceName, Span
from byoc_lab.relay.ir.visit import post_order_new, with_mapped_parts
from byoc_lab.relay.typing.infer import infer_above


class ExprNormalizer:
    """Infers the type of each expression, folds it if it is constant, and sets its span to the name
    of the node, input or weight of the model that it comes from.

    Normalized expressions are not walked again, so importing n nodes takes n steps.
    """

    def __init__(self) -> None:
        self._normalized: dict[Expr, Expr] = {}
        self._numbers: dict[Expr, Numbers] = {}
        self._span: Span | None = None

    @contextmanager
    def placed(self, name: str) -> Iterator[None]:
        """Within this context, normalized expressions get the name of this node as span."""
        before, self._span = self._span, Span(SourceName(name), 0, 0, 0, 0)
        try:
            yield
        finally:
            self._span = before

    def __call__(self, expr: Expr) -> Expr:
        """`expr` with types, and with constant subexpressions folded as by FoldConstant."""
        normalized = self._normalized
        for node in list(post_order_new(expr, normalized, None)):
            if node in normalized:
                continue
            result = self._placed(typed_and_folded(with_mapped_parts(node, normalized)))
            if not isinstance(result, Op):
                result = self._with_numbers(result)
            normalized[node] = normalized[result] = result
        return normalized[expr]

    def _placed(self, node: Expr) -> Expr:
        if node.span is not None or isinstance(node, Op):
            return node
        placed: Expr = node.with_type(node.checked_type, span=self._span)
        return placed

    def numbers(self, expr: Expr) -> Numbers | None:
        """The known elements of a shape that the graph computes: ints, and None for unknown ones;
        None if no element is known."""
        return self._numbers.get(self(expr))

    def _with_numbers(self, node: Expr) -> Expr:
        """If `node` computes a shape, records its known elements; returns a constant if all are
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
