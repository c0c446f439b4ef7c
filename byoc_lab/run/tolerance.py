"""How far a float32 result may be from the exact one.

`rounding.py` says how large the rounding errors of each operator are. How they add up through a
network is measured instead of bounded: the float64 reference is run some times more with random
errors of just that size added to every operator's result (stochastic arithmetic: Parker, "Monte
Carlo arithmetic", 1997), and the spread of the results is multiplied by a factor for which an
outlier among n elements has a probability of 1e-9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from byoc_lab.errors import EvaluationError
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.op.evaluate import evaluate_op
from byoc_lab.relay.visit import post_order
from byoc_lab.run.inputs import widened
from byoc_lab.run.reference import widened_attrs
from byoc_lab.run.rounding import Array, flat, rounding, rounding_deviation

FAILURE = 1e-9  # probability that a correct result is called wrong
FOLDING_ROUNDINGS = 4  # that a weight goes through when a batch norm is folded into it
MIN_SAMPLES, MAX_SAMPLES = 4, 32
SAMPLED_ELEMENTS = 1 << 24  # that the runs with errors may compute in all: seconds of NumPy


@dataclass(frozen=True)
class Bounded:
    """The float64 result of a function, flat, with the tolerance of each of its arrays."""

    outputs: tuple[Array, ...]
    tolerances: tuple[float, ...]


def node_values(
    function: Function, inputs: Mapping[Var, Any], callees: Mapping[GlobalVar, Function]
) -> Mapping[Expr, Any]:
    """The float64 value of every node of a flat function (see `inline.inlined`).

    callees: the functions that it still calls, flat too. Raises EvaluationError.
    """
    return _Runner(function, inputs, callees).run()


def bounded(
    function: Function,
    inputs: Mapping[Var, Any],
    *,
    exact_constants: bool = False,
    samples: int | None = None,
    seed: int = 0,
) -> Bounded:
    """Evaluate `function` in float64 and say how far a float32 evaluation may be from that.

    function: flat (see `inline.inlined`).
    exact_constants: the constants are the numbers that the float32 code was given. Otherwise that
        code may have computed its own from them (folded weights).
    samples: how many runs with random errors; None: from 4 for a large network to 32 for a small
        one, whose few results tell less about their spread.
    Raises EvaluationError for what has no value.
    """
    if samples is not None and samples < 1:
        raise ValueError(f"samples must be at least 1, found {samples}")
    runner = _Runner(function, inputs, {})
    recorder = _Recorder()
    outputs = flat(runner.run(recorder)[function.body])
    if samples is None:
        affordable = SAMPLED_ELEMENTS // max(1, recorder.elements)
        samples = min(max(affordable, MIN_SAMPLES), MAX_SAMPLES)
    noise = [_Noise(recorder.roundings, exact_constants, [seed, n]) for n in range(samples)]
    runs = [flat(runner.run(n)[function.body]) for n in noise]
    tolerances = []
    for n, output in enumerate(outputs):
        if output.dtype.kind != "f" or not output.size:
            tolerances.append(0.0)
            continue
        # Where the reference is infinite or nan, nothing else will do (see `validate.compare`).
        finite = np.isfinite(output)
        spread = sum(np.square(run[n][finite] - output[finite]) for run in runs) / samples
        sigma = sqrt(float(np.max(spread, initial=0)))
        tolerances.append(outlier_factor(output.size) * sigma)
    return Bounded(outputs, tuple(tolerances))


def outlier_factor(n: int) -> float:
    """Among n normal numbers one is farther out, in standard deviations, with probability 1e-9."""
    return sqrt(2 * log(2 * n / FAILURE))


class _Observer:
    """Sees the value of every constant and operator call, and may give another one."""

    def on_constant(self, node: Constant, value: Any) -> Any:
        return value

    def on_result(self, node: Call, args: Sequence[Any], value: Any) -> Any:
        return value


class _Recorder(_Observer):
    """Keeps the size of each call's rounding error, and counts elements."""

    def __init__(self) -> None:
        self.roundings: dict[Expr, Any] = {}
        self.elements = 0

    def on_constant(self, node: Constant, value: Any) -> Any:
        self.elements += value.size
        return value

    def on_result(self, node: Call, args: Sequence[Any], value: Any) -> Any:
        self.roundings[node] = rounding(node, args, value)
        self.elements += sum(v.size for v in flat(value))
        return value


class _Noise(_Observer):
    """Random errors of one run: of the results of calls, and of constants."""

    def __init__(self, roundings: Mapping[Expr, Any], exact_constants: bool, seed: list[int]):
        self.roundings = roundings
        self.constants = 0.0 if exact_constants else sqrt(FOLDING_ROUNDINGS)
        self.random = np.random.default_rng(seed)

    def on_constant(self, node: Constant, value: Any) -> Any:
        relative = self.constants * rounding_deviation(node.data.dtype)
        return self._added(value, relative * np.abs(value) if relative else 0.0)

    def on_result(self, node: Call, args: Sequence[Any], value: Any) -> Any:
        return self._added(value, self.roundings[node])

    def _added(self, value: Any, deviation: Any) -> Any:
        if isinstance(value, tuple):
            each = deviation if isinstance(deviation, tuple) else (deviation,) * len(value)
            return tuple(map(self._added, value, each))
        if value.dtype.kind != "f" or not np.any(deviation):
            return value
        with np.errstate(invalid="ignore"):  # infinite values have infinite or undefined errors
            return value + deviation * self.random.standard_normal(value.shape)


class _Runner:
    """Evaluates a flat function in float64.

    Both branches of an `if` are evaluated: operators have no effects.
    """

    def __init__(
        self, function: Function, inputs: Mapping[Var, Any], callees: Mapping[Any, Function]
    ):
        self.nodes = list(post_order(function.body, enter=lambda n: not isinstance(n, Function)))
        self.inputs: dict[Expr, Any] = {p: _wide(v) for p, v in inputs.items()}
        self.callees = callees

    def run(self, observer: _Observer | None = None) -> dict[Expr, Any]:
        observer = observer or _Observer()
        values: dict[Expr, Any] = dict(self.inputs)
        for node in self.nodes:
            if node not in values and not isinstance(node, (Op, GlobalVar)):
                values[node] = self._value(node, values, observer)
        return values

    def _value(self, node: Expr, values: Mapping[Expr, Any], observer: _Observer) -> Any:
        if isinstance(node, Constant):
            return observer.on_constant(node, widened(node.numpy()))
        if isinstance(node, Tuple):
            return tuple(values[f] for f in node.fields)
        if isinstance(node, TupleGetItem):
            return values[node.tuple_value][node.index]
        if isinstance(node, If):
            return values[node.true_branch if values[node.cond] else node.false_branch]
        if isinstance(node, Call) and isinstance(node.op, Op):
            args = [values[a] for a in node.args]
            value = evaluate_op(node.op, widened_attrs(node.attrs), args)
            return observer.on_result(node, args, value)
        if isinstance(node, Call) and node.op in self.callees:
            callee = self.callees[node.op]
            inner = dict(zip(callee.params, (values[a] for a in node.args), strict=True))
            return _Runner(callee, inner, self.callees).run()[callee.body]
        raise EvaluationError(f"{describe(node)} has no value to compare with")


def _wide(value: Any) -> Any:
    return tuple(map(_wide, value)) if isinstance(value, tuple) else widened(np.asarray(value))
