"""`ComposedLineage`: the images and origins of nodes across several consecutive stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byoc_lab.relay.ir.expr import Expr


class ComposedLineage:
    """Pairs the nodes of the first and the last module that every stage kept. All other nodes of
    the last module were created in between."""

    def __init__(self, stages: Sequence[Mapping[Expr, Expr]]):
        """stages: for each stage, the nodes of its input mapped to nodes of its result."""
        first, *others = stages
        found = dict(first)
        for pairs in others:
            found = {x: pairs[y] for x, y in found.items() if y in pairs}
        self._images = found
        self._origins = {y: x for x, y in found.items()}

    def origins(self, node: Expr) -> tuple[Expr, ...]:
        """The node of the first module that `node` originates from."""
        return (self._origins[node],) if node in self._origins else ()

    def images(self, node: Expr) -> tuple[Expr, ...]:
        """The node of the last module that originates from `node`."""
        return (self._images[node],) if node in self._images else ()

    def rule(self, node: Expr) -> str:
        """ "" for a node that originates from the first module."""
        return "" if node in self._origins else "a stage"
