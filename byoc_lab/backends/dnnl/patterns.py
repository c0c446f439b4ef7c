"""The chains of operators that DNNL runs as one kernel, each defined once.

A `Chain` determines its name, the dataflow pattern for MergeComposite, and the check that refuses a
match. Code generation (`codegen.py`) uses neither the name nor the pattern. It fuses all operations
that are post-ops in `operators.py` or activations in `activations.py`, so a new chain of post-ops
needs no entry here.

Names, order and checks are those of TVM 0.16's DNNL pattern table (python/tvm/relay/op/contrib/
dnnl.py): quantized chains, residual sums, biased chains before unbiased ones, a chain before the
shorter chain it begins with. Two oversights of TVM's checks are fixed: they ignore that a
convolution's attribute `channels` may be inferred, and that a bias or residual may be the left
operand (`compat` refuses the latter, as TVM does).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod
from operator import or_
from typing import Any

from byoc_lab.backends.dnnl import quantized
from byoc_lab.backends.dnnl.activations import ALONE, INSIDE, SPELLINGS, Spelling
from byoc_lab.backends.dnnl.operators import OPERATORS, channels_of, why_not
from byoc_lab.passes.framework.predicates import Refused
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.patterns import DFPattern, is_op, is_tuple, wildcard

CONVOLUTIONS = (
    "nn.conv1d",
    "nn.conv2d",
    "nn.conv3d",
    "nn.conv2d_transpose",
    "nn.conv3d_transpose",
)
ROOTS = (*CONVOLUTIONS, "nn.dense")
# In TVM, CanonicalizeOps has replaced every nn.bias_add by an add, so its table has only add.
TVM_BIAS_OPS = ("add",)
BIAS_OPS = (*TVM_BIAS_OPS, "nn.bias_add")
ACTIVATIONS = ("nn.relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish", None)


@dataclass(frozen=True)
class Chain:
    """`root(data, weight)`, then a bias if `bias`, another tensor added if `sum`, and `activation`.

    activation: an operator, one of `activations.SPELLINGS`, or None.
    """

    root: str
    bias: bool = False
    sum: bool = False
    activation: str | None = None

    @property
    def name(self) -> str:
        """Its name in TVM: "dnnl.conv2d_bias_relu", "dnnl.deconv3d_tanh"."""
        root = self.root.removeprefix("nn.")
        if root.endswith("_transpose"):
            root = f"de{root.removesuffix('_transpose')}"
        activation = self.activation.removeprefix("nn.") if self.activation else None
        words = [root, "bias" if self.bias else None, "sum" if self.sum else None, activation]
        return "dnnl." + "_".join(w for w in words if w)

    def pattern(self, beyond_tvm: bool = True) -> DFPattern:
        """The pattern for MergeComposite; beyond_tvm: nn.bias_add is also a bias."""
        found: DFPattern = is_op(self.root)(wildcard(), wildcard())
        if self.bias:
            plain, other = found, wildcard()
            biases = BIAS_OPS if beyond_tvm else TVM_BIAS_OPS
            found = reduce(or_, (is_op(op)(plain, other) for op in biases))
        if self.sum:
            found = is_op("add")(found, wildcard())
        if self.activation in SPELLINGS:
            return SPELLINGS[self.activation].pattern(found)
        return is_op(self.activation)(found) if self.activation else found

    def why_not(self, match: Call) -> str | None:
        """The reason why DNNL cannot run the match as one kernel; None if it can.

        `match` is the typed call that the chain ends with.
        """
        call: Expr = match
        if self.activation in SPELLINGS:
            reading = SPELLINGS[self.activation].read(match)
            assert reading is not None and reading.operand is not None
            reason = reading.why_not()
            call = reading.operand
        elif self.activation:
            reason = why_not(match)
            call = match.args[0]
        else:
            reason = None
        steps = self._additions()
        for position, step in enumerate(steps):
            assert isinstance(call, Call)
            added = call
            call, other = self._operands(added, steps[position + 1 :])
            reason = reason or why_not(added) or self._why_no_addition(step, call, added, other)
        assert isinstance(call, Call)
        return reason or why_not(call)

    def check(self, match: Call) -> bool | Refused:
        """Whether DNNL can run the match as one kernel."""
        reason = self.why_not(match)
        return Refused(reason) if reason else True

    def check_of_tvm(self, match: Call) -> bool | Refused:
        """`check`, and TVM's rule that the left operand of an addition contains the convolution."""
        answer = self.check(match)
        if answer is not True or self.root not in CONVOLUTIONS or not self._is_plain:
            return answer
        call = match.args[0] if self.activation else match
        steps = self._additions()
        for position, step in enumerate(steps):
            assert isinstance(call, Call)
            call = call.args[0]
            if not self._is_chain(call, steps[position + 1 :]):
                return Refused(
                    f"TVM's rule requires the {self.root} in the left operand of the {step}"
                )
        return True

    @property
    def _is_plain(self) -> bool:
        """Whether TVM checks the additions: only if the activation is relu, or there is none."""
        return self.activation in (None, "nn.relu")

    def _additions(self) -> list[str]:
        """The additions of the chain, the last one first."""
        return [word for word, there in (("sum", self.sum), ("bias", self.bias)) if there]

    def _operands(self, added: Call, rest: Sequence[str]) -> tuple[Expr, Expr]:
        """Split the operands of an addition into the chain that it continues and the value that it
        adds. `rest` are the additions of that chain. As in patterns, the left operand is tried
        first."""
        left, right = added.args
        return (left, right) if self._is_chain(left, rest) else (right, left)

    def _is_chain(self, expr: Expr, rest: Sequence[str]) -> bool:
        """Whether an operand is the beginning of this chain, with only the additions `rest`."""
        if not isinstance(expr, Call):
            return False
        if not rest:
            return expr.is_op(self.root)
        continued = expr.args[:1] if expr.is_op("nn.bias_add") else expr.args
        return expr.op_name in BIAS_OPS and any(self._is_chain(a, rest[1:]) for a in continued)

    def _why_no_addition(self, step: str, call: Expr, added: Call, other: Expr) -> str | None:
        if self.root not in CONVOLUTIONS or added.is_op("nn.bias_add"):
            return None
        if step == "sum":
            return _why_no_sum(call, other)
        return _why_no_bias(call, other) if self._is_plain else None


