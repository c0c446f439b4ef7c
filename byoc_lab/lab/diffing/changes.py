"""Classification of differences: added, removed, moved, outlined, annotated, and so on.

A consequence of a change is not a separate change. The user of an added node has a new operand
because of that node; an annotation disappears because its region became a function; and wrappers
that only pass a value on may appear or disappear without changing the users of the value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from byoc_lab.lab.diffing.flow import (
    Flow,
    group_name,
    is_group,
    label,
    own_fields,
    typed,
    types_differ,
)
from byoc_lab.lab.diffing.matching import Correspondence
from byoc_lab.lab.diffing.module_changes import function_changes, literal_changes, module_changes
from byoc_lab.lab.diffing.ordering import longest_increasing
from byoc_lab.lab.diffing.records import Change, attributes_text
from byoc_lab.relay.analysis.annotations import BEGIN, compiler_of, is_annotation
from byoc_lab.relay.analysis.structural import first_difference
from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)

_SILENT = (Op, GlobalVar, Constant, Var)  # their changes are reported at their users


def changes_of(found: Correspondence) -> list[Change]:
    """The differences of two modules that are not structurally equal; never empty."""
    changes = list(_Classifier(found).all())
    if not changes:
        difference = first_difference(found.before.mod, found.after.mod)
        assert difference is not None, "asked for the changes of equal modules"
        text = f"{difference.why}, at {difference.path}"
        changes.append(Change("operands", text, None, None, "node"))
    return changes


class _Classifier:
    def __init__(self, found: Correspondence):
        self.found, self.before, self.after = found, found.before, found.after
        # function literals reported as changes because nodes moved into them
        self.groups: set[Expr] = set()
        self.occupied: set[str] = set()  # global functions reported because nodes moved
        self.outlined = False
        self._globals: dict[Expr, str] = {
            f: gv.name_hint
            for flow in (self.before, self.after)
            for gv, f in flow.mod.functions.items()
        }

    def all(self) -> Iterator[Change]:
        inside: list[Change] = []
        pairs = self.found.pairs()
        for x, y in pairs:
            inside += self.moves(x, y)
        inside += self.order_of_lets(pairs)
        for x, y in pairs:
            inside += self.pair(x, y)
        for y in self.after.order:
            if y not in self.found.to_before:
                inside += self.lone("added", self.after, y)
        for x in self.before.order:
            if x not in self.found.to_after:
                inside += self.lone("removed", self.before, x)
        yield from module_changes(self.found)
        yield from function_changes(self.found, self.occupied)
        yield from inside

    # ---- nodes with a partner -----------------------------------------------------------------

    def moves(self, x: Expr, y: Expr) -> Iterator[Change]:
        """Whether the node is now in a different function or group."""
        if isinstance(x, (*_SILENT, Function)):
            return
        noun = _noun(y)
        home, there = self.before.home[x], self.after.home[y]
        if self.found.functions.get(home) != there:
            self.occupied |= {home, there}
            kind = "outlined" if "Compiler" in self.after.mod[there].attrs else "moved"
            self.outlined |= kind == "outlined"
            place = f"@{there}"
            yield Change(kind, f"{describe(y)} into {place}", x, y, noun, place)
        old, new = self.before.group[x], self.after.group[y]
        went = self.found.to_after.get(old) if old is not None else None
        if went is new and (old is None) == (new is None):
            return
        self.groups |= {g for g in (old, new) if g is not None}
        if new is not None:
            place = group_name(new)
            yield Change("composed", f"{describe(y)} into {place}", x, y, noun, place)
        elif self.found.functions.get(home) == there:
            yield Change("moved", f"{describe(y)} into @{there}", x, y, noun, f"@{there}")

    def order_of_lets(self, pairs: list[tuple[Expr, Expr]]) -> Iterator[Change]:
        """Lets that are now evaluated earlier or later than other lets."""
        place = {x: n for n, x in enumerate(self.before.order)}
        lets = [(x, y) for x, y in pairs if isinstance(y, Let)]
        kept = set(longest_increasing([place[x] for x, _ in lets]))
        for n, (x, y) in enumerate(lets):
            home = self.after.home[y]
            if n not in kept and self.found.functions.get(self.before.home[x]) == home:
                text = f"{describe(y)} within @{home}"
                yield Change("moved", text, x, y, "let", f"a different position in @{home}")

    def pair(self, x: Expr, y: Expr) -> Iterator[Change]:
        """The differences of a corresponding pair of nodes: only the first difference, but every
        difference of a variable."""
        if isinstance(x, Var) and isinstance(y, Var):
            name = f"variable %{y.name_hint}"
            if x.type_annotation != y.type_annotation:
                text = f"{name}: {x.type_annotation} to {y.type_annotation}"
                yield Change("type", text, x, y, "variable")
            if x.device != y.device:
                yield Change("attribute", f"device of {name}", x, y, "variable")
        elif isinstance(x, Function) and isinstance(y, Function):
            if self.operand(self.before.value[x.body], self.after.value[y.body]):
                yield Change("operands", f"result of {self.name(y)}", x, y, "function")
            if x not in self._globals:
                yield from literal_changes(self.found, x, y, self.name(y))
        elif not isinstance(x, _SILENT) and x is not y:
            kind, text = self.difference(x, y)
            if kind:
                yield Change(kind, f"{describe(y)}{text}", x, y, _noun(y))

    def name(self, function: Function) -> str:
        name = self._globals.get(function)
        return describe(function) if name is None else f"@{name}"

    def difference(self, x: Expr, y: Expr) -> tuple[str, str]:
        """The kind of the difference of a pair, "" for none, and its text."""
        if isinstance(x, Call) and isinstance(y, Call) and x.attrs != y.attrs:
            return "attribute", f": {attributes_text(x.attrs, y.attrs)}"
        if own_fields(x) != own_fields(y):
            return "attribute", ""
        real = self.before.is_real(x) and self.after.is_real(y)
        kinds = (
            {self.operand(p, q) for p, q in _zip(self.before.operands(x), self.after.operands(y))}
            if real
            else set()
        )
        passed = slice(2) if isinstance(x, Let) else slice(None)  # see `order_of_lets`
        kinds |= {self.edge(p, q) for p, q in _zip(x.parts()[passed], y.parts()[passed])}
        if len(x.parts()) != len(y.parts()):
            kinds.add("operands")
        if "operands" in kinds:
            return "operands", ""
        if "constant" in kinds:
            return "constant", ": a constant has another value"
        if real and types_differ(x, y):
            operands = _zip(self.before.operands(x), self.after.operands(y))
            # if operand types differ, the new type is their consequence
            if not any(types_differ(p, q) for p, q in operands):
                return "type", f": {typed(x)} to {typed(y)}"
        return "", ""

    def operand(self, p: Expr, q: Expr) -> str:
        """The kind of an operand change, "" for none or for a consequence of other changes."""
        if self.found.corresponds(p, q):
            return ""
        if isinstance(p, Constant) and isinstance(q, Constant):
            return "constant"
        if isinstance(p, GlobalVar) or isinstance(q, GlobalVar):
            return "operands"
        return "" if self.found.may_replace(p, q) else "operands"

    def edge(self, p: Expr, q: Expr) -> str:
        """As `operand`, for an operand together with the wrappers that pass it on."""
        if p is q or self.found.to_after.get(p) is q or isinstance(p, _SILENT):
            return ""
        if self.before.is_real(p) and self.after.is_real(q):
            return ""  # real nodes are compared as operands
        if p not in self.found.to_after or q not in self.found.to_before:
            return ""  # a node added or removed here is a separate change
        same = self.found.to_after.get(self.before.value[p]) is self.after.value[q]
        return "" if same and label(p) == label(q) else "operands"

    # ---- nodes without a partner --------------------------------------------------------------

    def lone(self, kind: str, flow: Flow, node: Expr) -> Iterator[Change]:
        if isinstance(node, _SILENT) or node in self._globals or self.is_implied(flow, node):
            return
        preposition = "in" if kind == "added" else "from"
        text = f"{describe(node)} {preposition} @{flow.home[node]}"
        noun = _noun(node)
        if is_annotation(node):
            kind = "annotated" if kind == "added" else kind
            noun = f"annotation for {compiler_of(node)}"
        is_new = flow is self.after
        yield Change(kind, text, None if is_new else node, node if is_new else None, noun)

    def is_implied(self, flow: Flow, node: Expr) -> bool:
        """Whether the addition or removal of the node is a consequence of other changes."""
        if isinstance(node, Function):
            return node in self.groups or node in flow.inlined
        if isinstance(node, Call) and isinstance(node.op, Function):
            return node.op in self.groups
        if isinstance(node, (TupleGetItem, Tuple)) and flow.value[node] is not node:
            whole = flow.value[node.tuple_value] if isinstance(node, TupleGetItem) else node
            return not isinstance(whole, Tuple) or not node.parts()  # a copy of a projection
        return is_annotation(node) and flow is self.before and self.became_boundary(node)

    def became_boundary(self, annotation: Call) -> bool:
        """Whether an annotation is gone because PartitionGraph turned the regions into
        functions."""
        compiler = compiler_of(annotation)
        if not self.outlined or compiler == "default":
            return self.outlined
        inside: list[Expr] = [annotation]
        if annotation.is_op(BEGIN):
            inside = self.users_of_begins.get(annotation, [])
        values = [self.before.value[x] for x in inside]
        values += [v for x in values if isinstance(x, Tuple) for v in self.before.operands(x)]
        partners = map(self.found.to_after.get, values)
        functions = [self.after.mod[self.after.home[y]] for y in partners if y is not None]
        return any(f.attrs.get("Compiler") == compiler for f in functions)

    @cached_property
    def users_of_begins(self) -> dict[Expr, list[Expr]]:
        users: dict[Expr, list[Expr]] = {}
        for node in self.before.order:
            for part in node.parts():
                if is_annotation(part, BEGIN):
                    users.setdefault(part, []).append(node)
        return users


_NOUNS = {
    Call: "call",
    Tuple: "tuple",
    TupleGetItem: "projection",
    Let: "let",
    Function: "function literal",
    If: "if",
    Match: "match",
}


def _noun(node: Expr) -> str:
    if isinstance(node, Call) and isinstance(node.op, Function) and is_group(node.op):
        return "composite"
    return _NOUNS.get(type(node), "node")


def _zip(mine: Sequence[Expr], theirs: Sequence[Expr]) -> list[tuple[Expr, Expr]]:
    """Pairs the operands of two nodes by position; none if their numbers of operands differ."""
    return list(zip(mine, theirs, strict=True)) if len(mine) == len(theirs) else []
