"""Quantized networks on DNNL: the supported qnn operators, and chains of them.

Convolutions and products of integers are exact in int32; changes of scale are Relay's own integer
arithmetic (native/src/ops/quantized.cc), so results equal those of Relay's operators bit for bit.
A bias is fused into the qnn.requantize after it, a clip or cast of integers into its producer.

TVM's form of the same chains (`compat/integrations/dnnl/legalize_qnn.py`) computes in float32 and
ends with a cast. Here the cast truncates, as in Relay; TVM's DNNL kernels round it to nearest.
"""

from __future__ import annotations

from functools import reduce
from math import isinf, isnan
from operator import or_

import numpy as np

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.qnn.requantize_config import settled
from byoc_lab.relay.patterns import DFPattern, is_constant, is_expr, is_op, wildcard

PRODUCTS = ("qnn.conv2d", "qnn.dense")
BIAS_OPS = ("add", "nn.bias_add")
# The operands with scales and zero points.
PARAMETERS = {
    "qnn.conv2d": range(2, 6),
    "qnn.dense": range(2, 6),
    "qnn.requantize": range(1, 5),
    "qnn.quantize": range(1, 3),
    "qnn.dequantize": range(1, 3),
    "qnn.add": range(2, 8),
}
NARROW = ("uint8", "int8")
INTEGERS = (*NARROW, "int32")
CUTTING = ("qnn.quantize", "qnn.requantize", "qnn.add")  # operators whose results are clipped
STEPS = (*BIAS_OPS, "clip", "cast")  # non-qnn operators on integers
CUTS = f"{', '.join(CUTTING)} or a cast of real numbers"


# Supported calls ---------------------------------------------------------------------------------


def why_no_parameters(call: Call) -> str | None:
    """The reason why DNNL does not support the dtypes, scales or zero points of a qnn call; None if
    it does."""
    assert isinstance(call.op, Op)
    wanted = ("float32",) if call.is_op("qnn.quantize") else INTEGERS
    data = call.args[0].checked_type
    if not isinstance(data, TensorType) or data.dtype not in wanted:
        return f"the data must be {' or '.join(wanted)}, found {data}"
    for n in PARAMETERS[call.op.name]:
        if not isinstance(call.args[n], Constant):
            return f"argument {n} must be a constant, found {call.args[n].checked_type}"
    return None


def why_no_product(call: Call) -> str | None:
    """The reason why DNNL does not support this qnn.conv2d or qnn.dense; None if it does. Layouts
    are checked elsewhere."""
    data, weight = (a.checked_type for a in call.args[:2])
    assert isinstance(data, TensorType) and isinstance(weight, TensorType)
    reason = why_no_parameters(call)
    if reason:
        return reason
    if data.dtype not in NARROW:
        return f"the data must be uint8 or int8, found {data}"
    if weight.dtype != "int8":
        return f"the weight must be int8, found {weight}"
    if call.attrs.out_dtype not in ("", "int32"):
        return f"out_dtype must be 'int32', found {call.attrs.out_dtype!r}"
    if array_of(call.args[3]).any():
        return "the zero point of the weight must be 0"
    return None


def why_no_requantize(call: Call) -> str | None:
    """The reason why DNNL does not support this qnn.requantize under the current configuration. A
    bias that is its operand is fused into it, and must be along the axis of its scales.
    """
    reason = _why_no_arithmetic(call) or why_no_parameters(call)
    added = call.args[0]
    if reason or not (isinstance(added, Call) and adds(added)) or why_no_bias(added):
        return reason
    vectors = any(array_of(call.args[n]).size != 1 for n in (1, 2))
    axis, along = call.attrs.axis, bias_axis(added)
    rank = len(added.checked_type.shape)
    if array_of(added.args[1]).size != 1 and vectors and along != axis % rank:
        return f"the scales are along axis {axis}, but the bias is along axis {along}"
    return None


def _why_no_arithmetic(call: Call) -> str | None:
    _, compute_dtype = arithmetic(call)
    if compute_dtype == "int64":
        return None
    return f"changes of scale must have compute_dtype 'int64', found {compute_dtype!r}"


