"""BackwardFoldScaleAxis: a scale after a convolution or dense moves into its weight."""

from __future__ import annotations

from typing import Any

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
    matches,
    output_axes,
    shown,
)
from byoc_lab.passes.framework.hook import is_heard, keeps_in, report
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild, users


class BackwardFoldScaleAxis(FunctionPass):
    """A scale after a convolution or dense moves into its weight.

    `multiply(nn.conv2d(%x, %w), %s)` -> `nn.conv2d(%x, multiply(%w, %s'))`, also if relu,
    leaky_relu, add, subtract or bias_add are in between. Not changed: a scale whose path has a
    value with several users, grouped convolutions that are not depthwise, layouts with both a plain
    and a blocked channel axis, and a scale that may be negative with a relu in between.

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
        return _Backward(func, self.computed).run()


class _Backward:
    def __init__(self, func: Function, computed: bool):
        self.func, self.computed = func, computed
        self.kept: set[Expr] = set()  # scales that are not moved
        self.messages: dict[Expr, ScaleRequest] = {}
        self.dropped: dict[Expr, Expr] = {}  # multiply -> the operand that absorbs the scale
        self.scale_for: dict[Expr, Expr] = {}  # node -> the scale it must absorb
        self.takers: dict[Expr, list[str]] = {}  # scale -> the operators that absorb it

    def run(self) -> Function:
        used = {n: len(u) for n, u in users(self.func).items()}
        nodes = list(post_order(self.func))
        if not self.computed:
            self.kept = computed_by_weighted(nodes)
        for node in nodes:
            if isinstance(node, Call) and isinstance(node.op, Op) and used[node] == 1:
                message = self._message(node)
                if message:
                    self.messages[node] = message
        for node in reversed(nodes):  # users first: a scale moves from a node to its operands
            if isinstance(node, Call) and isinstance(node.op, Op):
                self._pass_down(node)
        if not self.dropped:
            return self.func
        made: dict[Expr, Expr] = {}
        keeps_in(made)
        return rebuild(self.func, self._rewrite, memo=made)

    def _message(self, call: Call) -> ScaleRequest | None:
        """The scale that this call could absorb, or None."""
        name = call.op_name
        if name in CONV:
            axes = output_axes(call)
            return ScaleRequest(axes.channels) if axes else None
        if name == "nn.dense":
            return ScaleRequest((1,))
        if name in RELU:
            inner = self.messages.get(call.args[0])
            return inner.positive() if inner else None
        if name == "nn.bias_add":
            inner = self.messages.get(call.args[0])
            rank = len(call.checked_type.shape)
            return inner if inner and inner.axes == (call.attrs.axis % rank,) else None
        return self._message_of_sum(call) if name in ADD_SUB else None

    def _message_of_sum(self, call: Call) -> ScaleRequest | None:
        left, right = (self.messages.get(a) for a in call.args)
        lty, rty = (a.checked_type for a in call.args)
        if left and matches(lty, rty, left.axes):
            return left
        if right and matches(rty, lty, right.axes):
            return right
        same = left and right and left.axes == right.axes and lty.shape == rty.shape
        return left if same else None

    def _pass_down(self, call: Call) -> None:
        name = call.op_name
        scale = self.scale_for.get(call)
        if scale is None:
            if name == "multiply":
                self._start(call)
        elif name in RELU or name == "nn.bias_add":
            self.scale_for[call.args[0]] = scale
        elif name in ADD_SUB:
            for arg in call.args:
                if arg in self.messages:
                    self.scale_for[arg] = scale

    def _start(self, call: Call) -> None:
        for taker, factor in (call.args, call.args[::-1]):
            message = self.messages.get(taker)
            if message is None:
                continue
            ty = factor.checked_type
            # As in TVM, the factor is not rewritten. If another scale moves into a subexpression
            # that it shares with `taker`, that subexpression is computed twice.
            scale = as_scale(taker.checked_type, factor, ty, message.axes)
            if scale is not None and factor not in self.kept and fits(message, scale):
                self.dropped[call] = taker
                self.scale_for[taker] = scale
            return  # only the first operand with a message is tried

    def _rewrite(self, pre: Any, post: Any) -> Expr:
        if pre in self.dropped:
            taker = self.dropped[pre]
            kept = post.args[pre.args.index(taker)]
            if is_heard():
                report("fold scale", self._reason(pre), pre, kept, sources=[pre])
            return kept
        if pre not in self.scale_for:
            return post
        assert isinstance(pre, Call) and isinstance(post, Call)
        new = self._scaled(pre, post, self.scale_for[pre])
        if new is not post:
            self.takers.setdefault(self.scale_for[pre], []).append(pre.op_name)
        return new

    def _reason(self, multiply: Call) -> str:
        """Describe the scale and all operators that absorbed it: one event includes all of them,
        since only all changes together preserve the values."""
        taker = self.dropped[multiply]
        factor = next((a for a in multiply.args if a is not taker), taker)
        takers = ", ".join(self.takers.get(self.scale_for[taker], ()))
        return f"the scale {shown(factor)} moves into {takers}"

    def _scaled(self, pre: Call, post: Call, scale: Expr) -> Expr:
        name = pre.op_name
        args = list(post.args)
        if name in CONV:
            axes = output_axes(pre)
            assert axes is not None  # otherwise it would not have requested a scale
            args[1] = relay.multiply(args[1], along(scale, pre.args[1].checked_type, axes.weight))
        elif name == "nn.dense":
            args[1] = relay.multiply(args[1], along(scale, pre.args[1].checked_type, (0,)))
        elif name == "nn.bias_add":
            args[1] = relay.multiply(args[1], scale)
        elif name in ADD_SUB:
            takers = [a in self.messages for a in pre.args]
            for n in range(2):
                if not takers[n]:
                    taker = pre.args[1 - n]
                    shaped = along(scale, taker.checked_type, self.messages[taker].axes)
                    args[n] = relay.multiply(args[n], shaped)
        else:  # relu: its operand absorbs the scale
            return post
        return Call(post.op, args, post.attrs, span=post.span)