@dataclass(frozen=True)
class Activation:
    """An activation that consists of several operators, after any operator. DNNL does not support
    some of these operators alone (divide). Code generation fuses the activation with the preceding
    operator."""

    spelling: Spelling

    @property
    def name(self) -> str:
        return f"dnnl.{self.spelling.name}"

    def pattern(self, beyond_tvm: bool = True) -> DFPattern:
        """The pattern for MergeComposite."""
        return self.spelling.pattern(wildcard())

    def why_not(self, match: Call) -> str | None:
        """The reason why DNNL cannot run the match as one kernel; None if it can."""
        reading = self.spelling.read(match)
        assert reading is not None
        calls = (call for call in reading.calls if call.op_name not in INSIDE)
        return reading.why_not() or next(filter(None, map(why_not, calls)), None)

    def check(self, match: Call) -> bool | Refused:
        """Whether DNNL can run the match as one kernel."""
        reason = self.why_not(match)
        return Refused(reason) if reason else True


class Concatenation:
    """A concatenation of tensors, some of which DNNL computes. The composite has a parameter for
    each tensor; a single operator would have a tuple as parameter, which regions do not support."""

    name = "dnnl.concatenate"

    def pattern(self, beyond_tvm: bool = True) -> DFPattern:
        """The pattern for MergeComposite."""
        return is_op("concatenate")(is_tuple(None))

    def why_not(self, match: Call) -> str | None:
        """The reason why DNNL does not compute the concatenation; None if it does."""
        (joined,) = match.args
        assert isinstance(joined, Tuple)
        if not any(map(is_computed, joined.fields)):
            return "DNNL computes none of the concatenated tensors"
        return why_not(match)

    def check(self, match: Call) -> bool | Refused:
        reason = self.why_not(match)
        return Refused(reason) if reason else True


