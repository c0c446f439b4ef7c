"""Checks inside a region: each kernel, on the arguments that it received, against its own bound.

The code generator compiles the region once more, with every intermediate value as a result. One run
then gives the arguments and the result of each operator. The reference, computed from exactly these
arguments, gives the operator's own error, without inherited errors. A composite is one step; a
composite that fails is compiled alone, with its intermediate values as results. If code is wrong
only without intermediate results (kernels fused across steps), a binary search over programs that
end at earlier steps finds the wrong step. A code generator may refuse each of these programs, or
ignore the function that it gets: a note reports it, and the result of the region is compared
anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any

from byoc_lab.errors import BuildError, ByocLabError, RegionError
from byoc_lab.lab.checking.bounds.step import Array, flat, largest_difference
from byoc_lab.lab.checking.bounds.uncertain import ErrorModel, Quantity, narrowed, observe_steps
from byoc_lab.lab.checking.call_sites import CallSite, called, calls_of
from byoc_lab.lab.checking.comparison import Comparison, compare
from byoc_lab.lab.checking.tolerances import SAMPLES, bounded, tolerance
from byoc_lab.passes.normal_form.to_graph_normal_form import graph_form
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import FuncType, TensorType, TupleType
from byoc_lab.relay.ir.visit import applied, post_order
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.build import checked_region
from byoc_lab.run.hosts.host import LinkedRegion
from byoc_lab.run.reference import evaluate

Compute = Callable[[Expr, "dict[Expr, Any]"], "Array | None"]


@dataclass(frozen=True)
class Kernel:
    """One step of a region that was checked.

    node: the value that was compared; call: the operator or composite that computes it; region: the
    symbol of its region. own: the error for the arguments that the kernel received. alone: whether
    the composite around it was compiled alone, so that nothing outside is fused into it. got,
    wanted, tolerance: the computed and the expected result, and its tolerance. step, given: for a
    step that is wrong or was compiled alone, a function of the step alone and its arguments.
    complete: whether the code generator also compiled the other parts of that composite alone; if
    not, the fault may be in one of them. whole: whether the step is the whole region.
    """

    call: Call
    node: Expr
    own: Comparison
    region: str
    alone: bool = False
    step: Function | None = None
    given: tuple[Any, ...] = ()
    got: Array | None = None
    wanted: Array | None = None
    tolerance: Array | None = None
    complete: bool = True
    whole: bool = False

    @property
    def operator(self) -> Call:
        """The operator; for a composite or a region, the operator that computes its result."""
        found = self.call.op.body if isinstance(self.call.op, Function) else self.call
        assert isinstance(found, Call)
        return found


def region_values(function: Function) -> list[Expr]:
    """The tensors that the steps of a region compute, in order: calls of operators and composites,
    and projections of calls."""
    found = []
    for node in post_order(function.body, enter=lambda n: not isinstance(n, Function)):
        made = node.tuple_value if isinstance(node, TupleGetItem) else node
        if isinstance(made, Call) and isinstance(node.checked_type, TensorType):
            found.append(node)
    return found


class RegionChecker:
    """Checks the kernels of one compiled region on several sets of arguments."""

    def __init__(
        self, region: LinkedRegion, mod: IRModule, samples: int | None = None, seed: int = 0
    ):
        self.region, self.mod = region, mod
        self.options: dict[str, Any] = {"samples": samples, "seed": seed}
        self.model = ErrorModel(constants=0.0, samples=samples or SAMPLES, seed=seed)
        given, moved = _typed(region.function), dict[Expr, Expr]()
        # the region in graph form: each step uses the values of other steps directly
        flat_form = graph_form(given, moved)
        self.function = _typed(flat_form)
        self.runs = 0
        self.programs: dict[tuple[Expr, ...], tuple[set[Var], Any]] = {}
        self.numbers: dict[object, int] = {}  # the call-site numbers of steps, in order
        self.inputs = ""  # the name of the current set of inputs
        self.notes: list[str] = []
        # False once the code generator was seen to ignore the function that it gets
        self.reads_the_function = True
        # the exact values inside the region, for its current arguments
        self.exact_values: dict[Expr, Any] = {}
        typed: dict[Expr, Call] = dict(
            zip(calls_of(flat_form), calls_of(self.function), strict=True)
        )
        self.sites: dict[Expr, CallSite] = {
            typed[moved[call]]: CallSite(region.symbol, n, called(call))
            for n, call in enumerate(calls_of(given))
            if moved[call] in typed  # calls that are not in the graph form have no users
        }

    def kernels(self, arguments: Sequence[Any], whole_fails: bool = False) -> list[Kernel]:
        """Checks every step on the arguments of the region, and the steps inside a composite that
        fails.

        whole_fails: whether the result of the region is wrong; then a wrong step, or a wrong
        program of the first steps, is searched for.
        """
        self.exact_values = evaluate(self.function, arguments, dtype="float64", keep=True).values
        found = self.steps(self.function, arguments)
        for kernel in [k for k in found if not k.own.ok]:
            found += self.inside(kernel)
        if whole_fails and self.reads_the_function and all(k.own.ok for k in found):
            found += self.first_wrong(arguments)
        return found

    def steps(
        self, function: Function, arguments: Sequence[Any], alone: bool = False
    ) -> list[Kernel]:
        """Checks each step of `function` on the computed values of the earlier steps."""
        nodes = region_values(function)
        try:
            results = self.run(function, nodes, arguments)
        except (BuildError, RegionError) as error:
            self.notes.append(
                f"@{self.region.symbol}: could not look inside: {self._refusal(error)} with all "
                f"intermediate values as results ({error}); each step was compiled alone"
            )
            return self.one_by_one(function, arguments)
        computed = dict(zip(nodes, results, strict=True))
        return self.compared(function, arguments, lambda node, _: computed[node], alone)

    def compared(
        self, function: Function, arguments: Sequence[Any], compute: Compute, alone: bool
    ) -> list[Kernel]:
        """Compares each step of `function` with the reference for the same arguments.

        compute: returns the result of a step for the values of the earlier steps; None if it cannot
        be computed: later steps then get the exact result.
        """
        steps = set(region_values(function))
        inputs = dict(zip(function.params, arguments, strict=True))
        values: dict[Expr, Any] = dict(inputs.items())
        found: list[Kernel] = []

        def computed(node: Expr, wanted: Any) -> Array | None:
            if node not in steps:
                return None
            got = compute(node, values)
            if got is None:
                got = values[node] = narrowed(wanted)
            else:
                values[node] = got
                found.append(self.checked(node, wanted, values, alone))
            return got

        observe_steps(function, inputs, self.mod, self.model, computed)
        return found

    def one_by_one(self, function: Function, arguments: Sequence[Any]) -> list[Kernel]:
        """Checks each step of `function`, compiled alone."""

        def compute(node: Expr, values: dict[Expr, Any]) -> Array | None:
            step, given = _step(node, values)
            try:
                (got,) = self.run(step, [step.body], given)
            except (BuildError, RegionError) as error:
                self.notes.append(
                    f"@{self.region.symbol} {describe(node)}: {self._refusal(error)} alone "
                    f"({error}); it was checked only as part of its region"
                )
                return None
            return got

        found = self.compared(function, arguments, compute, True)
        if len(region_values(function)) > 1 and self.ignores_the_function(found):
            self.reads_the_function = False
            self.notes.append(
                f"@{self.region.symbol}: {self.region.compiler} computes the same for a step alone "
                f"as for the whole region: its code generator does not read the function that it "
                f"gets, so the steps were checked only as part of their region"
            )
            return []
        return found

    def ignores_the_function(self, steps: Sequence[Kernel]) -> bool:
        """Whether the code of each step computes the same as the code of the region: then the code
        generator ignores the function that it receives. Only checked if a step is wrong, for steps
        with the parameter types of the region."""
        if all(kernel.own.ok for kernel in steps):
            return False
        assert self.region.compiled is not None
        alike = [k for k in steps if _types(k.step) == _types(self.function)]
        for kernel in alike:
            try:
                results = self.region.compiled(*flat(kernel.given))
            except Exception as error:  # the code of the step computed these arguments
                self.notes.append(
                    f"@{self.region.symbol}: the code of the region fails on the arguments of "
                    f"{describe(kernel.node)} inside ({type(error).__name__}: {error})"
                )
                return False
            if not any(_same(kernel.got, result) for result in results):
                return False
        return bool(alike)

    def checked(self, node: Expr, wanted: Quantity, values: dict[Expr, Any], alone: bool) -> Kernel:
        """Compares the result of a step with the reference for the same arguments."""
        call = node.tuple_value if isinstance(node, TupleGetItem) else node
        assert isinstance(call, Call)
        number = self.numbers.setdefault(self.sites.get(call, call), len(self.numbers))
        name = f"@{self.region.symbol} {step_name(call)} {number}"
        if alone:
            name += ", compiled alone" + f", on {self.inputs} inputs" * bool(self.inputs)
        got, value, allowed = values[node], wanted.value, tolerance(wanted)
        exact = self.exact_values.get(node)
        own = replace(
            compare(name, got, value, allowed, wanted.causes),
            call_site=self.sites.get(call),
            inherited=nan if exact is None else largest_difference(value, exact),
        )
        step, given = _step(node, values) if alone or not own.ok else (None, [])
        symbol = self.region.symbol
        return Kernel(call, node, own, symbol, alone, step, tuple(given), got, value, allowed)

    def inside(self, kernel: Kernel) -> list[Kernel]:
        """Checks the operators of a composite, which is compiled alone."""
        step = kernel.step
        if step is None or not isinstance(step.body, Call):
            return []
        if not isinstance(step.body.op, Function):
            return []
        opened = _typed(Function(step.params, applied(step.body)))
        for copy, node in zip(calls_of(opened), calls_of(kernel.call.op), strict=True):
            self.sites[copy] = self.sites[node]
        found = self.steps(opened, kernel.given, alone=True)
        complete = len(found) == len(region_values(opened))
        return [replace(k, complete=complete) for k in found]

    def first_wrong(self, arguments: Sequence[Any]) -> list[Kernel]:
        """The first step whose value is wrong in a program that ends with it."""
        nodes = region_values(self.function)
        right, wrong = -1, len(nodes) - 1
        found: dict[int, Kernel] = {}
        while wrong - right > 1 or wrong not in found:
            middle = (right + wrong) // 2 if wrong - right > 1 else wrong
            try:
                found[middle] = self.up_to(nodes[middle], arguments)
            except (BuildError, RegionError) as error:
                self.notes.append(
                    f"@{self.region.symbol}: could not look inside: {self._refusal(error)} up to "
                    f"{describe(nodes[middle])} ({error})"
                )
                break
            if middle != wrong and found[middle].own.ok:
                right = middle
            else:
                wrong = middle
        return [found[wrong]] if wrong in found else []

    def up_to(self, node: Expr, arguments: Sequence[Any]) -> Kernel:
        (got,) = self.run(self.function, [node], arguments)
        cut = _typed(Function(self.function.params, node))
        inputs = dict(zip(cut.params, arguments, strict=True))
        wanted = bounded(cut, inputs, self.mod, exact_constants=True, **self.options)
        call = node.tuple_value if isinstance(node, TupleGetItem) else node
        assert isinstance(call, Call)
        name = f"@{self.region.symbol} up to {step_name(call)}"
        value, tolerance = wanted.outputs[0], wanted.tolerances[0]
        own = replace(
            compare(name, got, value, tolerance, wanted.causes[0]), call_site=self.sites.get(call)
        )
        symbol, given = self.region.symbol, tuple(arguments)
        return Kernel(call, node, own, symbol, False, cut, given, got, value, tolerance)

    def whole(
        self,
        output: int,
        arguments: Sequence[Any],
        own: Comparison,
        got: Array,
        wanted: Array,
        tolerance: Array,
    ) -> Kernel:
        """An output of the region as a single step; `own` is its comparison."""
        node = _tensors(self.function.body)[output]
        step = _typed(Function(self.function.params, node))
        call = region_values(step)[-1]
        call = call.tuple_value if isinstance(call, TupleGetItem) else call
        assert isinstance(call, Call)
        symbol, given = self.region.symbol, tuple(arguments)
        values = (step, given, got, wanted, tolerance)
        return Kernel(call, node, own, symbol, False, *values, whole=True)

    def run(
        self, function: Function, nodes: Sequence[Expr], arguments: Sequence[Any]
    ) -> list[Array]:
        """The values of `nodes` that the compiled code computes. Any error of the code generator
        becomes a BuildError, and any error of its code a RegionError, since a back end need not
        support these programs."""
        key = tuple(nodes)
        known = self.programs.get(key)
        try:
            if known is None:
                known = self.compiled(function, nodes)
        except Exception as error:
            raise BuildError(f"{type(error).__name__}: {error}") from error
        if function is self.function:  # the program may run on other arguments, too
            self.programs[key] = known
        used, program = known
        given = [a for p, a in zip(function.params, arguments, strict=True) if p in used]
        self.runs += 1
        try:
            results: list[Array] = program(*flat(tuple(given)))
        except Exception as error:
            raise RegionError(f"{type(error).__name__}: {error}") from error
        return results

    def _refusal(self, error: ByocLabError) -> str:
        """In words: how the back end failed on a program that it need not support."""
        if isinstance(error, BuildError):
            return f"{self.region.compiler} does not compile it"
        return f"the code of {self.region.compiler} fails on it"

    def compiled(self, function: Function, nodes: Sequence[Expr]) -> tuple[set[Var], Any]:
        """The parameters that `nodes` need, and a compiled program that computes `nodes` from
        them."""
        assert self.region.codegen is not None
        body = nodes[0] if len(nodes) == 1 else Tuple(list(nodes))
        reached = set(post_order(body))
        used = [p for p in function.params if p in reached]
        program = _typed(Function(used, body, attrs=self.region.function.attrs))
        made = self.region.codegen(program, self.region.symbol)
        region = checked_region(made, self.region.compiler, program, self.region.symbol)
        return set(used), region


def _types(function: Function | None) -> list[str]:
    return [] if function is None else [str(p.checked_type) for p in function.params]


def _same(a: Any, b: Array) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _tensors(value: Expr) -> list[Expr]:
    """The tensors of a result, with tuples flattened."""
    if not isinstance(value.checked_type, TupleType):
        return [value]
    number = len(value.checked_type.fields)
    projected = (TupleGetItem(value, n) for n in range(number))
    parts = value.fields if isinstance(value, Tuple) else map(infer_expr, projected)
    return [t for part in parts for t in _tensors(part)]


def _typed(function: Function) -> Function:
    typed = function if function.is_typed else infer_expr(function)
    assert isinstance(typed, Function)
    return typed


def _step(node: Expr, values: dict[Expr, Any]) -> tuple[Function, list[Any]]:
    """A function that computes `node` from its arguments, and the values of these arguments. Its
    nodes keep their types from the region."""
    call = node.tuple_value if isinstance(node, TupleGetItem) else node
    assert isinstance(call, Call)
    params: dict[Expr, Var] = {}

    def parameter(argument: Expr) -> Expr:
        if argument in values:
            if argument not in params:
                name = argument.name_hint if isinstance(argument, Var) else f"x{len(params)}"
                params[argument] = typed_as(Var(name, argument.checked_type), argument)
            return params[argument]
        if isinstance(argument, TupleGetItem) and isinstance(argument.tuple_value, Tuple):
            return parameter(argument.tuple_value.fields[argument.index])
        if isinstance(argument, Function) or not argument.parts():
            return argument  # an argument that is a constant or a function
        # Part of the step: a tuple, a tuple field, or a call that returns a tuple.
        parts = [parameter(p) for p in argument.parts()]
        made: Expr = typed_as(argument.with_parts(parts), argument)
        return made

    def typed_as(made: Any, like: Expr) -> Any:
        return made.with_type(like.checked_type)

    body = typed_as(Call(call.op, [parameter(a) for a in call.args], call.attrs), call)
    if isinstance(node, TupleGetItem):
        body = typed_as(TupleGetItem(body, node.index), node)
    result = body.checked_type
    function = Function(list(params.values()), body, result)
    given = FuncType([p.checked_type for p in function.params], result)
    return function.with_type(given), [values[a] for a in params]


def step_name(call: Call) -> str:
    """The operators of a step, joined by "+" for a composite."""
    if isinstance(call.op, Op):
        return call.op.name
    if isinstance(call.op, GlobalVar):
        return f"@{call.op.name_hint}"
    return "+".join(operator_names(call))


def operator_names(call: Call) -> Iterator[str]:
    """The operators of a composite, in order."""
    for node in post_order(call.op):
        if isinstance(node, Call) and isinstance(node.op, Op):
            yield node.op.name


__all__ = ["Kernel", "RegionChecker", "region_values", "step_name"]
