"""`Ids`: the ids of nodes in the browser. A node keeps its id from stage to stage."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from byoc_lab.lab.tracing.neighbourhood import Neighbourhood
from byoc_lab.lab.tracing.nodes import has_origin, nodes_of
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.analysis.annotations import is_annotation, skip_annotations
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

BOXLESS = (Constant, Tuple, TupleGetItem)  # drawn inside the boxes of other nodes


class Ids:
    """The ids of nodes. Copies of a variable share an id, because InferType copies variables."""

    def __init__(self) -> None:
        self._ids: dict[Hashable, str] = {}
        self._doubles: dict[str, str] = {}  # id -> the id of a further node there
        self._made = 0
        self._rounds: set[Round] = set()  # rounds whose roots have ids

    def copy(self) -> Ids:
        """A copy of the ids; later additions to one do not affect the other."""
        made = Ids()
        made._ids, made._doubles = dict(self._ids), dict(self._doubles)
        made._made, made._rounds = self._made, set(self._rounds)
        return made

    @staticmethod
    def _key(node: Expr) -> Hashable:
        return node.vid if isinstance(node, Var) else node

    def get(self, node: Expr | None) -> str | None:
        return None if node is None else self._ids.get(self._key(node))

    def of(self, node: Expr) -> str:
        """The id of a node, created if it has none."""
        key = self._key(node)
        if key not in self._ids:
            self._ids[key] = self._new()
        return self._ids[key]

    def drawn(self, node: Expr) -> str | None:
        """The id of a node in the graph; None for a constant, which is shown only inside text
        lines."""
        return None if isinstance(node, Constant) else self.get(node)

    def inherit(self, node: Expr, ancestor: Expr) -> None:
        self._ids.setdefault(self._key(node), self.of(ancestor))

    def follow(self, provenance: Provenance, nodes: Iterable[Expr] | None = None) -> set[str]:
        """Give nodes the ids of the input's nodes in the same position; returns the ids of nodes
        that replaced a node. nodes: by default those of the result.

        Any other node corresponds to the input node with the same id. If several nodes have the
        position of one node, the first gets the id of this node, and each of the others an
        additional id, which is equal in all states.
        """
        used: set[str] = set()
        replaced: set[str] = set()
        created: list[tuple[Expr, Expr]] = []
        for node in provenance.positions if nodes is None else nodes:
            first = provenance.position(node)
            if provenance.is_input(first):
                self._assign(node, self.of(first), used)
            else:
                created.append((node, first))
        for node, first in created:
            old = provenance.replaced.get(first)
            known = self.get(first) or (self.of(old) if old is not None else self._new())
            ident = self._assign(node, known, used)
            self._ids.setdefault(self._key(first), ident)
            if old is not None and ident == self.get(old):
                replaced.add(ident)
        return replaced

    def follow_root(self, provenance: Provenance, found: Round) -> None:
        """Give ids to the nodes of a round's root, once, because events refer to them."""
        if found not in self._rounds:
            self._rounds.add(found)
            self.follow(provenance, filter(has_origin, post_order(found.root)))

    def follow_part(self, part: Neighbourhood) -> set[str]:
        """As `follow_root`, for the part around a rewrite; the nodes of its round's root already
        have ids."""
        used: set[str] = set()
        replaced: set[str] = set()
        created: list[tuple[Expr, Expr]] = []
        for node in nodes_of(part.module):
            origin = part.origins.get(node)
            if origin is None or origin in part.part.given:
                continue
            if origin in part.kept:
                self._assign(node, self.of(part.kept[origin]), used)
            else:
                created.append((node, origin))
        for node, origin in created:
            old = self.get(part.made_for.get(origin))
            known = self.get(origin) or old or self._new()
            ident = self._assign(node, known, used)
            self._ids.setdefault(self._key(origin), ident)
            if ident == old:
                replaced.add(ident)
        return replaced

    def marked(
        self, event: Event, replaced: set[str], before: IRModule, after: IRModule
    ) -> set[str]:
        """The ids of the nodes to mark for a rewrite: the replacements and the functions that they
        call, the result of a replaced function, and annotations that the rewrite changed.
        Constants, tuples, projections and removed annotations have no boxes, so their users are
        marked instead; without users, they are marked themselves.

        replaced: the result of `follow` for the states before and after the rewrite.
        """
        made = {node for node in nodes_of(after) if self.get(node) in replaced}
        if any(not isinstance(skip_annotations(node), BOXLESS) for node in made):
            functions = {gv.name_hint: func for gv, func in after.functions.items()}
            ends = [f.body for f in functions.values() if f in made and "Compiler" not in f.attrs]
            ops = (node.op for node in made if isinstance(node, Call))
            called = [functions.get(op.name_hint) for op in ops if isinstance(op, GlobalVar)]
            drawn = (*map(skip_annotations, (*made, *ends)), *called)
            return replaced.union(*map(self._shown, drawn))
        if not made and not is_annotation(event.before):
            if isinstance(event.after, GlobalVar):  # the rewrite renamed a function
                return self._renamed(event.after.name_hint, after)
            return self._shown(event.after)
        gone = self._shown(event.before)
        taken = made or {node for node in nodes_of(before) if self.get(node) in gone}
        found, through = set(replaced), set(taken)
        for node in nodes_of(after if made else before):  # operands come first
            if any(part in through for part in node.parts()):
                if is_annotation(node) or isinstance(node, BOXLESS):
                    through.add(node)
                else:
                    found |= self._shown(node)
        if found - replaced or event.before is None:
            return found
        return found | self._shown(skip_annotations(event.before))

    def _renamed(self, name: str, mod: IRModule) -> set[str]:
        """The ids of a global function. In a part of a module, where the function has no ids: the
        ids of its calls."""
        functions = [func for gv, func in mod.functions.items() if gv.name_hint == name]
        calls = [n for n in nodes_of(mod) if isinstance(n, Call) and _calls(n, name)]
        shown = (set().union(*map(self._shown, nodes)) for nodes in (functions, calls))
        return next(filter(None, shown), set())

    def share(
        self, pairs: Iterable[tuple[Expr, Expr]], first: Iterable[Expr], second: Iterable[Expr]
    ) -> bool:
        """Give the nodes of the second module the ids of their partners in the first, and all other
        nodes ids that the first module does not use. Returns whether an id changed.

        Nodes that are in both modules keep their ids.
        """
        used = {self._key(x): self.of(x) for x in first}
        partners = {self._key(y): ident for x, y in pairs if (ident := used.get(self._key(x)))}
        taken = set(used.values())
        changed = False
        for y in second:
            key = self._key(y)
            known = self._ids.get(key)
            wanted = partners.get(key)
            if key in used or (known == wanted if wanted else known and known not in taken):
                continue
            self._ids[key] = wanted or self._new()
            changed = True
        return changed

    def _assign(self, node: Expr, ident: str, used: set[str]) -> str:
        if not isinstance(node, Var):  # copies of a variable share one id
            while ident in used:
                if ident not in self._doubles:
                    self._doubles[ident] = self._new()
                ident = self._doubles[ident]
            used.add(ident)
        return self._ids.setdefault(self._key(node), ident)

    def _shown(self, node: Expr | None) -> set[str]:
        """The ids of a node: its own id and, for a call of a composite, the id of the function,
        which is drawn in its place."""
        function = node.op if isinstance(node, Call) and isinstance(node.op, Function) else None
        return {ident for each in (node, function) if (ident := self.get(each)) is not None}

    def _new(self) -> str:
        self._made += 1
        return f"n{self._made}"


def _calls(call: Call, name: str) -> bool:
    return isinstance(call.op, GlobalVar) and call.op.name_hint == name
