"""`ComposedLineage`: the provenance of several stages in a row as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.relay.ir.expr import Expr

Nodes = tuple[Expr, ...]


class ComposedLineage:
    """Origins and images from the input of the first stage to the result of the last one.

    Each map of the whole is the composition of those of the stages.
    """

    def __init__(self, stages: Sequence[Provenance]):
        self._origins = _composed([stage.results for stage in reversed(stages)])
        self._images = _composed([stage.inputs for stage in stages])
        self._rules: dict[Expr, str] = {}
        for stage in stages:  # the rule that created the first of a chain of nodes
            rules = {}
            for node, sources in stage.results.items():
                inherited = self._rules.get(sources[0], "") if sources else ""
                rules[node] = stage.rule(node) or inherited
            self._rules = rules

    def origins(self, node: Expr) -> Nodes:
        """The nodes of the input of the first stage that `node` comes from, nearest first."""
        return self._origins.get(node, ())

    def images(self, node: Expr) -> Nodes:
        """The nodes of the result of the last stage that come from `node`, nearest first."""
        return self._images.get(node, ())

    def rule(self, node: Expr) -> str:
        """A rule that created `node`; "" if it has the place of a node of the input."""
        return self._rules.get(node, "")


def _composed(maps: Iterable[Mapping[Expr, Nodes]]) -> dict[Expr, Nodes]:
    """The composition of maps from a node to several, the first one applied first."""
    first, *others = maps
    found = dict(first)
    for following in others:
        found = {
            node: tuple(dict.fromkeys(n for p in parts for n in following.get(p, ())))
            for node, parts in found.items()
        }
    return found
