"""The chains that DNNL runs as one kernel, each defined once.

From a `Chain` follow its name, the dataflow pattern that MergeComposite looks for, and the check
that refuses a match. Code generation (`codegen.py`) needs neither the name nor the pattern: it
fuses whatever follows an operation and is a post-op in `operators.py`.

Names and order are those of TVM 0.16's DNNL pattern table: biased chains before unbiased ones, a
chain before the shorter chain it begins with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from byoc_lab.dnnl.operators import why_not
from byoc_lab.relay.dataflow_pattern import DFPattern, is_op, wildcard
from byoc_lab.relay.expr import Call, Expr
from byoc_lab.relay.types import TensorType

ROOTS = ("nn.conv2d", "nn.dense")
# TVM turns every nn.bias_add into an add before (CanonicalizeOps), so its table knows add alone.
BIAS_OPS = ("add", "nn.bias_add")
ACTIVATIONS = ("nn.relu", "tanh", "sigmoid", "clip", None)


@dataclass(frozen=True)
class Chain:
    """`root(data, weight)`, then a bias added when `bias`, then `activation` unless None."""

    root: str
    bias: bool
    activation: str | None

    @property
    def name(self) -> str:
        """As TVM calls it: "dnnl.conv2d_bias_relu"."""
        words = [self.root, "bias" if self.bias else None, self.activation]
        return "dnnl." + "_".join(w.removeprefix("nn.") for w in words if w)

    def pattern(self) -> DFPattern:
        """What MergeComposite looks for."""
        found: DFPattern = is_op(self.root)(wildcard(), wildcard())
        if self.bias:
            plain, other = found, wildcard()
            found = reduce(or_, (is_op(op)(plain, other) for op in BIAS_OPS))
        return is_op(self.activation)(found) if self.activation else found

    def why_not(self, match: Call) -> str | None:
        """Why DNNL cannot run what matched as one kernel, in words; None when it can.

        `match` is the typed call that the chain ends with.
        """
        call = match
        if self.activation:
            reason = why_not(call)
            if reason:
                return reason
            call = _operand(call, 0)
        if self.bias:
            added = call
            call, other = _root_and_other(added, self.root)
            reason = why_not(added) or _why_no_bias(call, added, other)
            if reason:
                return reason
        return why_not(call)

    def check(self, match: Call) -> bool:
        """Whether DNNL can run what matched as one kernel."""
        return self.why_not(match) is None


def _operand(call: Call, index: int) -> Call:
    operand = call.args[index]
    assert isinstance(operand, Call)
    return operand


def _root_and_other(added: Call, root: str) -> tuple[Call, Expr]:
    """The two operands of a sum, the one that calls `root` first."""
    left, right = added.args
    if isinstance(left, Call) and left.is_op(root):
        return left, right
    return _operand(added, 1), left


def _why_no_bias(root: Call, added: Call, other: Expr) -> str | None:
    """A bias has one element for each output channel and lies along axis 1."""
    result, operand = root.checked_type, other.checked_type
    assert isinstance(result, TensorType) and isinstance(operand, TensorType)
    if added.is_op("nn.bias_add"):
        return None  # a bias by definition; `why_not` has seen that it lies along axis 1
    if added.checked_type != result or not is_bias_shape(operand.shape, result.shape):
        return (
            f"what is added is no bias: expected one element for each of the {result.shape[1]} "
            f"channels of {result}, found {operand}"
        )
    return None


def is_bias_shape(operand: Sequence[Any], result: Sequence[Any]) -> bool:
    """Whether adding a tensor shaped `operand` adds one number for each channel (axis 1)."""
    along_channels = (result[1], *[1] * (len(result) - 2))
    return tuple(operand) in (along_channels, (1, *along_channels))


def chains() -> list[Chain]:
    """Every chain, in the order in which they are tried."""
    return [
        Chain(root, bias, activation)
        for bias in (True, False)
        for activation in ACTIVATIONS
        for root in ROOTS
        if bias or activation
    ]


def pattern_table() -> list[tuple[Any, ...]]:
    """The table that `get_pattern_table("dnnl")` gives: (name, pattern, check) for each chain."""
    return [(chain.name, chain.pattern(), chain.check) for chain in chains()]
