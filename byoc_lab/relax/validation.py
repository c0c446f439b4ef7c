"""`relax.validate`: compares the regions and outputs of a Relax module with a float64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, BuildError, InputError, ValidationError
from byoc_lab.lab.checking.comparison import Comparison, compare
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.exercised import Exercised
from byoc_lab.lab.checking.kernels import Kernel, RegionChecker
from byoc_lab.lab.checking.report import NOT_CALLED, Report, region_errors, worst_of
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.lab.checking.validation import DETAILS
from byoc_lab.relax import backends, batch
from byoc_lab.relax.calls import checked_relax
from byoc_lab.relax.executable import RegionRun, RelaxExecutable, build
from byoc_lab.relax.reference import reference_function, region_in_relay
from byoc_lab.relax.types import batch_of, name_of, type_of
from byoc_lab.relay import IRModule, var
from byoc_lab.relay.ir.expr import Function, Tuple
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.hosts.host import LinkedRegion
from byoc_lab.run.inputs import by_position

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
) -> Report:
    """Run `after` and compare its regions and outputs with the reference, on `inputs`.

    before: a module of Relax before partitioning; "main" is computed with NumPy in float64, if all
        its operators have a counterpart in Relay (`relax.reference`). If not, the report says that
        outputs were not compared.
    after: the partitioned module, before or after RunCodegen, or its RelaxExecutable. After
        RunCodegen the operators of regions are gone: they run and are counted, and outputs alone
        are compared.
    inputs, detail, samples, seed: as for `byoc_lab.validate`. Sizes that are not known are those of
        the inputs, or without these small ones, each another.

    Each call of a region is compared with the reference on the values that the region got in the
    run, so that its error is its own. Raises ArgumentError, InputError, ValidationError for another
    number of outputs, and the errors of `relax.build`.
    """
    if detail not in DETAILS:
        raise ArgumentError(
            f'relax.validate: detail must be "region" or "operator", found {detail!r:.80}'
        )
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    before = checked_relax(before, "relax.validate")
    exe = after if isinstance(after, RelaxExecutable) else build(after)
    checker = _Checker(before, exe, {"samples": samples, "seed": seed}, detail)
    if inputs is not None:
        checker.check(by_position(inputs, exe.inputs))
        return checker.report(["given"])
    unknown = batch.unknown_sizes(before["main"])
    sizes = {name: batch.NOMINAL + n for n, name in enumerate(unknown)}
    typed = _parameters(batch.with_sizes(before, sizes)["main"])
    for kind in SETS:
        checker.check(list(example_inputs(typed, kind, seed).values()))
    return checker.report([f"{what} (seed {seed})" for what in SETS.values()])


class _Checker:
    """Compares one executable on one set of inputs after the other."""

    def __init__(self, before: Any, exe: RelaxExecutable, options: dict[str, Any], detail: str):
        self.before, self.exe, self.options, self.detail = before, exe, options, detail
        self.outputs: list[Comparison] = []
        self.regions: list[Comparison] = []
        self.kernels: list[Kernel] = []
        self.reached: set[str] = set()
        self.exercised = Exercised()
        self.not_compared: dict[str, str] = {}  # why, by symbol of the region
        self.notes: dict[str, None] = {}

    def check(self, inputs: list[Any]) -> None:
        arrays = [np.asarray(value) for value in inputs]
        outputs, calls = self.exe.observed(arrays)
        for call in calls:
            self.check_region(call)
        try:
            unknown = batch.unknown_sizes(self.before["main"])
            sizes = {name: arrays[n].shape[axis] for name, ((n, axis), *_) in unknown.items()}
            function = reference_function(batch.with_sizes(self.before, sizes)["main"])
        except BuildError as error:
            self.notes[f"outputs were not compared: {error}"] = None
            return
        values = dict(zip(function.params, arrays, strict=True))
        wanted = bounded(function, values, IRModule(), watch=self.exercised, **self.options)
        if len(outputs) != len(wanted.outputs):
            raise ValidationError(
                f"the module has {len(wanted.outputs)} outputs before partitioning, and "
                f"{len(outputs)} after it; both must compute the same outputs"
            )
        for n, group in enumerate(wanted.groups(outputs)):
            name = f"output {n}" if len(outputs) > 1 else "output"
            self.outputs.append(compare(name, *group))

    def check_region(self, call: RegionRun) -> None:
        symbol = call.region.symbol
        if call.region.function is None:
            self.not_compared[symbol] = "RunCodegen has compiled it, and its operators are gone"
            return
        try:
            with batch.assumed(_batch(call.region.function, call.inputs)):
                function = region_in_relay(call.region.function, composites=True)
        except BuildError as error:
            self.not_compared[symbol] = str(error)
            return
        self.reached.add(symbol)
        values = dict(zip(function.params, call.inputs, strict=True))
        wanted = bounded(function, values, exact_constants=True, **self.options)
        several = len(call.outputs) > 1
        compared = [
            compare(f"@{symbol} output {n}" if several else f"@{symbol}", *group)
            for n, group in enumerate(wanted.groups(call.outputs))
        ]
        self.regions += compared
        if self.detail == "operator":
            codegen = backends.get(call.region.compiler).codegen
            if codegen is None:
                self.notes[f"@{symbol}: {NO_CODEGEN.format(call.region.compiler)}"] = None
                return
            compiled = codegen(function, symbol)
            region = LinkedRegion(symbol, call.region.compiler, function, compiled, None, codegen)
            checker = RegionChecker(region, IRModule(), **self.options)
            self.kernels += checker.kernels(call.inputs, not all(c.ok for c in compared))
            self.notes.update(dict.fromkeys(checker.notes))

    def report(self, inputs: list[str]) -> Report:
        regions = worst_of(self.regions)
        for symbol, errors in region_errors(regions).items():
            self.exe.note_errors(symbol, errors)
        symbols = [r.symbol for r in self.exe.regions if r.symbol not in self.reached]
        left = {s: self.not_compared.get(s, NOT_CALLED) for s in symbols}
        return Report(
            regions,
            worst_of(self.outputs),
            worst_of([k.own for k in self.kernels]),
            inputs=tuple(inputs),
            missed=(*self.exercised.missed(), *self.notes),
            not_compared=tuple(f"@{symbol}: {why}" for symbol, why in left.items()),
            stand_ins=self.exe.stand_ins,
        )


def _batch(function: Any, arrays: Sequence[Any]) -> int:
    """The batch of these inputs of a Relax function, where it is not known."""
    given = zip(function.params, arrays, strict=True)
    return next((int(array.shape[0]) for p, array in given if batch_of(p)), batch.NOMINAL)


def _parameters(main: Any) -> Function:
    """A function of the same parameters, typed."""
    params = [var(name_of(p), type_of(p)) for p in main.params]
    typed = infer_expr(Function(params, Tuple(params)))
    assert isinstance(typed, Function)
    return typed
