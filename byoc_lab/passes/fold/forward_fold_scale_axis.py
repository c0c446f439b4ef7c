"""ForwardFoldScaleAxis: a scale before a convolution or dense moves into its weight."""

from __future__ import annotations

from dataclasses import dataclass, replace

from byoc_lab import relay
from byoc_lab.passes.fold.scale_axis import (
    ADD_SUB,
    CONV,
    RELU,
    ScaleRequest,
    along,
    as_scale,
    computed_by_weighted,
    fits,
    input_axes,
    matches,
    shown,
)
from byoc_lab.passes.framework.hook import copies_in, is_heard, keeps_in, report
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class ForwardFoldScaleAxis(FunctionPass):
    """A scale before a convolution or dense moves into its weight.

    `nn.conv2d(multiply(%x, %s), %w)` -> `nn.conv2d(%x, multiply(%w, %s'))`, also if relu,
    leaky_relu, add or subtract are in between (the other operand of add and subtract is divided by
    the scale). Not changed: scales that one user of the scaled value cannot absorb, and the cases
    that BackwardFoldScaleAxis does not change. If the function has an operator that could absorb a
    scale, projections of literal tuples are also replaced by the fields, as in TVM.

    computed: whether to move scales that a convolution or dense computes, such as the channel
    weights in squeeze-and-excitation. TVM moves them; the weight then depends on the input, so that
    a kernel cannot reorder it ahead of time.

    Source: src/relay/transforms/fold_scale_axis.cc of TVM 0.16.
    """

    opt_level = 3
    required = ("InferType",)

    def __init__(self, computed: bool = True):
        self.computed = computed

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return _Forward(func, self.computed).run()


@dataclass(frozen=True, eq=False)
class _Scaled:
    """A rewritten value that still has to be multiplied by `scale` along `axes`.

    multiply: the call that applied the scale originally. factor: its operand that is the scale.
    """

    value: Expr
    axes: tuple[int, ...]
    scale: Expr
    multiply: Call
    factor: Expr


