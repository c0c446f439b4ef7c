"""`validate`: compares regions and outputs with a float64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, InputError, ValidationError
from byoc_lab.lab.checking.bounds.step import Array, flat
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, RegionCall, narrowed, observe
from byoc_lab.lab.checking.comparison import Comparison, compare
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.exercised import Exercised
from byoc_lab.lab.checking.kernels import Kernel, RegionChecker
from byoc_lab.lab.checking.report import Report, worst_of
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.build import build
from byoc_lab.run.executable import Executable
from byoc_lab.run.inputs import bind_inputs, checked_module

DETAILS = ("region", "operator")
Inputs = Mapping[str, Any] | Sequence[Any]


def validate(
    before: IRModule,
    after: IRModule | Executable,
    inputs: Inputs | None = None,
    *,
    detail: str = "region",
    samples: int | None = None,
    seed: int = 0,
) -> Report:
    """Run `after` and compare its outputs and regions with the reference, on `inputs`.

    before: the module before any pass; it is computed with NumPy in float64.
    after: the result of the pipeline, as a module (which is built) or an executable. It has the
        same parameters as `before`.
    inputs: as `evaluate` takes them; if None, several sets of numbers from `seed`.
    detail: "region", or "operator": each kernel of each region is checked too, on the values that
        it got, and operators inside a fused one that fails (see `kernels.py`).
    samples, seed: of the random errors that the tolerances are derived from (see `bounded`).

    Every region that a back end compiled runs once more by itself, on the reference's values of
    its inputs. Raises InputError, EvaluationError, and the errors of `build`.
    """
    if isinstance(before, Executable):
        raise ArgumentError(
            "validate takes the module before the pipeline first, found an Executable; "
            "write validate(module, executable, inputs)"
        )
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    if detail not in DETAILS:
        raise ArgumentError(
            f'validate: detail must be "region" or "operator", found {detail!r:.80}'
        )
    before = infer_module(checked_module(before, "validate"))
    if not isinstance(after, Executable):
        checked_module(after, "validate, as the result of the pipeline,")
    exe = after if isinstance(after, Executable) else build(after)
    checker = _Checker(before, exe, samples, seed, detail == "operator")
    if inputs is not None:
        checker.check(inputs)
        described = ["given"]
    else:
        for kind in SETS:
            checker.check(example_inputs(before["main"], kind, seed))
        described = [f"{what} (seed {seed})" for what in SETS.values()]
    return checker.report(described)


class _Checker:
    """Compares one executable on one set of inputs after the other."""

    def __init__(
        self, before: IRModule, exe: Executable, samples: int | None, seed: int, inside: bool
    ):
        self.before, self.exe = before, exe
        self.options: dict[str, Any] = {"samples": samples, "seed": seed}
        self.exercised = Exercised()
        self.outputs: list[Comparison] = []
        self.regions: list[Comparison] = []
        self.linked = {r.symbol: r for r in exe.linked if r.compiled is not None}
        self.reached: set[str] = set()
        self.inside = inside
        self.kernels: list[Kernel] = []
        self.notes: dict[str, None] = {}

    def check(self, inputs: Inputs) -> None:
        main = self.before["main"]
        bound = bind_inputs(main, inputs)
        wanted = bounded(main, bound, self.before, watch=self.exercised, **self.options)
        got = self.exe.run(inputs)
        if len(got) != len(wanted.outputs):
            raise ValidationError(
                f"the module has {len(wanted.outputs)} outputs before the pipeline, and "
                f"{len(got)} after it; both must compute the same outputs"
            )
        for n, group in enumerate(zip(got, wanted.outputs, wanted.tolerances, strict=True)):
            name = f"output {n}" if len(got) > 1 else "output"
            self.outputs.append(compare(name, *group))
        if self.linked:
            mod = self.exe.mod
            values = bind_inputs(mod["main"], inputs)
            observe(mod["main"], values, mod, EXACT_RUN, keep=False, regions=self.check_region)

    def check_region(self, call: RegionCall) -> tuple[Array, ...] | None:
        """Check a region on the reference's values of its arguments, rounded as the module has
        them; gives the reference's results."""
        region = self.linked.get(call.symbol)
        if region is None:
            return None
        assert region.compiled is not None
        self.reached.add(region.symbol)
        arguments = [narrowed(a) for a in call.arguments]
        wanted = bounded(
            region.function,
            dict(zip(region.function.params, arguments, strict=True)),
            self.exe.mod,
            exact_constants=True,
            **self.options,
        )
        got = region.compiled(*flat(tuple(arguments)))
        single = len(got) == 1
        compared = [
            compare(f"@{region.symbol}" if single else f"@{region.symbol} output {n}", *group)
            for n, group in enumerate(zip(got, wanted.outputs, wanted.tolerances, strict=True))
        ]
        self.regions += compared
        if self.inside and region.codegen is not None:
            checker = RegionChecker(region, self.exe.mod, **self.options)
            self.kernels += checker.kernels(arguments, not all(c.ok for c in compared))
            self.notes.update(dict.fromkeys(checker.notes))
        return wanted.outputs

    def report(self, inputs: list[str]) -> Report:
        regions = worst_of(self.regions)
        for symbol in self.reached:
            mine = [c for c in regions if c.name.split()[0] == f"@{symbol}"]
            worst = max(mine, key=lambda c: c.share)
            self.exe.note_error(symbol, worst.error, worst.tolerance)
        unreached = [f"@{s} was not called" for s in self.linked if s not in self.reached]
        return Report(
            regions,
            worst_of(self.outputs),
            worst_of([k.own for k in self.kernels]),
            inputs=tuple(inputs),
            missed=(*self.exercised.missed(), *unreached, *self.notes),
            fallbacks=tuple(
                f"@{r.symbol} of {r.compiler} ran on llvm: {r.why}"
                for r in self.exe.linked
                if r.compiled is None
            ),
        )


__all__ = ["Report", "compare", "validate"]
