"""The driver of CombineParallelConv2D and similar passes: merges operators that read the same
value.

y1 = op(x, w1); y2 = op(x, w2)  ->  y = op(x, w1 and w2); y1, y2 = parts of y

The elementwise and broadcasting operators after them are merged as well, as far as they are the
same in all branches. A branch ends at a result with more than one user.

Source: src/relay/transforms/combine_parallel_op.cc of TVM 0.16. If one branch depends on another
branch, they are unchanged (TVM's recursion never ends).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from byoc_lab import relay
from byoc_lab.passes.framework.hook import keeps_in, report
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op, Tuple
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order, with_mapped_parts
from byoc_lab.relay.op.framework.registry import OpPattern

Branch = list[Call]  # the operator, then its followers
Group = list[Branch]
New = Callable[[Expr], Expr]  # maps a node to its replacement


def shape_of(expr: Expr) -> tuple[Any, ...]:
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty.shape


def dtype_of(expr: Expr) -> str:
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    return ty.dtype


def concatenated(parts: Sequence[Expr], axis: int) -> Expr:
    return relay.concatenate(Tuple(list(parts)), axis=axis)


def cut(whole: Expr, axis: int, lengths: Sequence[int], rank: int) -> list[Expr]:
    """`whole` in consecutive pieces of these sizes along `axis`; rank: the number of axes that the
    slices name."""
    pieces, begin = [], 0
    for length in lengths:
        starts, sizes, strides = [0] * rank, [-1] * rank, (1,) * rank
        starts[axis], sizes[axis] = begin, length
        pieces.append(
            relay.strided_slice(whole, tuple(starts), tuple(sizes), strides, slice_mode="size")
        )
        begin += length
    return pieces


def axis_after(branch: Branch, axis: int) -> int | None:
    """The axis of the last operator's result that corresponds to `axis` of the first operator's
    result; None if concatenating branches on that axis would change the shape or meaning of the
    followers.
    """
    for before, call in pairwise(branch):
        old, new = shape_of(before), shape_of(call)
        if call.op_name in ("broadcast_to", "trilu"):
            return None
        if len(call.args) > 1 and axis != len(old) - 1:
            return None
        moved = axis + len(new) - len(old)
        if call.is_op("expand_dims"):
            first = call.attrs.axis + (len(old) + 1 if call.attrs.axis < 0 else 0)
            moved = axis if axis < first else moved
        if new[moved] != old[axis]:
            return None
        axis = moved
    return axis


class Combiner(ABC):
    """Combines the branches of one operator. Types are those before the pass."""

    op: str

    def supports(self, call: Call) -> bool:
        """Whether a call may be combined at all."""
        return True

    @abstractmethod
    def fit(self, a: Call, b: Call) -> bool:
        """Whether two calls on the same data may be combined."""

    def follows(self, branch: Branch) -> bool:
        """Whether the last operator of a branch can follow the combined ones before it."""
        return True

    @abstractmethod
    def combined(self, calls: list[Call], new: New) -> Expr:
        """One call in place of several."""

    @abstractmethod
    def arguments_fit(self, first: Call, a: Call, b: Call, index: int) -> bool:
        """Whether an argument of two followers can be combined. first: the group's first call."""

    @abstractmethod
    def argument(self, first: Call, calls: list[Call], index: int, parent: int, new: New) -> Expr:
        """An argument of the merged follower; `parent` is the index of the argument that its branch
        computes."""

    @abstractmethod
    def parts(self, whole: Expr, branches: Group) -> list[Expr]:
        """The result of each branch."""


class CombineParallel(FunctionPass):
    """Combine operators that read the same data, if at least `min_num_branches` do."""

    opt_level = 4
    required = ("InferType",)

    def __init__(self, min_num_branches: int = 3):
        self.min_num_branches = min_num_branches

    @abstractmethod
    def combiner(self) -> Combiner:
        """The object that combines the operators."""

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        combiner = self.combiner()
        found = [g for g in _groups(func, combiner) if len(g) >= self.min_num_branches]
        if not found:
            return func
        return _Rewriter(func, combiner, [_Plan(combiner, group) for group in found]).run()


def _groups(func: Function, combiner: Combiner) -> list[Group]:
    op = Op.get(combiner.op)
    followers: dict[Expr, list[Call]] = {}
    roots: dict[Expr, list[Call]] = {}
    for node in post_order(func):
        if isinstance(node, Call) and node.op is op and combiner.supports(node):
            followers.setdefault(node.args[0], []).append(node)
            roots.setdefault(node.args[0], []).append(node)
        elif isinstance(node, Call):
            for arg in node.args:
                followers.setdefault(arg, []).append(node)
    groups: list[Group] = []
    for calls in roots.values():
        own: list[Group] = []
        for call in calls:
            fitting = (g for g in own if combiner.fit(call, g[0][0]))
            group = next(fitting, None)
            if group is None:
                own.append(group := [])
            group.append(_branch(call, followers))
        groups += own
    return groups


