"""`RelayChecker`: runs and checks Relay programs for `validate`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from byoc_lab.errors import ArgumentError, UnknownLengthsError
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, narrowed, observe
from byoc_lab.lab.checking.checker import Checker, check_order
from byoc_lab.lab.checking.comparison import compare_all
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay.analysis.guessed_sizes import guessed_sizes
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.build import build
from byoc_lab.run.dynamic import DynamicExecutable
from byoc_lab.run.executable import Executable, is_external
from byoc_lab.run.inputs import bind_inputs, checked_module


class RelayChecker(Checker):
    """Runs a Relay executable. passes_are_right: whether the module after the pipeline gives the
    right outputs in the reference, for every wrong output so far."""

    program: Executable

    def __init__(
        self, before: Any, after: Any, inputs: Any, inside: bool, options: Mapping[str, Any]
    ):
        self.before = infer_module(checked_module(before, "validate"))
        exe = self._built(after)
        main = self.before["main"]
        if inputs is not None:
            exe = exe.for_inputs(inputs)
        elif isinstance(exe, DynamicExecutable):
            raise _unknown_lengths(main)
        regions = RegionChecks(exe.mod, exe.linked, inside, **options)
        calls = sum(isinstance(node, Call) for node in post_order(main)) + len(exe.linked)
        super().__init__(exe, regions, options, list(regions.linked), calls)
        self.passes_are_right = True

    def _built(self, after: Any) -> Executable:
        if isinstance(after, Executable):
            return after
        if isinstance(after, (list, tuple)):
            raise ArgumentError(
                "validate: the second argument must be the partitioned module or its executable, "
                f"found {type(after).__name__}; write validate(module, partitioned, inputs)"
            )
        checked_module(after, "validate, as the result of the pipeline,")
        check_order(_partitioned(self.before), _partitioned(after))
        return build(after)

    def example(self, kind: str, seed: int) -> Mapping[str, Any]:
        return example_inputs(self.before["main"], kind, seed)

    def check(self, inputs: Any, kind: str = "") -> None:
        main = self.before["main"]
        bound = bind_inputs(main, inputs)
        wanted = bounded(main, bound, self.before, watch=self.watch, **self.options)
        self.progress.step("the executable")
        compared = self.compare_outputs(wanted, self.program.run(inputs))
        if not all(c.ok for c in compared):
            right = compare_all(self.after(inputs), wanted)
            self.passes_are_right &= all(c.ok for c in right)
        self.regions.check(inputs, self.progress, kind)

    def after(self, inputs: Any) -> list[Array]:
        """The outputs that the reference computes for the module after the pipeline."""
        mod = self.program.mod
        run = observe(mod["main"], bind_inputs(mod["main"], inputs), mod, EXACT_RUN, keep=False)
        return [narrowed(q) for q in run.outputs]

    def report(self, inputs: Iterable[str], **more: Any) -> Report:
        return super().report(
            inputs,
            fallbacks=tuple(
                f"@{r.symbol} of {r.compiler} ran on {r.facts.ran_on}: {r.why}"
                for r in self.program.linked
                if r.compiled is None
            ),
            host_is_wrong=self.passes_are_right,
            **more,
        )


def _unknown_lengths(main: Function) -> UnknownLengthsError:
    guess = {
        p.name_hint: guessed_sizes(p.checked_type.shape)
        for p in main.params
        if isinstance(p.checked_type, TensorType) and not p.checked_type.is_static
    }
    return UnknownLengthsError(
        f"the inputs {', '.join(guess)} have unknown dimension sizes, so no values can be "
        f"generated: give inputs, or their shapes, such as {guess} (a guess), by shape= of the "
        f"importer or by --shape on the command line",
        guess,
    )


def _partitioned(mod: IRModule) -> bool:
    return any(is_external(function) for function in mod.functions.values())