class _Forward:
    def __init__(self, func: Function, computed: bool):
        self.func, self.computed = func, computed
        self.kept: set[Expr] = set()  # scales that are not moved
        self.messages: dict[Expr, ScaleRequest | None] = {}
        self.memo: dict[Expr, Expr] = {}
        self.scaled: dict[Expr, _Scaled] = {}
        # Operator between a scale and the operator that absorbs it -> its copy on the unscaled
        # operand.
        self.passed: dict[Expr, Expr] = {}

    def run(self) -> Function:
        nodes = list(post_order(self.func))
        if not self.computed:
            self.kept = computed_by_weighted(nodes)
        for node in reversed(nodes):  # users before operands: users decide which scales they accept
            for part, message in zip(node.parts(), self._wishes(node), strict=True):
                # A function does not use its parameters.
                if not (isinstance(node, Function) and part in node.params):
                    self._agree(part, message)
        if not any(self.messages.values()):
            return self.func
        keeps_in(self.memo)
        copies_in(self.passed)
        for node in nodes:
            self._rewrite(node)
        result = self.memo[self.func]
        assert isinstance(result, Function)
        return result

    def _agree(self, node: Expr, message: ScaleRequest | None) -> None:
        """The scale that all users of a value can absorb; None if one cannot."""
        before = self.messages.get(node)
        if node in self.messages and (before is None or message is None):
            message = None
        elif before is not None and message is not None:
            positive = before.require_positive or message.require_positive
            same = before.axes == message.axes
            message = ScaleRequest(before.axes, positive) if same else None
        self.messages[node] = message

    def _wishes(self, node: Expr) -> list[ScaleRequest | None]:
        """For each part of a node, the scale on that part that the node could absorb."""
        wishes: list[ScaleRequest | None] = [None] * len(node.parts())
        if not (isinstance(node, Call) and isinstance(node.op, Op)):
            return wishes
        own = self.messages.get(node)
        name = node.op.name
        if name in CONV:
            axes = input_axes(node)
            wishes[1] = ScaleRequest(axes.channels) if axes else None
        elif name == "nn.dense":
            wishes[1] = ScaleRequest((1,))
        elif name in RELU and own:
            wishes[1] = own.positive()
        elif name in ADD_SUB and own:
            left, right = (a.checked_type for a in node.args)
            if matches(left, right, own.axes):
                wishes[1] = own
            elif matches(right, left, own.axes):
                wishes[2] = own
        return wishes

    def _rewrite(self, node: Expr) -> None:
        if isinstance(node, Call) and isinstance(node.op, Op):
            if node.op.name == "multiply" and self._split(node):
                return
            if any(a in self.scaled for a in node.args) and self._take(node):
                return
        parts = node.parts()
        new = [self._plain(p) for p in parts]
        if isinstance(node, TupleGetItem) and isinstance(new[0], Tuple):
            self.memo[node] = new[0].fields[node.index]
            report("pick field", "a field of a literal tuple is that field", node, self.memo[node])
            return
        same = all(a is b for a, b in zip(parts, new, strict=True))
        self.memo[node] = node if same else node.with_parts(new)

    def _plain(self, part: Expr) -> Expr:
        """The rewritten part, multiplied by its scale if no user absorbed it."""
        if part not in self.memo:
            s = self.scaled[part]
            self.memo[part] = relay.multiply(s.value, along(s.scale, part.checked_type, s.axes))
            report("keep scale", "a user cannot absorb it", part, self.memo[part])
        return self.memo[part]

    def _split(self, call: Call) -> bool:
        message = self.messages.get(call)
        if message is None or any(a in self.scaled for a in call.args):
            return False
        for value, factor in (call.args, call.args[::-1]):
            ty = factor.checked_type
            scale = as_scale(value.checked_type, self._plain(factor), ty, message.axes)
            if scale is not None and factor not in self.kept and fits(message, scale):
                plain = self._plain(value)
                self.scaled[call] = _Scaled(plain, message.axes, scale, call, factor)
                return True
        return False

    def _take(self, call: Call) -> bool:
        name = call.op_name
        if name in RELU:
            s = self.scaled[call.args[0]]
            self._pass_on(call, s, [s.value])
            return True
        if name in ADD_SUB:
            return self._divide_other(call)
        if call.args[0] not in self.scaled or call.args[1] in self.scaled:
            return False
        if name in CONV:
            axes = input_axes(call)
            assert axes is not None  # otherwise it would not have requested the scale
            scale = self.scaled[call.args[0]].scale
            factor = along(scale, call.args[1].checked_type, axes.weight)
        elif name == "nn.dense":
            factor = self.scaled[call.args[0]].scale
        else:
            return False
        weight = relay.multiply(self._plain(call.args[1]), factor)
        new = Call(call.op, [self.scaled[call.args[0]].value, weight], call.attrs, span=call.span)
        self._report(call, new)
        self.memo[call] = new
        return True

    def _report(self, call: Call, new: Call) -> None:
        """Report one event from the multiply to the operator that absorbs its scale: only all
        changes between them together preserve the values."""
        if is_heard():
            s = self.scaled[call.args[0]]
            reason = f"the scale {shown(s.factor)} moves into the weight of {call.op_name}"
            report("fold scale", reason, call, new, sources=[s.multiply])

    def _pass_on(self, call: Call, scaled: _Scaled, args: list[Expr]) -> None:
        value = Call(call.op, args, call.attrs, span=call.span)
        self.scaled[call] = replace(scaled, value=value)
        self.passed[call] = value

    def _divide_other(self, call: Call) -> bool:
        which = 0 if call.args[0] in self.scaled else 1
        s = self.scaled[call.args[which]]
        factor = along(s.scale, call.args[which].checked_type, s.axes)
        other = relay.divide(self._plain(call.args[1 - which]), factor)
        self._pass_on(call, s, [s.value, other] if which == 0 else [other, s.value])
        return True
