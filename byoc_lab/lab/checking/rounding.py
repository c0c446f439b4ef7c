"""Rounding errors of operators, derived from the computation of each operator.

Each operator has a rule for the rounding error of one correct evaluation, independent of the order
of its sums: a standard deviation for each element of the result, computed from the length of the
reduction and the magnitudes of the intermediate values. The relative error of one rounding is
uniformly distributed and at most u = 2 ** -24 (for float32), so its standard deviation is at most
u / sqrt(3). A sum of k products p_j rounds k times, each time relative to the partial sum:
    u / sqrt(3) * sqrt(k) * max(|partial sums|, sqrt(sum of p_j ** 2)),
the probabilistic form of the running error bound (Higham and Mary, "A new approach to probabilistic
rounding error analysis", SIAM J. Sci. Comput. 41, 2019). The worst case, with k in place of
sqrt(k), is also correct but useless: after the 27 layers of MobileNet it exceeds the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod, sqrt
from typing import Any

import numpy as np

from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.run.reference import widened_attrs

# Half the distance from 1 to the next number of a dtype.
UNIT_ROUNDOFF = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
CHUNKS = 8  # the number of partial sums that are computed
LOG_UNITS = 20.0  # error of log near 1, in units of u / sqrt(3)
FUNCTION_ULPS = 4.0  # error of exp, tanh, ... in units in the last place

Array = np.ndarray


@dataclass(frozen=True)
class Step:
    """One call of an operator, evaluated in float64: the argument of a rule."""

    op: Op
    attrs: Any
    args: Sequence[Any]
    value: Any

    def again(self, *args: Any) -> Any:
        """The result of the operator for other arguments."""
        return evaluate_op(self.op, self.attrs, args)


# A rule returns the standard deviation of the rounding error of a step in units of u / sqrt(3): a
# number or an array, or a tuple of these for several results.
RoundingRule = Callable[[Step], Any]


def _exact(step: Step) -> Any:
    return 0.0


def _rounded(times: float) -> RoundingRule:
    """`times` squared roundings of the result."""
    return lambda step: times * np.abs(step.value)


def _sum_of_products(k: int, value: Array, squares: Array, partial: Any = 0.0) -> Array:
    """k: number of products; squares: the sum of their squares; partial: largest partial sum."""
    largest: Array = np.maximum(np.maximum(np.abs(value), np.sqrt(squares)), partial)
    return sqrt(k) * largest


def _largest_partial(terms: Iterator[Array]) -> Array:
    """The largest absolute value that the running sum of `terms` takes, element by element."""
    total = largest = np.zeros(())
    for term in terms:
        total = total + term
        largest = np.maximum(largest, np.abs(total))
    return largest


def _slices(length: int) -> Iterator[slice]:
    edges = np.linspace(0, length, min(CHUNKS, length) + 1).astype(int)
    return (slice(a, b) for a, b in pairwise(edges))


def _slice_of(array: Array, axis: int, part: slice) -> Array:
    return array[(slice(None),) * axis + (part,)]


def _conv2d(step: Step) -> Array:
    x, w = step.args
    squares = step.again(x * x, w * w)
    data, kernel = Layout(step.attrs.data_layout), Layout(step.attrs.kernel_layout)
    outputs = [n for n, (letter, _) in enumerate(kernel.axes) if letter.upper() in "GO"]
    k = w.size // prod(w.shape[n] for n in outputs)
    if step.attrs.groups > 1:
        return _sum_of_products(k, step.value, squares)
    channel, inner = data.index_of("C"), kernel.index_of("I")
    # If only one of the two has its channels in blocks, the channels are not sliced.
    same = x.shape[channel] == w.shape[inner]
    slices = _slices(x.shape[channel]) if same else iter([slice(None)])
    parts = (step.again(_slice_of(x, channel, s), _slice_of(w, inner, s)) for s in slices)
    return _sum_of_products(k, step.value, squares, _largest_partial(parts))


def _dense(step: Step) -> Array:
    x, w = step.args
    return _matrix_product(x, w.T, step.value)


def _batch_matmul(step: Step) -> Array:
    x, y = step.args
    x = x.swapaxes(1, 2) if step.attrs.transpose_a else x
    return _matrix_product(x, y.swapaxes(1, 2) if step.attrs.transpose_b else y, step.value)


def _matrix_product(x: Array, y: Array, value: Array) -> Array:
    """x (..., M, K) times y (..., K, N)."""
    k = x.shape[-1]
    parts = (x[..., s] @ y[..., s, :] for s in _slices(k))
    return _sum_of_products(k, value, (x * x) @ (y * y), _largest_partial(parts))


def _positive_sum(step: Step) -> Array:
    """Sums and means of elements. No partial sum exceeds the sum of the magnitudes."""
    (x,) = step.args
    window = step.attrs.get("pool_size")
    k = prod(window) if window else x.size // max(1, step.value.size)
    magnitudes: Array = step.again(np.abs(x))
    return (sqrt(k) + 1) * magnitudes


def _softmax(step: Step) -> Array:
    (x,) = step.args
    axis = step.attrs.axis
    depth = x.max(axis=axis, keepdims=True) - x  # exp magnifies the rounding of this difference
    found = np.abs(step.value) * (depth + FUNCTION_ULPS + sqrt(x.shape[axis]))
    return np.where(step.value == 0, 0.0, found)  # of an infinite depth


def _log(step: Step) -> Array:
    """Kernels add log(mantissa) and exponent * log(2), two terms of about 1 that may cancel.

    oneDNN takes the first of the two from a table: its results are up to 58 u off, measured for all
    mantissas, wherever the table's step is just passed.
    """
    magnitudes: Array = np.abs(step.value)
    return FUNCTION_ULPS * magnitudes + LOG_UNITS


def _batch_norm(step: Step) -> Any:
    """Also for kernels that compute scale * x + shift, two terms that may cancel."""
    x, *vectors = step.args
    shape = [1] * x.ndim
    shape[step.attrs.axis] = -1
    gamma, beta, mean, variance = (v.reshape(shape) for v in vectors)
    scale = np.abs(gamma if step.attrs.scale else 1) / np.sqrt(variance + step.attrs.epsilon)
    shift = np.abs(beta) if step.attrs.center else 0.0
    return 2 * (scale * (np.abs(x) + np.abs(mean)) + shift), 0.0, 0.0


def _backward_stable(step: Step) -> Any:
    """An operator without a rule: its result is exact for slightly perturbed arguments.

    The perturbation is one rounding for each element that contributes to an element of the result.
    """
    inputs = sum(a.size for a in flat(tuple(step.args)))
    outputs = sum(v.size for v in flat(step.value))
    roundings = sqrt(inputs / max(1, outputs)) + FUNCTION_ULPS
    random, unit = np.random.default_rng(0), UNIT_ROUNDOFF["float32"]

    def perturbed(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(perturbed, value))
        if value.dtype.kind != "f":
            return value
        return value * (1 + unit * random.standard_normal(value.shape))

    results = flat(step.again(*map(perturbed, step.args)))
    found = tuple(
        roundings * (_largest_change(m, v) / unit + np.abs(v)) if v.dtype.kind == "f" else 0.0
        for m, v in zip(results, flat(step.value), strict=True)
    )
    return found if isinstance(step.value, tuple) else found[0]


def _tanh(step: Step) -> Array:
    """TVM's code for the host computes (1 - exp(-2 x)) / (1 + exp(-2 x)): two terms that cancel
    near 0, so that the error there is u and not u * |x|."""
    magnitudes: Array = np.abs(step.value)
    return FUNCTION_ULPS * magnitudes + 1.0


def _largest_change(a: Array, b: Array) -> float:
    with np.errstate(all="ignore"):
        change = np.abs(a - b)
    return float(np.max(change[np.isfinite(change)], initial=0))


RULES: dict[str, RoundingRule] = {
    "nn.conv2d": _conv2d,
    "nn.dense": _dense,
    "nn.batch_matmul": _batch_matmul,
    "nn.softmax": _softmax,
    "log": _log,
    "tanh": _tanh,
    "nn.batch_norm": _batch_norm,
    **dict.fromkeys(("sum", "mean", "nn.avg_pool2d", "nn.global_avg_pool2d"), _positive_sum),
    **dict.fromkeys(
        (
            "add", "subtract", "multiply", "divide", "sqrt", "nn.bias_add", "cast", "clip",
            "nn.leaky_relu",
        ),
        _rounded(1),
    ),
    "qnn.dequantize": _rounded(2),
    **dict.fromkeys(("exp", "sigmoid", "erf", "rsqrt"), _rounded(FUNCTION_ULPS)),
    **dict.fromkeys(
        (
            "nn.relu", "abs", "negative", "copy", "maximum", "minimum", "max", "min", "floor",
            "ceil", "round", "sign", "nn.max_pool2d", "nn.dropout", "reshape", "expand_dims",
            "squeeze", "transpose", "nn.batch_flatten", "concatenate", "split", "repeat", "nn.pad",
            "zeros", "ones", "full", "zeros_like", "ones_like", "broadcast_to",
            "where", "take", "gather", "gather_nd", "strided_slice", "reverse", "tile", "stack",
            "slice_like", "broadcast_to_like", "reshape_like", "layout_transform", "sort", "trunc",
            "nn.space_to_depth", "nn.depth_to_space", "nn.space_to_batch_nd", "nn.mirror_pad",
            "nn.batch_to_space_nd", "scatter_nd", "scatter_elements", "adv_index", "reinterpret",
            "sequence_mask", "reverse_sequence", "nn.global_max_pool2d", "nn.max_pool1d",
            "nn.max_pool3d", "meshgrid", "one_hot", "full_like", "device_copy", "on_device",
            "annotation.checkpoint", "matrix_set_diag", "strided_set", "topk", "trilu",
            "annotation.compiler_begin", "annotation.compiler_end", "annotation.stop_fusion",
        ),
        _exact,
    ),
}  # fmt: skip


def rounding(call: Call, args: Sequence[Any], value: Any) -> Any:
    """The standard deviation of the rounding error of one operator call.

    args, value: in float64. The result has the structure of `value`, with numbers or arrays. The
    dtype of the computation is that of the call's type, or float32 if the call has no type.
    """
    op = call.op
    assert isinstance(op, Op)
    schema = op.definition.attrs
    attrs = widened_attrs(call.attrs if call.attrs is not None else schema and schema.make())
    found = RULES.get(op.name, _backward_stable)(Step(op, attrs, args, value))
    dtype = getattr(call.checked_type, "dtype", "float32") if call.is_typed else "float32"
    return _times(rounding_deviation(dtype), found)


def rounding_deviation(dtype: str) -> float:
    """The standard deviation of one rounding, relative to its result."""
    return UNIT_ROUNDOFF.get(dtype, 0.0) / sqrt(3)


def _times(factor: float, value: Any) -> Any:
    return tuple(factor * v for v in value) if isinstance(value, tuple) else factor * value


def flat(value: Any) -> tuple[Any, ...]:
    """What a nested tuple holds, in order."""
    found: list[Any] = []
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple):
            todo += reversed(item)
        else:
            found.append(item)
    return tuple(found)