def arithmetic(call: Call) -> tuple[str, str]:
    """Rounding and compute_dtype of a call that changes scales."""
    attrs = call.attrs
    if call.is_op("qnn.requantize") and attrs is not None:
        return settled(attrs.rounding, attrs.compute_dtype)
    rounding = attrs.rounding if call.is_op("qnn.add") and attrs is not None else "None"
    return settled(rounding, "None")


def why_no_sum(call: Call) -> str | None:
    """The reason why DNNL does not support this qnn.add; None if it does."""
    lhs, rhs = (a.checked_type for a in call.args[:2])
    if lhs != rhs:
        return f"both operands must have one type, found {lhs} and {rhs}"
    reason = _why_no_arithmetic(call) or why_no_parameters(call)
    if not reason and any(array_of(call.args[n]).size != 1 for n in PARAMETERS["qnn.add"]):
        return "scales and zero points must be single numbers"
    return reason


def array_of(expr: Expr) -> np.ndarray:
    """The array of a constant; an empty array for any other expression."""
    return expr.numpy() if isinstance(expr, Constant) else np.empty(0)


def why_no_bias(added: Call) -> str | None:
    """The reason why an addition of integers is not a bias of its operand, a product; None if it
    is."""
    data, other = added.args
    if not (isinstance(data, Call) and any(data.is_op(op) for op in PRODUCTS)):
        return "DNNL adds integers only after qnn.conv2d and qnn.dense"
    if not isinstance(other, Constant):
        return f"the bias must be a constant, found {other.checked_type}"
    if bias_axis(added) is None or added.checked_type.shape != data.checked_type.shape:
        return f"the bias must have one number for each channel, found {other.checked_type}"
    return None


def is_integer(node: Expr) -> bool:
    """Whether an expression is a tensor of quantized numbers."""
    ty = node.checked_type
    return isinstance(ty, TensorType) and ty.dtype in INTEGERS


def adds(call: Call) -> bool:
    """Whether a call is an addition; for integers, an addition is a bias."""
    return any(call.is_op(op) for op in BIAS_OPS)


def is_step(call: Call) -> bool:
    """Whether a call of a non-qnn operator computes with integers, as a step of a quantized
    chain."""
    if not isinstance(call.op, Op) or call.op.name not in STEPS:
        return False
    return is_integer(call) or is_integer(call.args[0])


def why_no_step(call: Call) -> str | None:
    """The reason that DNNL cannot compute a call of a non-qnn operator within a quantized chain;
    None if it can."""
    if adds(call):
        return why_no_bias(call)
    return _why_no_clip(call) if call.is_op("clip") else _why_no_cast(call)


def _why_no_clip(call: Call) -> str | None:
    bounds = _bounds(call)
    if not all(bound.is_integer() or isinf(bound) for bound in bounds) or bounds[0] > bounds[1]:
        return f"clip: bounds for integers must be integers in ascending order, found {bounds}"
    return None if limits(call.args[0]) else f"a clip of integers must follow {CUTS}"


def _why_no_cast(call: Call) -> str | None:
    types = (call.args[0].checked_type, call.checked_type)
    operand, result = (ty.dtype if isinstance(ty, TensorType) else str(ty) for ty in types)
    for dtype in (operand, result):
        if dtype not in ("float32", *INTEGERS):
            return f"cast: DNNL converts between float32 and {', '.join(INTEGERS)}, found {dtype}"
    if operand == result or "float32" in (operand, result):
        return None
    found, wanted = limits(call.args[0]), np.iinfo(result)
    if found is None:
        return f"a cast of integers must follow {CUTS}"
    if found[0] < wanted.min or found[1] > wanted.max:
        return (
            f"a cast from [{found[0]}, {found[1]}] to {result} would wrap: clip to the range of "
            f"the result first"
        )
    return None


