"""Tolerances: how far a float32 result may be from the exact one.

`rounding.py` estimates the rounding error of each operator. How these errors accumulate through a
network is measured: the float64 reference is run several times with random errors of that size
added to the result of every operator (stochastic arithmetic: Parker, "Monte Carlo arithmetic",
1997). The standard deviation of the results is multiplied by a factor that a correct result of n
elements exceeds with a probability of 1e-9.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from byoc_lab.errors import InputError
from byoc_lab.lab.checking.rounding import Array, flat, rounding, rounding_deviation
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, If, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.inputs import widened
from byoc_lab.run.interpreter import Observer, ScopeFrame, Steps
from byoc_lab.run.reference import Keep, Reference

FAILURE = 1e-9  # probability that a correct result is reported as wrong
FOLDING_ROUNDINGS = 4  # of a weight that a batch norm is folded into
MIN_SAMPLES, MAX_SAMPLES = 4, 32
SAMPLED_ELEMENTS = 1 << 24  # limit for all runs with errors: seconds of NumPy


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
    kept = Keep()
    _Flat(callees, kept).run(function, _wide_inputs(inputs))
    return kept.values


def bounded(
    function: Function,
    inputs: Mapping[Var, Any],
    *,
    exact_constants: bool = False,
    samples: int | None = None,
    seed: int = 0,
) -> Bounded:
    """Evaluate `function` in float64, with tolerances for a float32 evaluation.

    function: flat (see `inline.inlined`).
    exact_constants: whether the float32 code has exactly these constants. If not, it may have
        computed its own from them (folded weights).
    samples: the number of runs with random errors. By default 4 for a large network, up to 32 for
        a small one, whose results say less about their standard deviation.
    Raises InputError for fewer than one sample, and EvaluationError for an expression that has
    no value.
    """
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    wide = _wide_inputs(inputs)

    def run(observer: Observer) -> Sequence[Array]:
        return flat(_Flat({}, observer).run(function, wide))

    recorder = _Recorder()
    outputs = tuple(run(recorder))
    if samples is None:
        affordable = SAMPLED_ELEMENTS // max(1, recorder.elements)
        samples = min(max(affordable, MIN_SAMPLES), MAX_SAMPLES)
    noise = [_Noise(recorder.roundings, exact_constants, [seed, n]) for n in range(samples)]
    runs = [run(n) for n in noise]
    tolerances = []
    for n, output in enumerate(outputs):
        if output.dtype.kind != "f" or not output.size:
            tolerances.append(0.0)
            continue
        # Infinite and nan elements of the reference have no tolerance (see `validation.compare`).
        finite = np.isfinite(output)
        spread = sum(np.square(run[n][finite] - output[finite]) for run in runs) / samples
        sigma = sqrt(float(np.max(spread, initial=0)))
        tolerances.append(outlier_factor(output.size) * sigma)
    return Bounded(outputs, tuple(tolerances))


def outlier_factor(n: int) -> float:
    """The number of standard deviations that one of n normal numbers exceeds with probability
    1e-9."""
    return sqrt(2 * log(2 * n / FAILURE))


class _Recorder(Observer):
    """Records the rounding error of each call, and counts elements."""

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


class _Noise(Observer):
    """Adds the random errors of one run to the results of calls and to constants."""

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


class _Flat(Reference):
    """Evaluates flat functions in float64.

    Evaluates both branches of an `if`, so that every node has a value; operators have no effects.
    """

    def __init__(self, functions: Mapping[GlobalVar, Function], observer: Observer | None = None):
        super().__init__(IRModule(dict(functions)), wide=True, observer=observer)

    def if_(self, node: If, frame: ScopeFrame) -> Steps:
        true = yield self.scope(node.true_branch, frame)
        false = yield self.scope(node.false_branch, frame)
        return true if bool(frame.find(node.cond)) else false


def _wide_inputs(inputs: Mapping[Var, Any]) -> dict[Var, Any]:
    return {parameter: _wide(value) for parameter, value in inputs.items()}


def _wide(value: Any) -> Any:
    return tuple(map(_wide, value)) if isinstance(value, tuple) else widened(np.asarray(value))
