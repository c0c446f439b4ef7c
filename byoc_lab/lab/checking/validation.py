"""`validate`: compares regions and outputs with a float64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, UnknownLengthsError
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, narrowed, observe
from byoc_lab.lab.checking.checker import Checker, check_before, check_order, checked_options
from byoc_lab.lab.checking.comparison import compare, compare_all
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.progress import Listener, Progress
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.lab.language import in_language
from byoc_lab.relay.analysis.guessed_lengths import guessed_lengths
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.build import build
from byoc_lab.run.dynamic import DynamicExecutable
from byoc_lab.run.executable import Executable, is_external
from byoc_lab.run.inputs import bind_inputs, checked_module

Inputs = Mapping[str, Any] | Sequence[Any]


def validate(
    before: IRModule | Any,
    after: IRModule | Executable | Any,
    inputs: Inputs | None = None,
    *,
    detail: str = "region",
    samples: int | None = None,
    seed: int = 0,
    progress: Listener | None = None,
) -> Report:
    """Run `after` and compare its outputs and regions with the reference, on `inputs`.

    before: the module before any pass; it is computed with NumPy in float64.
    after: the result of the pipeline, as a module (which is built) or an executable. It has the
        same parameters as `before`.
    inputs: as `evaluate` takes them; if None, several sets of numbers from `seed`.
    detail: "region", or "operator": each kernel of each region is checked too, on the values that
        it got, and operators inside a fused one that fails (see `kernels.py`).
    samples, seed: of the random errors that the tolerances are derived from (see `bounded`).
    progress: is called with a `Moment` for each step; None: work of more than a second shows a line
        on a terminal or in a notebook.

    Modules of TVM's Relax are passed on to `byoc_lab.relax.validate`.

    Every region that a back end compiled runs once more by itself, on the reference's values of
    its inputs. Raises InputError, EvaluationError, and the errors of `build`.
    """
    check_before(before)
    foreign = in_language(before, "validate")
    if foreign is not None:
        return foreign.validate(
            after, inputs, detail=detail, samples=samples, seed=seed, progress=progress
        )
    checked_options("validate", detail, samples, seed)
    before = infer_module(checked_module(before, "validate"))
    if not isinstance(after, Executable):
        if isinstance(after, (list, tuple)):
            raise ArgumentError(
                "validate: the second argument must be the partitioned module or its executable, "
                f"found {type(after).__name__}; write validate(module, partitioned, inputs)"
            )
        checked_module(after, "validate, as the result of the pipeline,")
        check_order(_partitioned(before), _partitioned(after))
    exe = after if isinstance(after, Executable) else build(after)
    if inputs is not None:
        exe = exe.for_inputs(inputs)
    elif isinstance(exe, DynamicExecutable):
        raise _unknown_lengths(before["main"])
    sets = {} if inputs is not None else SETS
    calls = sum(isinstance(node, Call) for node in post_order(before["main"])) + len(exe.linked) + 1
    with Progress("validate", calls * (len(sets) or 1), progress) as steps:
        options = {"samples": samples, "seed": seed}
        regions = RegionChecks(exe.mod, exe.linked, detail == "operator", **options)
        checker = _Checker(before, exe, regions, options, steps)
        if inputs is not None:
            checker.check(inputs)
        for kind in sets:
            checker.check(example_inputs(before["main"], kind, seed), kind)
    made = [f"{what} (seed {seed})" for what in sets.values()]
    return checker.report(
        made or ["given"],
        regions.linked,
        fallbacks=tuple(
            f"@{r.symbol} of {r.compiler} ran on {r.facts.ran_on}: {r.why}"
            for r in exe.linked
            if r.compiled is None
        ),
        host_is_wrong=checker.passes_are_right,
    )


class _Checker(Checker):
    """Runs an executable of Relay. passes_are_right: as far as wrong outputs tell."""

    program: Executable

    def __init__(self, before: IRModule, exe: Executable, *given: Any):
        super().__init__(exe, *given)
        self.before = before
        self.passes_are_right = True

    def check(self, inputs: Inputs, kind: str = "") -> None:
        main = self.before["main"]
        bound = bind_inputs(main, inputs)
        wanted = bounded(main, bound, self.before, watch=self.watch, **self.options)
        self.progress.step("the executable")
        compared = self.compare_outputs(wanted, self.program.run(inputs))
        if not all(c.ok for c in compared):
            right = compare_all(self.after(inputs), wanted)
            self.passes_are_right &= all(c.ok for c in right)
        self.regions.check(inputs, self.progress, kind)

    def after(self, inputs: Inputs) -> list[Array]:
        """The outputs of the module after the pipeline, in the reference."""
        mod = self.program.mod
        run = observe(mod["main"], bind_inputs(mod["main"], inputs), mod, EXACT_RUN, keep=False)
        return [narrowed(q) for q in run.outputs]


__all__ = ["Report", "compare", "validate"]


def _unknown_lengths(main: Function) -> UnknownLengthsError:
    guess = {
        p.name_hint: guessed_lengths(p.checked_type.shape)
        for p in main.params
        if isinstance(p.checked_type, TensorType) and not p.checked_type.is_static
    }
    return UnknownLengthsError(
        f"the inputs {', '.join(guess)} have unknown lengths, so that none can be made: give "
        f"inputs, or their shapes, such as {guess} (a guess), by shape= of the importer or by "
        f"--shape on the command line",
        guess,
    )


def _partitioned(mod: IRModule) -> bool:
    return any(is_external(function) for function in mod.functions.values())