def limits(expr: Expr) -> tuple[int, int] | None:
    """The range that the producer of integers clips them to; None if it does not clip."""
    steps: list[Call] = []
    while isinstance(expr, Call) and is_step(expr) and not adds(expr):
        if not is_integer(expr.args[0]):
            return _cut(_range(expr), steps)  # a cast of real numbers clips
        if expr.is_op("clip") and any(isnan(bound) for bound in _bounds(expr)):
            return None
        steps.append(expr)
        expr = expr.args[0]
    cuts = isinstance(expr, Call) and any(expr.is_op(op) for op in CUTTING)
    return _cut(_range(expr), steps) if cuts else None


def _range(expr: Expr) -> tuple[int, int]:
    ty = expr.checked_type
    assert isinstance(ty, TensorType)
    found = np.iinfo(ty.dtype)
    return int(found.min), int(found.max)


def _cut(found: tuple[int, int], steps: list[Call]) -> tuple[int, int]:
    for step in reversed(steps):
        found = clipped(step, found) if step.is_op("clip") else found
    return found


def clipped(clip: Call, found: tuple[int, int]) -> tuple[int, int]:
    """A range, clipped: each bound of the clip that is outside the range becomes the nearer end of
    the range."""
    low, high = found
    least, most = (int(min(max(bound, low), high)) for bound in _bounds(clip))
    return least, most


def _bounds(clip: Call) -> tuple[float, float]:
    attrs = clip.attrs
    assert attrs is not None
    return float(attrs.a_min), float(attrs.a_max)


def chain_before(call: Call, last: bool) -> list[Call]:
    """The operands of a call that belong to the same quantized chain. last: whether the call ends
    it.

    A chain begins with a product. A tensor added to it (by `qnn.add`, or in TVM's form a cast that
    is multiplied) is not part of the chain.
    """
    assert isinstance(call.op, Op)
    operands = call.args[:1] if call.op.name in PARAMETERS else call.args
    before = [operand for operand in operands if isinstance(operand, Call)]
    if call.is_op("cast") and not is_integer(call) and not last:  # casts the product or addend
        return [operand for operand in before if any(operand.is_op(op) for op in PRODUCTS)]
    return before


def bias_axis(added: Call) -> int | None:
    """The axis of the result along which a bias varies; None if the addend is not a bias."""
    result = added.checked_type
    assert isinstance(result, TensorType)
    rank, shape = len(result.shape), array_of(added.args[1]).shape
    if added.is_op("nn.bias_add"):
        axis: int = added.attrs.axis % rank
        return axis
    longer = [n - len(shape) + rank for n, size in enumerate(shape) if size != 1]
    return (longer or [0])[0] if len(longer) <= 1 and len(shape) <= rank else None


# The chains that MergeComposite matches -----------------------------------------------------------


def tvm_pattern(root: str) -> DFPattern:
    """The chain of TVM 0.16's table, in float32, as `legalize_qnn_for_dnnl` creates it."""
    zero = is_expr(const(0, "int32"))
    found: DFPattern = is_op(root)(
        wildcard(), is_constant(), zero, zero, is_constant(), is_constant()
    )
    found = is_op("cast")(found)
    found = is_op("add")(found, is_constant()) | found
    found = is_op("multiply")(found, is_constant())
    found = is_op("clip")(found)
    found = is_op("multiply")(found, is_constant()) | found
    other = is_op("multiply")(is_constant(), is_op("cast")(wildcard()))
    found = is_op("add")(found, other) | found
    found = is_op("add")(found, is_constant()) | found
    return is_op("cast")(found)


def exact_pattern(root: str) -> DFPattern:
    """The chain of Relay's qnn operators: product, bias, requantize, clip, cast, qnn.add, clip."""

    def constants(count: int) -> list[DFPattern]:
        return [is_constant() for _ in range(count)]

    product = is_op(root)(wildcard(), *constants(5))
    biased = reduce(or_, (is_op(op)(product, is_constant()) for op in BIAS_OPS))
    found: DFPattern = is_op("qnn.requantize")(biased | product, *constants(4))
    found = is_op("clip")(found) | found
    found = is_op("cast")(found) | found
    total: DFPattern = is_op("qnn.add")(found, wildcard(), *constants(6))
    total = is_op("clip")(total) | total
    return total | found
