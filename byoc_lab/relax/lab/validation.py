"""`relax.validate`: compares the regions and outputs of a Relax module with a float64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.lab.checking.checker import Checker, check_before, check_order, checked_options
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.progress import Listener, Progress
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relax import backends
from byoc_lab.relax.executable import RegionRun, RelaxExecutable, build, check_is_array
from byoc_lab.relax.ir import batch
from byoc_lab.relax.ir.calls import checked_relax, operator_calls, region_functions
from byoc_lab.relax.ir.types import batch_of, type_of
from byoc_lab.relax.reference import reference_function, region_in_relay
from byoc_lab.relay import IRModule, var
from byoc_lab.relay.ir.expr import Function, Tuple
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.hosts.host import LinkedRegion
from byoc_lab.run.inputs import by_position
from byoc_lab.run.relax_values import name_of

NO_CODEGEN = "no code generator of {} is registered by relax.register, so no operator ran alone"
Inputs = Mapping[str, Any] | Sequence[Any]


def validate(
    before: Any,
    after: Any,
    inputs: Inputs | None = None,
    *,
    detail: str = "region",
    samples: int | None = None,
    seed: int = 0,
    progress: Listener | None = None,
) -> Report:
    """Run `after` and compare its regions and outputs with the reference, on `inputs`.

    before: a module of Relax before partitioning; "main" is computed with NumPy in float64, if all
        its operators have a counterpart in Relay (`relax.reference`). If not, the report says that
        outputs were not compared.
    after: the partitioned module, before or after RunCodegen, or its RelaxExecutable. After
        RunCodegen the operators of regions are gone: they run and are counted, and outputs alone
        are compared.
    inputs, detail, samples, seed, progress: as for `byoc_lab.validate`. Sizes that are not known
        are those of the inputs, or without these small ones, each another.

    Each call of a region is compared with the reference on the values that the region got in the
    run, so that its error is its own. Raises ArgumentError, InputError, ValidationError for another
    number of outputs, and the errors of `relax.build`.
    """
    checked_options("relax.validate", detail, samples, seed)
    check_before(before)
    before = checked_relax(before, "relax.validate")
    for param in before["main"].params:
        check_is_array(param)
    exe = after if isinstance(after, RelaxExecutable) else build(after)
    check_order(bool(region_functions(before)), bool(exe.regions))
    symbols = [region.symbol for region in exe.regions]
    sets = {} if inputs is not None else SETS
    calls = len(list(operator_calls(before["main"]))) + len(symbols) + 1
    with Progress("validate", calls * (len(sets) or 1), progress) as steps:
        options = {"samples": samples, "seed": seed}
        checker = _Checker(before, exe, detail == "operator", options, steps)
        if inputs is not None:
            checker.check(by_position(inputs, exe.inputs))
        else:
            sizes = batch.sizes_for(before["main"])
            typed = _parameters(batch.with_sizes(before, sizes)["main"])
        for kind in sets:
            checker.check(list(example_inputs(typed, kind, seed).values()))
    made = [f"{what} (seed {seed})" for what in sets.values()]
    return checker.report(made or ["given"], symbols)


class _Checker(Checker):
    """Runs an executable of Relax, whose regions are compared on the values that they got in it."""

    program: RelaxExecutable

    def __init__(
        self,
        before: Any,
        exe: RelaxExecutable,
        inside: bool,
        options: dict[str, Any],
        progress: Progress,
    ):
        super().__init__(exe, RegionChecks(IRModule(), (), inside, **options), options, progress)
        self.before = before
        self._known: dict[tuple[str, int], LinkedRegion] = {}

    def check(self, inputs: list[Any]) -> None:
        arrays = [np.asarray(value) for value in inputs]
        self.progress.step("the executable")
        outputs, calls = self.program.observed(arrays)
        for call in calls:
            self.check_region(call)
        try:
            sizes = batch.sizes_for(self.before["main"], arrays)
            function = reference_function(batch.with_sizes(self.before, sizes)["main"])
        except BuildError as error:
            self.notes[f"outputs were not compared: {error}"] = None
            return
        values = dict(zip(function.params, arrays, strict=True))
        wanted = bounded(function, values, IRModule(), watch=self.watch, **self.options)
        self.compare_outputs(wanted, outputs)

    def check_region(self, call: RegionRun) -> None:
        symbol, compiler = call.region.symbol, call.region.compiler
        self.progress.step(f"region @{symbol}")
        if call.region.function is None:
            self.not_compared[symbol] = "RunCodegen has compiled it, and its operators are gone"
            return
        size = _batch(call.region.function, call.inputs)
        if (symbol, size) not in self._known:
            try:
                with batch.assumed(size):
                    function = region_in_relay(call.region.function, composites=True)
            except BuildError as error:
                self.not_compared[symbol] = str(error)
                return
            codegen = backends.get(compiler).codegen if self.regions.inside else None
            if self.regions.inside and codegen is None:
                self.notes[f"@{symbol}: {NO_CODEGEN.format(compiler)}"] = None
            made = LinkedRegion(symbol, compiler, function, None, None, codegen)
            self._known[symbol, size] = made
        self.regions.compare(self._known[symbol, size], call.inputs, call.outputs)


def _batch(function: Any, arrays: Sequence[Any]) -> int:
    """The batch of these inputs of a Relax function, if it is unknown."""
    given = zip(function.params, arrays, strict=True)
    return next((int(array.shape[0]) for p, array in given if batch_of(p)), batch.NOMINAL)


def _parameters(main: Any) -> Function:
    """A function of the same parameters, typed."""
    params = [var(name_of(p), type_of(p)) for p in main.params]
    typed = infer_expr(Function(params, Tuple(params)))
    assert isinstance(typed, Function)
    return typed
