"""`validate`: compares regions and outputs with a float64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, InputError, UnknownLengthsError, ValidationError
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, narrowed, observe
from byoc_lab.lab.checking.comparison import Comparison, compare
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.exercised import Exercised
from byoc_lab.lab.checking.progress import Listener, Progress
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import NOT_CALLED, Report, region_errors, worst_of
from byoc_lab.lab.checking.tolerances import Bounded, bounded
from byoc_lab.lab.language import in_language
from byoc_lab.relay.analysis.guessed_lengths import guessed_lengths
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.build import build
from byoc_lab.run.dynamic import DynamicExecutable
from byoc_lab.run.executable import Executable, is_external
from byoc_lab.run.inputs import bind_inputs, checked_module

DETAILS = ("region", "operator")
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
    if isinstance(before, Executable):
        raise ArgumentError(
            "validate: the first argument must be the module before the pipeline, found an "
            "Executable; write validate(module, executable, inputs)"
        )
    foreign = in_language(before, "validate")
    if foreign is not None:
        return foreign.validate(after, inputs, detail=detail, samples=samples, seed=seed)
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    if detail not in DETAILS:
        raise ArgumentError(
            f'validate: detail must be "region" or "operator", found {detail!r:.80}'
        )
    before = infer_module(checked_module(before, "validate"))
    if not isinstance(after, Executable):
        if isinstance(after, (list, tuple)):
            raise ArgumentError(
                "validate: the second argument must be the partitioned module or its executable, "
                f"found {type(after).__name__}; write validate(module, partitioned, inputs)"
            )
        checked_module(after, "validate, as the result of the pipeline,")
        if _partitioned(before) and not _partitioned(after):
            raise ArgumentError(
                "validate: the first argument must be the module before the pipeline, found one "
                "with regions first and one without them second; write validate(module, "
                "partitioned, inputs)"
            )
    exe = after if isinstance(after, Executable) else build(after)
    if inputs is not None:
        exe = exe.for_inputs(inputs)
    elif isinstance(exe, DynamicExecutable):
        raise _unknown_lengths(before["main"])
    sets = {} if inputs is not None else SETS
    calls = sum(isinstance(node, Call) for node in post_order(before["main"])) + len(exe.linked) + 1
    with Progress("validate", calls * (len(sets) or 1), progress) as steps:
        checker = _Checker(before, exe, samples, seed, detail == "operator", steps)
        if inputs is not None:
            checker.check(inputs)
        for kind in sets:
            checker.check(example_inputs(before["main"], kind, seed), kind)
    made = [f"{what} (seed {seed})" for what in sets.values()]
    return checker.report(made or ["given"])


class _Checker:
    """Compares one executable on one set of inputs after the other."""

    def __init__(
        self,
        before: IRModule,
        exe: Executable,
        samples: int | None,
        seed: int,
        inside: bool,
        progress: Progress,
    ):
        self.before, self.exe, self.progress = before, exe, progress
        self.options: dict[str, Any] = {"samples": samples, "seed": seed}
        self.exercised = Exercised()
        self.outputs: list[Comparison] = []
        self.passes_are_right = True  # as far as wrong outputs tell
        self.regions = RegionChecks(exe.mod, exe.linked, inside, **self.options)

    def check(self, inputs: Inputs, kind: str = "") -> None:
        main = self.before["main"]
        bound = bind_inputs(main, inputs)
        wanted = bounded(main, bound, self.before, watch=self.watch, **self.options)
        self.progress.step("the executable")
        got = self.exe.run(inputs)
        if len(got) != len(wanted.outputs):
            raise ValidationError(
                f"the module has {len(wanted.outputs)} outputs before the pipeline, and "
                f"{len(got)} after it; both must compute the same outputs"
            )
        compared = _outputs(wanted, got)
        self.outputs += compared
        if not all(c.ok for c in compared):
            self.passes_are_right &= all(c.ok for c in _outputs(wanted, self.after(inputs)))
        self.regions.check(inputs, self.progress, kind)

    def after(self, inputs: Inputs) -> list[Array]:
        """The outputs of the module after the pipeline, in the reference."""
        main = self.exe.mod["main"]
        run = observe(main, bind_inputs(main, inputs), self.exe.mod, EXACT_RUN, keep=False)
        return [narrowed(q) for q in run.outputs]

    def watch(self, call: Call, args: tuple[Any, ...], value: Any) -> None:
        assert isinstance(call.op, Op)
        self.progress.step(f"reference of {call.op.name}")
        self.exercised(call, args, value)

    def report(self, inputs: list[str]) -> Report:
        checks = self.regions
        regions = worst_of(checks.comparisons)
        for symbol, errors in region_errors(regions).items():
            self.exe.note_errors(symbol, errors)
        unreached = [s for s in checks.linked if s not in checks.reached]
        return Report(
            regions,
            worst_of(self.outputs),
            worst_of([k.own for k in checks.kernels]),
            inputs=tuple(inputs),
            missed=(*self.exercised.missed(), *checks.notes),
            not_compared=tuple(f"@{s}: {NOT_CALLED}" for s in unreached),
            fallbacks=tuple(
                f"@{r.symbol} of {r.compiler} ran on {r.facts.ran_on}: {r.why}"
                for r in self.exe.linked
                if r.compiled is None
            ),
            stand_ins=self.exe.stand_ins,
            host_is_wrong=self.passes_are_right,
        )


def _outputs(wanted: Bounded, got: Sequence[Array]) -> list[Comparison]:
    single = len(got) == 1
    return [
        compare("output" if single else f"output {n}", *group)
        for n, group in enumerate(wanted.groups(got))
    ]


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
