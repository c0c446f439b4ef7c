"""`nearby`: a call and its surroundings as a separate module.

Whether a change offloads a call usually depends on a few operators around it. In a large module, a
change is first tried on this part, and on the whole module only if it helps there. The part
consists of the first `NEAR` nodes reached from the call along operands and users. Values from
outside become parameters, and values used outside become results, so they keep their outside users.
Constant expressions are always included, because they can be folded.

The cost is linear in the module once (users and constants), then linear in the part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from byoc_lab.errors import TypeInferenceError
from byoc_lab.lab.explaining.outcome import typed_calls
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import is_dataflow, post_order, rebuild, users

NEAR = 20
"""Number of nodes in a part; modules with less than twice as many are tried whole."""
_LEAVES = (Constant, GlobalVar, Op, Var)


@dataclass(frozen=True, eq=False)
class Surroundings:
    """The properties of a module that `nearby` needs: the users of each node, and the constant
    expressions."""

    main: Function
    users: Mapping[Expr, list[Expr]]
    constant: frozenset[Expr]
    _labels: dict[Expr, int] = field(default_factory=dict)
    _numbers: dict[Hashable, int] = field(default_factory=dict)

    @classmethod
    def of(cls, mod: IRModule) -> Surroundings | None:
        """Returns None for a module that is small, or that is not just the dataflow of @main."""
        main = mod["main"] if "main" in mod and len(mod.functions) == 1 else None
        nodes = list(post_order(main.body)) if main is not None else []
        if main is None or len(nodes) < 2 * NEAR or not all(map(_is_simple, nodes)):
            return None
        return cls(main, users(main), computed_from_constants(nodes))

    def part(self, call: Call) -> tuple[IRModule, Call] | None:
        """The part around a call, typed, and the call in it. None if a value from outside is
        untyped, for example after an edited call, or if an edited call in the part is ill-typed."""
        near = self._near(call)
        memo: dict[Expr, Expr] = {}
        parts = (part for node in near for part in node.parts())
        for part in parts:
            inside = part in near or part in self.constant or isinstance(part, _LEAVES)
            if not inside and part not in memo:
                if not part.is_typed:
                    return None
                memo[part] = Var(f"outside{len(memo)}", part.checked_type)
        roots = [
            n
            for n in near
            if n is self.main.body or any(u not in near for u in self.users.get(n, ()))
        ]
        made = [rebuild(root, lambda pre, post: post, memo=memo) for root in roots or [call]]
        body = made[0] if len(made) == 1 else Tuple(made)
        mod = IRModule.from_expr(body)
        try:
            typed, calls = typed_calls(mod)
        except TypeInferenceError:  # an ill-typed edit: the whole module fails in the same way
            return None
        copy = memo[call]
        assert isinstance(copy, Call)
        return typed, calls[copy]

    def likeness(self, call: Call) -> Hashable:
        """A key that is equal for calls with similar parts: equal operators, attributes, types,
        scalar constants and edges. Values of other constants may differ."""
        near = self._near(call)  # the call first, then other nodes by distance
        number = {node: n for n, node in enumerate(near)}
        return tuple(
            (
                self._label(node),
                tuple(number[p] if p in number else -1 - self._label(p) for p in node.parts()),
                node is self.main.body,
                sum(user not in number for user in self.users.get(node, ())),
            )
            for node in near
        )

    def _label(self, node: Expr) -> int:
        """A number for the properties of a node, without its operands."""
        if node not in self._labels:
            found: list[Hashable] = [type(node).__name__]
            if isinstance(node, Op):
                found.append(node.name)
            elif node.is_typed:
                found.append(node.checked_type)
            if isinstance(node, Call):
                found.append(node.attrs)
            elif isinstance(node, TupleGetItem):
                found.append(node.index)
            elif isinstance(node, Constant) and node.data.view().ndim == 0:
                found.append(repr(node.data.view().item()))
            self._labels[node] = self._numbers.setdefault(tuple(found), len(self._numbers))
        return self._labels[node]

    def _near(self, call: Call) -> dict[Expr, None]:
        near: dict[Expr, None] = {call: None}
        queue: deque[Expr] = deque([call])
        while queue and len(near) < NEAR:
            node = queue.popleft()
            for other in (*node.parts(), *self.users.get(node, ())):
                if other in near or other in self.constant or isinstance(other, _LEAVES):
                    continue
                if other is not self.main:
                    near[other] = None
                    queue.append(other)
        return near


def computed_from_constants(nodes: Iterable[Expr]) -> frozenset[Expr]:
    """The constant expressions among some nodes, which are given operands first."""
    found: set[Expr] = set()
    for node in nodes:
        parts = node.parts()
        if isinstance(node, (Constant, Op)) or (parts and found.issuperset(parts)):
            found.add(node)
    return frozenset(found)


def _is_simple(node: Expr) -> bool:
    if isinstance(node, Call):
        return isinstance(node.op, Op)
    return is_dataflow(node) or isinstance(node, _LEAVES)
