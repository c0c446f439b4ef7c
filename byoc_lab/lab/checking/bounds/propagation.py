"""How the errors of the arguments of an operator reach its result, element by element.

An error has two parts. `sigma` is the standard deviation of what many roundings add up to; `jump`
bounds what cannot be described so: a step of a rounding to integers whose tie the error reaches, an
underflow that a machine may flush to zero. To first order, independent errors propagate as
    sigma(f)**2 = sum over the arguments of (df/dx * sigma(x))**2
(JCGM 100:2008, "Guide to the expression of uncertainty in measurement", 5.1.2). For sums of
products the sum is again one of products, of squares. Where an operator is monotone in each
element, its value at both ends of the interval that an argument may lie in is used in place of the
derivative, which is also right at a kink or at a step. Operators that are neither get the largest
deviation that perturbed samples of their arguments show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.error import ANYTHING, EXACT, REACH, Error, full
from byoc_lab.lab.checking.bounds.normalizations import NORMALIZATIONS, normalization, variance
from byoc_lab.lab.checking.bounds.products import along_axis
from byoc_lab.lab.checking.bounds.step import UNIT_ROUNDOFF, Array, Step, flat, hypot
from byoc_lab.relay.op.framework.registry import OpPattern


def propagated(step: Step, errors: Any) -> list[Error] | None:
    """The errors of the results of a step, flat, that come from those of its arguments.

    errors: in the structure of `step.args`. None for an operator without a rule: measure them.
    """
    if all(e.exact for e in flat(tuple(errors))):
        return [EXACT] * len(flat(step.value))
    name = step.op.name
    rule = RULES.get(name)
    if rule is None:
        pattern = step.op.definition.pattern
        if pattern in (OpPattern.ELEMWISE, OpPattern.BROADCAST):
            rule = _moved if name in MOVING else _interval
        elif pattern is OpPattern.INJECTIVE:
            rule = _moved
    if rule is None:
        return None
    with np.errstate(all="ignore"):
        found = rule(step, list(errors))
    return [_without_nan(e, v.dtype.kind) for e, v in zip(found, flat(step.value), strict=True)]


def _without_nan(error: Error, kind: str) -> Error:
    """What cannot be said of an element (inf - inf) bounds nothing.

    A real number that is off by a jump is rounded where it is, hence a little on top of the jump.
    """
    sigma, jump = np.asarray(error.sigma, float), np.asarray(error.jump, float)
    if kind == "f":
        jump = JUMP_ROUNDING * jump
    lost = ~np.isfinite(sigma) | np.isnan(jump) | (jump >= ANYTHING / 2)
    if not np.any(lost):
        return Error(sigma, jump)
    return Error(np.where(lost, 0.0, sigma), np.where(lost, np.inf, jump))


def _mapped(function: Callable[[Any, Any], Any], value: Any, error: Any) -> Any:
    """`function` of each array and its error, in the structure of `value`."""
    if isinstance(value, tuple):
        return tuple(_mapped(function, v, e) for v, e in zip(value, error, strict=True))
    return function(value, error)


def _moved(step: Step, errors: list[Any]) -> list[Error]:
    """Elements that are copied or averaged: their errors are treated as the elements are."""

    indexed = step.op.name in INDEXED

    def parts(part: str) -> list[Array]:
        def taken(value: Array, error: Error) -> Array:
            return np.asarray(np.abs(full(getattr(error, part), value)))

        args = [
            v if n and indexed else _mapped(taken, v, e)
            for n, (v, e) in enumerate(zip(step.args, errors, strict=True))
        ]
        return [np.abs(np.asarray(v, np.float64)) for v in flat(step.again(*args))]

    return [Error(s, j) for s, j in zip(parts("sigma"), parts("jump"), strict=True)]


def _interval(step: Step, errors: list[Any]) -> list[Error]:
    """The change of the results when each argument goes to the ends of its interval."""
    value = flat(step.value)
    squares: list[Any] = [0.0] * len(value)
    jumps: list[Any] = [0.0] * len(value)
    steps = step.op.name in STEPS
    if any(np.any(np.isinf(e.jump)) for e in flat(tuple(errors))):
        jumps = _undecided_results(step, errors)
        errors = [_mapped(_decided, a, e) for a, e in zip(step.args, errors, strict=True)]
    leaps: dict[int, Any] = {}  # how far each argument may jump
    for n, error in enumerate(errors):
        if not isinstance(error, Error) or error.exact:
            continue
        if steps or step.args[n].dtype.kind != "f":
            leaps[n] = error.reach
            continue
        if np.any(error.jump):
            leaps[n] = error.jump
        for k, change in enumerate(changes(step, {n: REACH * error.sigma})):
            if value[k].dtype.kind == "f":
                squares[k] = squares[k] + np.square(change / REACH)
            else:
                jumps[k] = jumps[k] + change
    if leaps:
        for k, change in enumerate(changes(step, leaps)):
            jumps[k] = jumps[k] + change
    return [Error(np.sqrt(s), j) for s, j in zip(squares, jumps, strict=True)]


def measured_jumps(step: Step, errors: Any, random: np.random.Generator) -> list[Any]:
    """Jumps of the results of an operator without a rule: the largest deviation that jumps of its
    arguments in random directions show, twice over, for every element of a result.

    Elements that may be anything are nan here: what becomes nan may be anything, too, and so may
    all integers.
    """
    if not any(np.any(e.jump) for e in flat(tuple(errors))):
        return [0.0] * len(flat(step.value))

    def moved(value: Array, error: Error) -> Array:
        jump = full(error.jump, value)
        signs = random.integers(0, 2, value.shape) * 2 - 1
        by = np.where(np.isfinite(jump), signs * jump, 0.0)
        return shifted(value, by) if np.any(by) else value

    def poisoned(value: Array, error: Error) -> Array:
        if value.dtype.kind != "f" or not np.any(np.isinf(error.jump)):
            return value
        return np.where(np.isinf(full(error.jump, value)), np.nan, value)

    values = flat(step.value)
    largest = [0.0] * len(values)
    for _ in range(DRAWS):
        args = [_mapped(moved, a, e) for a, e in zip(step.args, errors, strict=True)]
        for k, result in enumerate(flat(step.again(*args))):
            off = _distance(result, values[k])
            largest[k] = max(largest[k], float(np.max(off[np.isfinite(off)], initial=0)))
    if not any(np.any(np.isinf(e.jump)) for e in flat(tuple(errors))):
        return [2 * found for found in largest]
    args = [_mapped(poisoned, a, e) for a, e in zip(step.args, errors, strict=True)]
    results = flat(step.again(*args))
    return [
        np.where(np.isnan(r) & ~np.isnan(v), np.inf, 2 * found) if v.dtype.kind == "f" else np.inf
        for found, r, v in zip(largest, results, values, strict=True)
    ]


def _undecided_results(step: Step, errors: list[Any]) -> list[Array]:
    """Infinite where a result changes with elements that may be anything, each of them another."""
    found = [np.zeros(v.shape) for v in flat(step.value)]

    def replaced(number: float) -> Callable[[Array, Error], Array]:
        def replace(value: Array, error: Error) -> Array:
            free = np.isinf(full(error.jump, value))
            return np.where(free, np.asarray(number, value.dtype), value)

        return replace

    whole = any(a.dtype.kind != "f" for a in flat(tuple(step.args)))
    numbers = (0, 1, -1) if whole else (0.0, 1.0, -1.0, np.inf, -np.inf)
    for first in range(len(numbers)):
        args = [
            _mapped(replaced(numbers[(first + n) % len(numbers)]), a, e)
            for n, (a, e) in enumerate(zip(step.args, errors, strict=True))
        ]
        for k, result in enumerate(flat(step.again(*args))):
            changed = ~(_distance(result, flat(step.value)[k]) == 0)
            found[k] = np.where(changed, np.inf, found[k])
    return found


def _decided(value: Array, error: Error) -> Error:
    return Error(error.sigma, np.where(np.isinf(error.jump), 0.0, error.jump))


def changes(step: Step, reaches: Mapping[int, Any]) -> list[Array]:
    """The largest change of each result when arguments move by up to what `reaches` says of them,
    by number; jumps of several may have one cause, so they move together."""
    values = flat(step.value)
    largest = [np.zeros(v.shape) for v in values]
    for signs in product((1, -1), repeat=len(reaches)):
        args = list(step.args)
        for sign, (n, reach) in zip(signs, reaches.items(), strict=True):
            args[n] = shifted(step.args[n], sign * np.asarray(reach))
        for k, end in enumerate(flat(step.again(*args))):
            largest[k] = np.maximum(largest[k], _distance(end, values[k]))
    return largest


def shifted(value: Array, by: Any) -> Array:
    """`value` moved by `by`: integers in whole steps, and a truth value to the other one."""
    if value.dtype.kind == "f":
        return np.asarray(value + by)
    if value.dtype.kind == "b":
        return np.asarray(value ^ (np.asarray(by) != 0))
    limits = np.iinfo(value.dtype)
    moved = value.astype(np.float64) + np.sign(by) * np.ceil(np.abs(by))
    high = np.nextafter(float(limits.max), 0) if limits.max > 2**53 else limits.max
    clipped: Array = np.clip(moved, limits.min, high).astype(value.dtype)
    return clipped


def _distance(a: Array, b: Array) -> Array:
    if b.dtype.kind == "b":
        return np.asarray(a != b, np.float64)
    found = np.abs(a.astype(np.float64) - b.astype(np.float64))
    same = (a == b) | (np.isnan(a) & np.isnan(b)) if b.dtype.kind == "f" else a == b
    return np.where(same, 0.0, found)


def _bilinear(step: Step, errors: list[Any]) -> list[Error]:
    """Sums of products of the first two arguments."""
    (x, w), (ex, ew) = (
        step.args[:2],
        [_in_range(v, e) for v, e in zip(step.args[:2], errors[:2], strict=True)],
    )
    rest = list(step.args[2:])
    if step.op.name.startswith("qnn."):
        x, w = _centred(x, rest[0]), _centred(w, rest[1])
        rest = [np.zeros_like(r) if n < 2 else r for n, r in enumerate(rest)]
    x, w = np.abs(x.astype(np.float64)), np.abs(w.astype(np.float64))
    plain = not rest
    total: Any = 0.0
    if np.any(ex.sigma):
        total = _products(step, np.square(full(ex.sigma, x)), np.square(w), rest)
    if ew.relative and plain:
        total = total + ew.relative**2 * step.squares
    elif np.any(ew.sigma):
        total = total + _products(step, np.square(x), np.square(full(ew.sigma, w)), rest)
    # Jumps of neighbours may agree (ties that go the same way), so they add up in full.
    jump: Any = 0.0
    dx, dw = full(ex.jump, x), full(ew.jump, w)
    if np.any(dx):
        jump = np.asarray(step.again(dx, w + dw + REACH * full(ew.sigma, w), *rest), np.float64)
    if np.any(dw):
        jump = jump + np.asarray(step.again(x, dw, *rest), np.float64)
    return [Error(np.sqrt(np.abs(total)), np.abs(jump))]


def _products(step: Step, x: Array, w: Array, rest: list[Any]) -> Array:
    """Sums of products of positive numbers; in integers for operators with zero points."""
    return np.asarray(step.positive(x, w) if not rest else step.again(x, w, *rest), np.float64)


def _sum(step: Step, errors: list[Any]) -> list[Error]:
    """The sum of two arguments, or their difference."""
    a, b = errors
    vector = along_axis(step, full(b.sigma, step.args[1]))
    jump = a.jump + along_axis(step, full(b.jump, step.args[1])) if np.any(b.jump) else a.jump
    return [Error(full(hypot(a.sigma, vector), step.value), full(jump, step.value))]


def _product(step: Step, errors: list[Any]) -> list[Error]:
    (x, y), (ex, ey) = step.args, errors
    x, y = np.abs(x), np.abs(y)
    sigma = hypot(x * ey.sigma, y * ex.sigma)
    jump: Any = 0.0
    if np.any(ex.jump) or np.any(ey.jump):
        far, wide = x + REACH * ex.sigma, y + REACH * ey.sigma
        jump = far * ey.jump + wide * ex.jump + ex.jump * ey.jump
    return [Error(sigma, jump)]


def _relu(step: Step, errors: list[Any]) -> list[Error]:
    (x,), (error,) = step.args, errors
    if np.any(np.isinf(error.jump)):
        return _interval(step, errors)
    sigma, jump = (np.clip(x + r, 0, r) for r in (REACH * error.sigma, error.jump))
    return [Error(sigma / REACH, jump)]


def _batch_norm(step: Step, errors: list[Any]) -> list[Error]:
    """Inference, a line in its data."""
    if any(np.any(e.jump) for e in errors[1:]):
        return _interval(step, errors)
    x, error = step.args[0], errors[0]
    gamma, _, mean, variance = (along_axis(step, v) for v in step.args[1:])
    dgamma, dbeta, dmean, dvariance = (
        along_axis(step, full(e.sigma, v)) for e, v in zip(errors[1:], step.args[1:], strict=True)
    )
    if not step.attrs.scale:
        gamma, dgamma = np.ones_like(gamma), np.zeros_like(dgamma)
    if not step.attrs.center:
        dbeta = np.zeros_like(dbeta)
    s = np.sqrt(variance + step.attrs.epsilon)
    scale = np.abs(gamma) / s
    slope = np.square(dgamma / s) + np.square(scale * dvariance / (2 * np.square(s)))
    sigma = np.square(x - mean)
    sigma *= slope
    sigma += np.square(scale * error.sigma) + np.square(dbeta) + np.square(scale * dmean)
    rest = [Error(e.sigma, e.jump) for e in errors[3:]]
    return [Error(np.sqrt(sigma), scale * error.jump), *rest]


def _in_range(value: Array, error: Error) -> Error:
    """An integer that may be anything is in the range of its dtype nevertheless."""
    if value.dtype.kind not in "iu":
        return error
    info = np.iinfo(value.dtype)
    return Error(error.sigma, np.minimum(error.jump, float(info.max) - float(info.min)))


def _centred(x: Array, zero_point: Array) -> Array:
    return np.asarray(x.astype(np.float64) - np.asarray(zero_point, np.float64).reshape(-1)[0])


def _mean(step: Step, errors: list[Any]) -> list[Error]:
    """Sums and means. A jump counts in full, since those of neighbours may agree."""
    (x,), (error,) = step.args, errors
    window = step.attrs.get("pool_size") if step.attrs is not None else None
    k = prod(window) if window else x.size // max(1, step.value.size)
    squares = np.square(full(error.sigma, x))
    jump = np.abs(step.again(np.asarray(full(error.jump, x)))) if np.any(error.jump) else 0.0
    times = k if step.op.name == "sum" else 1 / k
    mean = step.again(squares) / (k if step.op.name == "sum" else 1)
    return [Error(np.sqrt(np.abs(mean) * times), jump)]


def _softmax(step: Step, errors: list[Any]) -> list[Error]:
    """ds_i = s_i * (dx_i - sum of s_j * dx_j); jumps at the ends of their intervals, where s_i is
    largest if x_i goes up and all others go down."""
    (x,), (error,) = step.args, errors
    axis, s = step.attrs.axis, step.value
    logarithm = step.op.name == "nn.log_softmax"
    share = np.exp(s) if logarithm else s

    def total(array: Array) -> Array:
        return np.asarray(np.sum(array, axis=axis, keepdims=True))

    d = full(error.sigma, x)
    sigma = np.sqrt(np.square(d) + total(np.square(share * d)))
    if not logarithm:
        sigma = np.minimum(s * np.expm1(np.minimum(sigma, 700)), 1.0)
    j = full(error.jump, x)
    if not np.any(j):
        return [Error(sigma)]
    free = np.any(np.isinf(j), axis=axis, keepdims=True)
    j = np.minimum(j, 300)
    moved: Any = 0.0
    for sign in (1, -1):
        mine, others = share * np.exp(sign * j), share * np.exp(-sign * j)
        rest = np.maximum(total(others) - others, 0.0) + mine
        if logarithm:
            moved = np.maximum(moved, np.abs(sign * j - np.log(rest)))
        else:
            moved = np.maximum(moved, np.abs(mine / rest - share))
    return [Error(sigma, np.where(free, np.inf, moved))]


def _arg(step: Step, errors: list[Any]) -> list[Error]:
    """argmax and argmin: how far away an index lies whose element may be the extreme one."""
    (x,), (error,) = step.args, errors
    reach = full(error.reach, x)
    up, down = step.again(x + reach), step.again(x - reach)
    value = np.asarray(step.value, np.float64)
    moved = np.maximum(_distance(up, step.value), _distance(down, step.value))
    axes = step.attrs.get("axis")
    if axes is None or len(axes) != 1 or step.attrs.get("exclude"):
        sign = 1 if step.op.name == "argmax" else -1
        best = np.max(sign * x - reach)
        rivals = np.count_nonzero(sign * x + reach >= best)
        return [Error(0.0, np.where(rivals > 1, float(x.size), moved))]
    axis = int(axes[0]) % x.ndim
    sign = 1 if step.op.name == "argmax" else -1
    best = np.max(sign * x - reach, axis=axis, keepdims=True)
    rival = sign * x + reach >= best
    shape = [1] * x.ndim
    shape[axis] = x.shape[axis]
    places = np.arange(x.shape[axis]).reshape(shape)
    kept = value if step.attrs.get("keepdims") else np.expand_dims(value, axis)
    far = np.max(np.where(rival, np.abs(places - kept), 0), axis=axis, keepdims=True)
    return [Error(0.0, far.reshape(value.shape).astype(np.float64))]


# Elements go from place to place, whatever TVM's pattern of the operator says.
MOVING = frozenset(
    ("broadcast_to", "broadcast_to_like", "expand_dims", "repeat", "tile", "copy", "reinterpret",
     "dyn.broadcast_to", "trilu")
)  # fmt: skip
# Moving operators some of whose arguments are places or sizes.
INDEXED = frozenset(
    ("take", "gather", "gather_nd", "adv_index", "sequence_mask", "reverse_sequence",
     "strided_slice", "dyn.strided_slice", "dyn.reshape", "dyn.tile", "dyn.expand_dims",
     "dyn.squeeze", "dyn.nn.pad", "dyn.broadcast_to", "image.crop_and_resize", "strided_set")
)  # fmt: skip
# Operators whose float results jump.
STEPS = frozenset(
    ("floor", "ceil", "round", "trunc", "sign", "mod", "floor_mod", "floor_divide", "trunc_mod",
     "trunc_divide", "qnn.simulated_quantize")
)  # fmt: skip
JUMP_ROUNDING = 1 + 4 * UNIT_ROUNDOFF["float32"]
DRAWS = 4  # of jumps in random directions
Rule = Callable[[Step, "list[Any]"], "list[Error]"]
RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
         "nn.conv3d_transpose", "nn.contrib_conv2d_NCHWc", "nn.contrib_depthwise_conv2d_NCHWc",
         "nn.dense", "nn.matmul", "nn.batch_matmul", "qnn.conv2d", "qnn.dense"),
        _bilinear,
    ),
    **dict.fromkeys(
        ("sum", "mean", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d", "nn.global_avg_pool2d",
         "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d"),
        _mean,
    ),
    **dict.fromkeys(("add", "subtract", "nn.bias_add"), _sum),
    "multiply": _product,
    "nn.relu": _relu,
    "nn.batch_norm": _batch_norm,
    **dict.fromkeys(NORMALIZATIONS, normalization),
    "variance": variance,
    **dict.fromkeys(
        ("max", "min", "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.global_max_pool2d",
         "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d", "all", "any",
         "sort"),
        _interval,
    ),
    **dict.fromkeys(
        ("annotation.compiler_begin", "annotation.compiler_end", "annotation.stop_fusion",
         "annotation.checkpoint", "nn.dropout", "device_copy", "on_device"),
        _moved,
    ),
    **dict.fromkeys(("nn.softmax", "nn.log_softmax", "nn.fast_softmax"), _softmax),
    **dict.fromkeys(("argmax", "argmin"), _arg),
}  # fmt: skip
