"""`RelaxChecker`: the implementation of `validate` for Relax modules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.lab.checking.checker import Checker, check_order
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.lab.checking.regions import RegionChecks
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


class RelaxChecker(Checker):
    """Runs a Relax executable; regions are compared on the arguments that they received in that
    run."""

    program: RelaxExecutable

    def __init__(self, before: Any, after: Any, inside: bool, options: Mapping[str, Any]):
        self.before = checked_relax(before, "validate")
        main = self.before["main"]
        for param in main.params:
            check_is_array(param)
        exe = after if isinstance(after, RelaxExecutable) else build(after)
        check_order(bool(region_functions(self.before)), bool(exe.regions))
        symbols = [region.symbol for region in exe.regions]
        regions = RegionChecks(IRModule(), (), inside, **options)
        calls = sum(1 for _ in operator_calls(main)) + len(symbols)
        super().__init__(exe, regions, options, symbols, calls)
        self._known: dict[tuple[str, int], LinkedRegion] = {}

    def example(self, kind: str, seed: int) -> Sequence[Any]:
        return list(example_inputs(self._parameters, kind, seed).values())

    @cached_property
    def _parameters(self) -> Function:
        """A typed function with the parameters of main."""
        sized = batch.with_sizes(self.before, batch.sizes_for(self.before["main"]))["main"]
        params = [var(name_of(p), type_of(p)) for p in sized.params]
        typed = infer_expr(Function(params, Tuple(params)))
        assert isinstance(typed, Function)
        return typed

    def check(self, inputs: Mapping[str, Any] | Sequence[Any], kind: str = "") -> None:
        arrays = [np.asarray(value) for value in by_position(inputs, self.program.inputs)]
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
            self.not_compared[symbol] = (
                "RunCodegen has compiled it, so its operators are no longer known"
            )
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
    """The batch size in these inputs of a Relax function, if it is unknown in the function."""
    given = zip(function.params, arrays, strict=True)
    return next((int(array.shape[0]) for p, array in given if batch_of(p)), batch.NOMINAL)
