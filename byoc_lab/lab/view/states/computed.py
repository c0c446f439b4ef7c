"""The expressions from which constants were folded: "gamma and moving_var of nn.batch_norm %1:
multiply(...)"."""

from __future__ import annotations

from functools import cached_property

from byoc_lab.errors import enumerated
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.lab.view.states.hunks import text_lines
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import shown_array
from byoc_lab.relay.ir.visit import post_order_new

MAX_DEPTH = 12  # maximum depth of a shown expression
MAX_LENGTH = 400  # maximum number of characters of a shown expression
Sources = dict[str, list[str]]  # operator -> its operands


class Computed:
    """The constants of a trace's stages that passes computed.

    first: the module before the first stage; constants are named by its operators.
    """

    def __init__(self, first: IRModule, ids: Ids):
        self.first = first
        self.ids = ids
        self._expressions: dict[str | None, tuple[str, Sources]] = {}
        self._constants: dict[Expr, bool] = {}

    @cached_property
    def _roles(self) -> dict[str, tuple[str, str]]:
        """For each constant with an id: the operand name and the operator of its first use. Numbers
        that the text shows inline are left out."""
        found: dict[str, tuple[str, str]] = {}
        for line in text_lines(self.first):
            call = line.node
            if isinstance(call, Call) and isinstance(call.op, Op):
                names = getattr(call.op.definition, "inputs", ())
                for name, operand in zip(names, call.args, strict=False):
                    ident = self.ids.get(operand)
                    if isinstance(operand, Constant) and ident is not None:
                        user = f"{call.op.name} {line.defines or ''}".rstrip()
                        found.setdefault(ident, (name, user))
        return found

    def of(self, provenance: Provenance) -> dict[str, str]:
        """The expression from which a pass computed each constant, by the id of the constant."""
        found: dict[str, str] = {}
        for node, origins in provenance.results.items():
            ident = self.ids.get(node)
            is_made = isinstance(node, Constant) and provenance.rule(node)
            if not is_made or ident is None or not origins or isinstance(origins[0], Constant):
                continue
            # a number that a rewrite rule inserted, such as an epsilon
            if not self._is_constant(origins[0]):
                continue
            sources: Sources = {}
            text = self._expression(origins[0], sources, 0, {})
            self._expressions[ident] = text, sources
            said = [f"{enumerated(names)} of {user}" for user, names in sources.items()]
            found[ident] = f"{'; '.join(said)}: {text}" if said else text
        return found

    def _is_constant(self, root: Expr) -> bool:
        """Whether a node is computed only from constants."""
        for node in post_order_new(root, self._constants, None):
            parts = (self._constants[part] for part in node.parts())
            self._constants[node] = not isinstance(node, Var) and all(parts)
        return self._constants[root]

    def _expression(self, node: Expr, sources: Sources, depth: int, known: dict[Expr, str]) -> str:
        """The text of a node that is computed from constants. Adds the constants to `sources`, and
        the text to `known`, so that a shared node is written once."""
        if node not in known:
            known[node] = self._written(node, sources, depth, known)
        return known[node]

    def _written(self, node: Expr, sources: Sources, depth: int, known: dict[Expr, str]) -> str:
        if isinstance(node, Constant):
            return self._constant(node, sources)
        parts = node.args if isinstance(node, Call) else node.parts()
        if depth == MAX_DEPTH:
            return "…"
        given = [self._expression(part, sources, depth + 1, known) for part in parts]
        if isinstance(node, TupleGetItem):
            return f"{given[0]}.{node.index}"
        name = "" if isinstance(node, Tuple) else describe(node)
        if isinstance(node, Call):
            name = node.op.name if isinstance(node.op, Op) else describe(node.op)
        text = f"{name}({', '.join(given)})"
        return text if len(text) <= MAX_LENGTH else f"{name}(…)"

    def _constant(self, node: Constant, sources: Sources) -> str:
        ident = self.ids.get(node)
        if ident is None:
            return shown_array(node.numpy())
        if ident in self._expressions:
            text, inner = self._expressions[ident]
            for user, names in inner.items():
                known = sources.setdefault(user, [])
                known += [name for name in names if name not in known]
            return text
        if ident in self._roles:
            name, user = self._roles[ident]
            if name not in sources.setdefault(user, []):
                sources[user].append(name)
            return name
        return shown_array(node.numpy())