@dataclass(frozen=True)
class QuantizedChain:
    """An integer product and its requantization, as Relay's qnn operators or in TVM's float32
    form."""

    root: str

    @property
    def name(self) -> str:
        return f"dnnl.{self.root}"

    def pattern(self, beyond_tvm: bool = True) -> DFPattern:
        """The pattern for MergeComposite; beyond_tvm: also a chain of Relay's own operators."""
        found = quantized.tvm_pattern(self.root)
        return found | quantized.exact_pattern(self.root) if beyond_tvm else found

    def why_not(self, match: Call) -> str | None:
        """The reason why DNNL cannot compute the match; None if it can."""
        todo = [match]
        while todo:
            call = todo.pop()
            reason = why_not(call, chained=True)
            if reason:
                return reason
            if not call.is_op(self.root):
                todo += quantized.chain_before(call, last=call is match)
        return None

    def check(self, match: Call) -> bool | Refused:
        reason = self.why_not(match)
        return Refused(reason) if reason else True


class Resize:
    """A resize of an image that DNNL computes."""

    name = "dnnl.resize2d"

    def pattern(self, beyond_tvm: bool = True) -> DFPattern:
        """The pattern for MergeComposite."""
        return is_op("image.resize2d")(wildcard())

    def why_not(self, match: Call) -> str | None:
        """The reason why DNNL does not compute the resize; None if it does."""
        if not is_computed(match.args[0]):
            return "DNNL does not compute the image"
        return why_not(match)

    def check(self, match: Call) -> bool | Refused:
        reason = self.why_not(match)
        return Refused(reason) if reason else True


def is_computed(expr: Expr) -> bool:
    """Whether DNNL computes a typed expression: a composite function or an operator of DNNL."""
    if not isinstance(expr, Call):
        return False
    if isinstance(expr.op, Function):
        return str(expr.op.attrs.get("Composite", "")).startswith("dnnl.")
    operator = OPERATORS.get(expr.op_name)
    return operator is not None and operator.offered and why_not(expr) is None


def _why_no_sum(call: Expr, other: Expr) -> str | None:
    if call.checked_type.shape != other.checked_type.shape:
        return f"both summands must have one type, found {call.checked_type}, {other.checked_type}"
    return None


def _why_no_bias(root: Expr, other: Expr) -> str | None:
    """The reason why an operand is not a bias with one element per output channel; None if it
    is."""
    if not isinstance(root, Call) or not root.is_op("nn.conv2d"):
        return "without activation, or before relu, TVM's rule accepts a bias only after nn.conv2d"
    result, operand = root.checked_type, other.checked_type
    assert isinstance(result, TensorType) and isinstance(operand, TensorType)
    channels = channels_of(root)
    if not operand.is_static or prod(operand.concrete_shape) != channels:
        return (
            f"the addend is not a bias: expected one element for each of the {channels} "
            f"channels of {result}, found {operand}"
        )
    return None


Entry = Chain | QuantizedChain | Activation | Concatenation | Resize


def chains() -> Iterator[Chain]:
    """Every chain for float numbers (not quantized), in the order in which they are tried."""
    yield Chain("nn.dense", bias=True, sum=True)
    yield Chain("nn.conv2d", bias=True, sum=True, activation="nn.relu")
    yield Chain("nn.conv2d", bias=True, sum=True)
    for bias in (True, False):
        for activation in ACTIVATIONS:
            for root in ROOTS:
                if bias or activation:
                    yield Chain(root, bias=bias, activation=activation)


def pattern_table(beyond_tvm: bool = True) -> list[tuple[Any, ...]]:
    """The table that `get_pattern_table("dnnl")` returns: (name, pattern, check) for each chain.

    beyond_tvm: also chains that TVM 0.16's table lacks: nn.bias_add as the bias, additions with the
        convolution as right operand, quantized chains of Relay's qnn operators, hard-swish and
        hard-sigmoid, GELU as importers write it, resizes and concatenations. The activations
        precede TVM's chains, which would match their clip and leave their division to the host.
    """
    every: list[Entry] = [
        *map(QuantizedChain, quantized.PRODUCTS),
        *(map(Activation, ALONE) if beyond_tvm else ()),
        *chains(),
        *([Resize(), Concatenation()] if beyond_tvm else ()),
    ]
    return [(chain.name, chain.pattern(beyond_tvm), _check(chain, beyond_tvm)) for chain in every]


def _check(chain: Entry, beyond_tvm: bool) -> Callable[[Call], bool | Refused]:
    return chain.check if beyond_tvm or not isinstance(chain, Chain) else chain.check_of_tvm