def _branch(call: Call, followers: dict[Expr, list[Call]]) -> Branch:
    branch = [call]
    while True:
        behind = followers.get(branch[-1], [])
        if len(behind) != 1 or not isinstance(behind[0].op, Op):
            return branch
        pattern = behind[0].op.get_attr("TOpPattern")
        if pattern is None or pattern > OpPattern.BROADCAST:
            return branch
        branch.append(behind[0])


class _Plan:
    """A group, with branches cut to their common prefix."""

    def __init__(self, combiner: Combiner, group: Group):
        self.combiner = combiner
        self.first = group[0][0]
        self.parents: list[int] = []  # per follower: index of the argument from its branch
        depth = 1
        while depth < min(map(len, group)):
            parent = group[0][depth].args.index(group[0][depth - 1])
            if not self._same(group, depth, parent):
                break
            self.parents.append(parent)
            depth += 1
        self.branches = [branch[:depth] for branch in group]
        self.outputs = [branch[-1] for branch in self.branches]
        self._results: dict[Expr, Expr] | None = None

    def _same(self, group: Group, depth: int, parent: int) -> bool:
        a = group[0][depth]
        if not all(self.combiner.follows(branch[: depth + 1]) for branch in group):
            return False
        for branch in group[1:]:
            b = branch[depth]
            if b.op is not a.op or b.attrs != a.attrs or len(b.args) != len(a.args):
                return False
            if b.args[parent] is not branch[depth - 1]:
                return False
            others = (n for n in range(len(a.args)) if n != parent)
            if not all(self.combiner.arguments_fit(self.first, a, b, n) for n in others):
                return False
        return True

    def needs(self) -> list[Expr]:
        """The operands of the combined operators."""
        inside = {call for branch in self.branches for call in branch}
        args = (arg for branch in self.branches for call in branch for arg in call.args)
        return list(dict.fromkeys(arg for arg in args if arg not in inside))

    def result(self, output: Expr, new: New) -> Expr:
        """The replacement for the last operator of a branch."""
        if self._results is None:
            whole = self.combiner.combined([b[0] for b in self.branches], new)
            for depth, parent in enumerate(self.parents, 1):
                whole = self._follower([b[depth] for b in self.branches], parent, whole, new)
            parts = self.combiner.parts(whole, self.branches)
            self._results = dict(zip(self.outputs, parts, strict=True))
        return self._results[output]

    def _follower(self, calls: list[Call], parent: int, data: Expr, new: New) -> Expr:
        args = [
            data if n == parent else self.combiner.argument(self.first, calls, n, parent, new)
            for n in range(len(calls[0].args))
        ]
        return Call(calls[0].op, args, calls[0].attrs)


class _Rewriter:
    def __init__(self, func: Function, combiner: Combiner, plans: list[_Plan]):
        self.func, self.op, self.plans = func, combiner.op, plans

    def run(self) -> Function:
        order = self._order()
        while isinstance(order, _Plan):  # the plan depends on its own result
            self.plans.remove(order)
            order = self._order()
        plan_of = self._plan_of()
        made: dict[Expr, Expr] = {}
        keeps_in(made)
        for node in order:
            plan = plan_of.get(node)
            if plan is None:
                made[node] = with_mapped_parts(node, made)
                continue
            made[node] = plan.result(node, made.__getitem__)
            reason = f"{len(plan.branches)} calls of {self.op} read the same data"
            report("combine", reason, node, made[node])
        func = made[self.func]
        assert isinstance(func, Function)
        return func

    def _plan_of(self) -> dict[Expr, _Plan]:
        return {output: plan for plan in self.plans for output in plan.outputs}

    def _order(self) -> list[Expr] | _Plan:
        """The nodes and plans, operands first; or a plan that depends on its own result."""
        plan_of = self._plan_of()
        needs = {plan: plan.needs() for plan in self.plans}
        active: dict[Expr | _Plan, None] = {}
        finished: set[Expr] = set()
        order: list[Expr] = []
        stack: list[tuple[Expr, bool]] = [(self.func, False)]
        while stack:
            node, done = stack.pop()
            if node in finished:
                continue
            plan = plan_of.get(node)
            if done:
                del active[plan or node]
                finished.add(node)
                order.append(node)
                continue
            if (plan or node) in active:
                return plan or _last_plan(active)
            active[plan or node] = None
            stack.append((node, True))
            parts = node.parts() if plan is None else needs[plan]
            stack += [(p, False) for p in reversed(parts) if p not in finished]
        return order


def _last_plan(active: dict[Expr | _Plan, None]) -> _Plan:
    return next(key for key in reversed(active) if isinstance(key, _Plan))
