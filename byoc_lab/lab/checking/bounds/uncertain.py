"""`observe`: one run of a module in float64; each value has the error that float32 code may have.

Every operator is evaluated for the exact arguments and, if these have errors, for a few samples
with random errors (stochastic arithmetic: Parker, "Monte Carlo arithmetic", 1997). The derived
standard deviations (`propagation.py`) assume independent errors. If the deviations of the samples
are larger, because errors with a common cause add up, the derived deviations are scaled up to
match.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import sqrt
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from byoc_lab.lab.checking.bounds.causes import NONE, UNDEFINED, Causes, inherited_causes
from byoc_lab.lab.checking.bounds.error import EXACT, Error, some
from byoc_lab.lab.checking.bounds.functions import common_error
from byoc_lab.lab.checking.bounds.intervals import measured_jumps
from byoc_lab.lab.checking.bounds.propagation import propagated
from byoc_lab.lab.checking.bounds.rounding import rounding
from byoc_lab.lab.checking.bounds.samples import calibrated, joined, largest_errors
from byoc_lab.lab.checking.bounds.step import Array, Step, Sum, flat, mapped, rounding_deviation
from byoc_lab.lab.checking.bounds.undecided import denormal, rounded_steps, undecided
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import name_of, numpy_dtype
from byoc_lab.relay.ir.types import TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.inputs import widened
from byoc_lab.run.interpreter import Closure, Observer, ScopeFrame, Steps
from byoc_lab.run.reference import Reference, widened_attrs
from byoc_lab.run.values import value_of

Watch = Callable[[Call, "tuple[Any, ...]", Any], None]
OnRegion = Callable[["RegionCall"], "Sequence[Array] | None"]
Computed = Callable[[Expr, Any], "Array | None"]
FOLDING_ROUNDINGS = 4  # roundings of a weight into which a batch norm is folded


@dataclass(eq=False)
class Quantity:
    """One array of a run.

    value: the array in float64. samples: the array with random errors; empty for an exact array.
        made_by: the step of the run that computed it, or None for an input or a constant, which is
        then `leaf`. dtype: its dtype in the module. sum: the `Sum` by which a kernel may compute it
        (see `products.py`).
    causes: why some of its elements may have any value.
    """

    value: Array
    error: Error = EXACT
    samples: tuple[Array, ...] = ()
    made_by: Executed | None = None
    leaf: Expr | None = None
    dtype: str = "float32"
    sum: Sum | None = None
    causes: Causes = NONE

    def sample(self, n: int) -> Array:
        return self.samples[n] if self.samples else self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape


@dataclass(eq=False)
class Executed:
    """One evaluated call of an operator.

    number: its position in the run. arguments: the arguments as given, including tuples. inside:
    the enclosing global functions, outermost first.
    """

    number: int
    call: Call
    arguments: tuple[Any, ...]
    inside: tuple[str, ...]
    results: tuple[Quantity, ...] = ()

    @property
    def args(self) -> tuple[Quantity, ...]:
        """The arguments, flattened."""
        return flat_quantities(self.arguments)


@dataclass(frozen=True, eq=False)
class RegionCall:
    """One call of an external function, with the values of its arguments."""

    symbol: str
    function: Function
    arguments: tuple[Any, ...]


@dataclass
class Run:
    """The result of `observe`: the outputs, flattened, and every operator call in order."""

    outputs: tuple[Quantity, ...]
    steps: list[Executed] = field(default_factory=list)


@dataclass(frozen=True)
class ErrorModel:
    """The kinds of errors that a run models.

    roundings: whether each operator rounds, as float32 code does. constants: the number of
    roundings that each constant may have undergone (see FOLDING_ROUNDINGS). samples: the number of
    samples.
    """

    roundings: bool = True
    constants: float = FOLDING_ROUNDINGS
    samples: int = 4
    seed: int = 0


EXACT_RUN = ErrorModel(roundings=False, constants=0.0, samples=0)


def observe(
    function: Function,
    inputs: Mapping[Var, Any],
    mod: IRModule | None = None,
    model: ErrorModel | None = None,
    *,
    exact: Collection[Constant] = (),
    keep: bool = True,
    watch: Watch | None = None,
    regions: OnRegion | None = None,
) -> Run:
    """Run `function` on exact `inputs`. Raises EvaluationError.

    exact: constants without errors, in addition to scales and zero points of quantized operators.
        keep: whether the run keeps its steps, and so every value. watch: is called with each
        operator call, its arguments and its value. regions: is called with each call of an external
        function. It may return the results of the function, flattened; the function is then not
        run.
    """
    reference = _Uncertain(mod or IRModule(), model or ErrorModel(), keep, watch, regions)
    if reference.model.constants:
        functions = mod.functions.values() if mod is not None else ()
        reference.exact = {*exact, *quantization_constants(function, *functions)}
    value = reference.run(function, {p: reference.leaf(v, p) for p, v in inputs.items()})
    return Run(flat_quantities(value), reference.steps)


def observe_steps(
    function: Function,
    inputs: Mapping[Var, Any],
    mod: IRModule,
    model: ErrorModel,
    computed: Computed,
) -> None:
    """Run `function` on exact `inputs`, each step on the arguments that compiled code gave it.

    computed: is called with each node and its value. It returns the array that the code computed
    for the node; later steps have that array as an exact argument. None: the node is not a step.
    """
    reference = _StepByStep(mod, model, computed)
    reference.run(function, {p: reference.leaf(v, p) for p, v in inputs.items()})


def quantization_constants(*functions: Function) -> Iterator[Constant]:
    """The constants that quantized operators have as arguments: scales and zero points."""
    for node in post_order(*functions):
        if isinstance(node, Call) and isinstance(node.op, Op) and node.op.name.startswith("qnn."):
            yield from (arg for arg in node.args if isinstance(arg, Constant))


class _Uncertain(Reference):
    """Evaluates a function with quantities in place of arrays."""

    def __init__(
        self,
        mod: IRModule,
        model: ErrorModel,
        keep: bool,
        watch: Watch | None,
        on_region: OnRegion | None,
    ):
        super().__init__(mod, wide=True)
        self.model = model
        self.steps: list[Executed] = []
        self.keep = keep
        self.watch, self.on_region = watch, on_region
        self.inside: list[str] = []
        self.exact: Collection[Constant] = ()

    @cached_property
    def random(self) -> np.random.Generator:
        return np.random.default_rng(self.model.seed)

    def leaf(self, value: Any, leaf: Expr) -> Any:
        if isinstance(value, tuple):
            return tuple(self.leaf(v, leaf) for v in value)
        array = np.asarray(value)
        wide, dtype = widened(array), name_of(array.dtype)
        return Quantity(wide, self.of_leaf(wide, dtype), leaf=leaf, dtype=dtype)

    def of_leaf(self, value: Array, dtype: str, sigma: Any = 0.0) -> Error:
        """The error of an input or a constant."""
        return Error(sigma, denormal(value, dtype)) if self.model.roundings else Error(sigma)

    def constant(self, node: Constant, frame: ScopeFrame) -> Quantity:
        value = widened(node.numpy())
        relative = sqrt(self.model.constants) * rounding_deviation(node.data.dtype)
        if not relative or node in self.exact:
            error = self.of_leaf(value, node.data.dtype)
            return Quantity(value, error, leaf=node, dtype=node.data.dtype)
        sigma = relative * np.where(np.isfinite(value), np.abs(value), 0.0)
        drawn = self._noisy(value, sigma)
        known = self.of_leaf(value, node.data.dtype, sigma)
        error = Error(sigma, known.jump, relative)
        return Quantity(value, error, drawn, leaf=node, dtype=node.data.dtype)

    def _noisy(self, value: Array, sigma: Array) -> tuple[Array, ...]:
        return tuple(value + sigma * self._signs(value) for _ in range(self.model.samples))

    def _signs(self, value: Array) -> Array:
        """1 or -1 for each element, at random: the cheapest random number of variance 1."""
        packed = np.frombuffer(self.random.bytes(value.size // 8 + 1), np.uint8)
        bits: Array = np.unpackbits(packed, count=value.size).view(np.int8)
        return (2 * bits - 1).reshape(value.shape)

    def enter(self, node: Call, callee: Closure, args: list[Any], frame: ScopeFrame) -> Steps:
        named = callee.name is not None
        if callee.name is not None:
            self.inside.append(callee.name.name_hint)
            if "Compiler" in callee.function.attrs:
                call = RegionCall(callee.name.name_hint, callee.function, tuple(args))
                given = self.on_region(call) if self.on_region is not None else None
                if given is not None:
                    self.inside.pop()
                    return self.of_region(call, given)
        value = yield from super().enter(node, callee, args, frame)
        if named:
            self.inside.pop()
        return value

    def of_region(self, call: RegionCall, given: Sequence[Array]) -> Any:
        """The results of a region as quantities."""
        ty = call.function.ret_type
        assert ty is not None  # the module is typed, so the result has a checked type
        dtypes = _dtypes_of(ty)
        return value_of(ty, (Quantity(v, dtype=d) for v, d in zip(given, dtypes, strict=True)))

    def operator(self, node: Call, op: Op, args: list[Any], frame: ScopeFrame) -> Any:
        exact = mapped(attrgetter("value"), tuple(args))
        value = super().operator(node, op, list(exact), frame)
        attrs = op.definition.attributes(node.attrs)
        sums = [a.sum if isinstance(a, Quantity) else None for a in args]
        dtypes = _dtypes(node, len(flat(value)))
        dtype = dtypes[0] if dtypes else "float32"
        step = Step(op, widened_attrs(attrs), exact, value, sums, dtype)
        given = flat_quantities(tuple(args))
        if self.watch is not None:
            self.watch(node, exact, value)
        results = flat(value)
        errors = list(mapped(attrgetter("error"), tuple(args)))
        inherited = propagated(step, errors) or self.measured(step, args, given, errors)
        own, total, causes = self._own(step, dtypes, errors, inherited)
        samples = self._samples(step, args, given, own)
        made = []
        for k, (v, o, i) in enumerate(zip(results, own, inherited, strict=True)):
            drawn = tuple(s[k] for s in samples)
            error, why = calibrated(v, joined(v, o, i), drawn), causes[k]
            if i.unbounded:
                why |= inherited_causes(
                    step, v, i, [q.error for q in given], [q.causes for q in given]
                )
            made.append(
                Quantity(v, error, drawn, dtype=dtypes[k], sum=None if k else total, causes=why)
            )
        if self.keep:
            done = Executed(len(self.steps), node, tuple(args), tuple(self.inside), tuple(made))
            for quantity in made:
                quantity.made_by = done
            self.steps.append(done)
        return _structured(value, iter(made))

    def measured(
        self, step: Step, args: list[Any], given: Sequence[Quantity], errors: list[Any]
    ) -> list[Error]:
        """Measure the errors that an operator without a rule propagates from its arguments."""
        results = flat(step.value)
        drawn = self._samples(step, args, given, [EXACT] * len(results))
        jumps = measured_jumps(step, errors, self.random)
        return [
            Error(e.sigma, e.jump + j)
            for e, j in zip(largest_errors(results, drawn), jumps, strict=True)
        ]

    def _own(
        self, step: Step, dtypes: Sequence[str], errors: list[Any], inherited: Sequence[Error]
    ) -> tuple[list[Error], Sum | None, list[Causes]]:
        """Returns the errors that the operator adds for exact arguments; the `Sum` by which a
        kernel may compute its result; why elements of each result may have any value."""
        count = len(dtypes)
        if not self.model.roundings:
            return [EXACT] * count, None, [NONE] * count
        with np.errstate(all="ignore"):
            found, total = rounding(step)
            common = common_error(step)
        each = found if isinstance(found, tuple) else (found,) * count
        errors_found, causes = [], []
        for o, v, d, i in zip(each, flat(step.value), dtypes, inherited, strict=True):
            if v.dtype.kind == "f":
                jump, why = undecided(step, v, d)
                errors_found.append(Error(np.where(np.isfinite(v), o, 0.0), jump + common))
            else:
                jump = rounded_steps(step, v, errors, i)
                why = frozenset({UNDEFINED}) if np.any(np.isinf(jump)) else NONE
                errors_found.append(Error(0.0, jump))
            causes.append(why)
        return errors_found, total, causes

    def _samples(
        self, step: Step, args: list[Any], given: Sequence[Quantity], own: Sequence[Error]
    ) -> list[tuple[Array, ...]]:
        """The results for each sample of the arguments, plus random errors of the operator."""
        inexact = any(q.samples for q in given)
        if not inexact and all(not some(e.sigma) for e in own):
            return []
        made = []
        for n in range(self.model.samples):
            results = flat(step.value)
            if inexact:
                results = flat(step.again(*mapped(methodcaller("sample", n), tuple(args))))
            made.append(
                tuple(
                    r + e.sigma * self._signs(r) if r.dtype.kind == "f" and some(e.sigma) else r
                    for r, e in zip(results, own, strict=True)
                )
            )
        return made


class _StepByStep(_Uncertain, Observer):
    """Replaces the value of each step by its computed array.

    Samples correct the propagation of errors: they are drawn in the functions that a step calls; a
    single operator on exact values needs none. Each step draws the same random numbers, whatever
    precedes it.
    """

    def __init__(self, mod: IRModule, model: ErrorModel, computed: Computed):
        super().__init__(mod, replace(model, samples=0), False, None, None)
        self.inside_a_step, self.computed = model, computed
        self.observer = self

    def enter(self, node: Call, callee: Closure, args: list[Any], frame: ScopeFrame) -> Steps:
        outside, self.model = self.model, self.inside_a_step
        value = yield from super().enter(node, callee, args, frame)
        self.model = outside
        return value

    def on_value(self, node: Expr, value: Any) -> Any:
        array = self.computed(node, value)
        if array is None:
            return value
        vars(self).pop("random", None)
        return self.leaf(array, node)


def _dtypes(node: Call, count: int) -> list[str]:
    """The dtypes of the results of a call: float32 if the call is not typed."""
    found = _dtypes_of(node.checked_type) if node.is_typed else []
    return found if len(found) == count else ["float32"] * count


def _dtypes_of(ty: Type) -> list[str]:
    todo, found = [ty], []
    while todo:
        item = todo.pop()
        if isinstance(item, TupleType):
            todo += reversed(item.fields)
        else:
            found.append(str(getattr(item, "dtype", "float32")))
    return found


def flat_quantities(value: Any) -> tuple[Quantity, ...]:
    """The quantities in a nested tuple, in order."""
    return tuple(q for q in flat(value) if isinstance(q, Quantity))


def _structured(value: Any, made: Iterator[Quantity]) -> Any:
    if isinstance(value, tuple):
        return tuple(_structured(v, made) for v in value)
    return next(made)


def narrowed(value: Any) -> Any:
    """Quantities as arrays in their dtypes in the module."""
    if isinstance(value, tuple):
        return tuple(map(narrowed, value))
    assert isinstance(value, Quantity)
    with np.errstate(over="ignore"):
        return value.value.astype(numpy_dtype(value.dtype))
