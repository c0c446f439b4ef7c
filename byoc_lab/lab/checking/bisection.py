"""`bisect`: finds the pass that changed the numbers, and the first operator that differs."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from typing import Any

from byoc_lab.errors import ArgumentError, ByocLabError, PassError, RegionError, counted
from byoc_lab.lab.checking.bisected import Bisection, Checked
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, ErrorModel, Executed, Run, observe
from byoc_lab.lab.checking.call_sites import CallSite, function_named, site_of
from byoc_lab.lab.checking.example_inputs import example_inputs, in_words
from byoc_lab.lab.checking.kernels import Kernel
from byoc_lab.lab.checking.pairing import Divergence, divergence_of, largest_share
from byoc_lab.lab.checking.passes_run import Backends, PassesRun
from byoc_lab.lab.checking.progress import Listener, Progress
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import NOT_CALLED, worst_of
from byoc_lab.lab.checking.repro import write_kernel_repro, write_repro
from byoc_lab.lab.language import language_of
from byoc_lab.lab.tracing.recorder import Pipeline, trace_relay
from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.passes import Event
from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.build import OffloadWarning, external_calls, linked_regions
from byoc_lab.run.dynamic import types_of
from byoc_lab.run.hosts.host import LinkedRegion, stand_ins_of
from byoc_lab.run.inputs import bind_inputs, checked_module
from byoc_lab.run.shaped import has_unknown_sizes, shaped
from byoc_lab.run.stand_in import stated
from byoc_lab.seeds import checked_seed

# Passes may compute new constants in float32, although every module is evaluated in float64.
FOLDED = ErrorModel(roundings=False, samples=2)


def bisect(
    mod: IRModule,
    pipeline: Pipeline = "dnnl",
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    era: str | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    kernels: bool = True,
    backends: Backends | None = None,
    progress: Listener | None = None,
) -> Bisection:
    """Find the first pass of `pipeline` that changes the results of `mod`, and the operator at
    which they change. If no pass does, find the first wrong kernel of a back end, or the first
    region whose code fails when it runs.

    pipeline, era: as for `trace`. inputs: as for `evaluate`; their sizes define the unknown
    dimension sizes of `mod`. None: random inputs from `seed`. folder: where to write a repro of the
    smallest sub-graph, if a difference is found. kernels: whether to check the code of the regions,
    too. backends: as for `build`. progress: as for `validate`.

    Stages are evaluated in float64. Correct stages then differ only by constants that passes
    computed in float32, within a derived tolerance. A binary search finds the stage; comparing the
    values of all operators before and after the stage finds the sub-graph. This takes at most
    ceil(log2(stages)) + 3 evaluations. If the pipeline creates regions, or `mod` has some, and no
    code of a region could run, the result is inconclusive (`Bisection.conclusive`).

    Raises PassError if a pass fails, and the errors of `trace` and `evaluate`.
    """
    checked_seed("bisect", seed)
    if folder is not None and not isinstance(folder, (str, Path)):
        raise ArgumentError(
            f"bisect: folder must be a path or None, found {type(folder).__name__} {folder!r:.80}"
        )
    ran = language_of(mod, "bisect").run_passes(pipeline, inputs, era)
    mod, skipped = ran.mod, [stage for stage in ran.stages if stage.skipped]
    stages = [stage for stage in ran.stages if stage.changed]
    given = inputs if inputs is not None else example_inputs(mod["main"], seed=seed)
    exercised = [
        f"{counted(len(stages), 'stage')} changed the module, evaluated in float64",
        "inputs: "
        + ("given" if inputs is not None else f"{in_words(given, 'normal')}, seed {seed}"),
        *ran.notes,
        *dict.fromkeys(f"{stage.name} was skipped: {stage.skipped}" for stage in skipped),
    ]
    with Progress("bisect", most_runs(len(stages)), progress) as steps:
        search = _Search(mod, stages, given, steps)
        found = search.run()
        made = _Kernels()
        if found is None and kernels:
            generators = {**ran.backends, **(backends or {})}
            made = _in_kernels(search.modules[-1], given, generators, seed, steps)
            exercised += made.notes
            if made.region is not None:
                return _of_kernel(made, search, tuple(exercised), folder)
        elif found is None:
            regions = external_calls(infer_module(search.modules[-1]))
            made.unchecked = tuple(gv.name_hint for gv in regions)
    if found is None:
        return Bisection(
            None,
            None,
            None,
            search.runs,
            len(stages),
            exercised=tuple(exercised),
            rounding=search.rounding,
            kernel_runs=made.runs,
            checked=(*search.checked(), *made.checked),
            kernels=kernels,
            regions=made.regions,
            unchecked=made.unchecked,
            partitions=ran.partitions,
            skipped=tuple(dict.fromkeys(stage.name for stage in skipped)),
        )
    stage, where = found
    step = where.step
    return Bisection(
        stage.name,
        region_of(step),
        step.call,
        search.runs,
        len(stages),
        where,
        _rewrite(stage, where),
        stage.index,
        tuple(exercised),
        write_repro(Path(folder), where, stage.name) if folder is not None else None,
        call_site=search.site_of(stage, where),
        checked=search.checked(),
    )


@dataclass
class _Kernels:
    """The results of the kernel checks. region: the first region with wrong code. Either the step
    `wrong` differs, or its code raised the error `failure`. regions: the regions whose code was
    checked."""

    wrong: Kernel | None = None
    failure: str = ""
    region: LinkedRegion | None = None
    notes: list[str] = field(default_factory=list)
    runs: int = 0
    checked: tuple[Checked, ...] = ()
    regions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def _in_kernels(
    mod: IRModule, inputs: Any, backends: Backends, seed: int, progress: Progress
) -> _Kernels:
    """The first kernel whose result differs from its operators' result, in the regions of `mod`."""
    typed = infer_module(mod)
    if not external_calls(typed):
        return _Kernels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OffloadWarning)  # a note reports it
        linked = list(linked_regions(typed, backends, fallback=True).values())
    checks = RegionChecks(typed, linked, True, seed=seed)
    failure = ""
    try:
        checks.check(inputs, progress)
    except RegionError as error:
        failure = str(error)
    wrong = [kernel for kernel in checks.kernels if not kernel.own.ok] + checks.unexplained
    own_code = {r.symbol for r in linked if r.compiled is not None and r.stand_in is None}
    ran = own_code & checks.reached
    unchecked = tuple(r.symbol for r in linked if r.symbol not in ran)
    inside = {kernel.region for kernel in checks.kernels} & ran
    some = f" for {len(inside)} of them" * (inside < ran)
    by_kernel = f", kernel by kernel{some}" * bool(inside)
    notes = [f"the code of {counted(len(ran), 'region')} was checked{by_kernel}"]
    notes += [f"@{r.symbol} was not checked: {r.why}" for r in linked if r.compiled is None]
    uncalled = (own_code - ran) if not failure else ()
    notes += [f"@{symbol} was not checked: {NOT_CALLED}" for symbol in sorted(uncalled)]
    notes += [*stated(stand_ins_of(linked)), *checks.notes]
    runs = max(checks.runs.values(), default=0)
    own = worst_of([kernel.own for kernel in checks.kernels])
    checked = tuple(Checked(c.name, c.share, c.ok, call_site=c.call_site) for c in own)
    if not wrong:
        at = checks.last if failure else None
        return _Kernels(None, failure, at, notes, runs, checked, tuple(sorted(ran)), unchecked)
    # Prefers an operator inside a composite to the composite, and the first of several operators.
    first = wrong[0].region
    alone = (k for k in wrong if k.alone and k.complete and k.region == first)
    kernel = next(alone, wrong[0])
    return _Kernels(kernel, "", checks.linked[kernel.region], notes, runs, checked)


def _of_kernel(
    made: _Kernels, search: _Search, exercised: tuple[str, ...], folder: str | Path | None
) -> Bisection:
    assert made.region is not None
    kernel, region = made.wrong, made.region
    repro = None
    if folder is not None and kernel is not None:
        repro = write_kernel_repro(Path(folder), kernel, region)
    return Bisection(
        f"code generation of {region.compiler}",
        region.symbol,
        kernel.operator if kernel is not None else None,
        search.runs,
        len(search.stages),
        exercised=exercised,
        folder=repro,
        kernel=kernel,
        kernel_runs=made.runs,
        call_site=kernel.own.call_site if kernel is not None else None,
        checked=(*search.checked(), *made.checked),
        failure=made.failure,
    )


def region_of(step: Executed) -> str:
    """The innermost global function that contains a step."""
    return step.inside[-1] if step.inside else "main"


def run_relay_passes(mod: Any, pipeline: Pipeline, inputs: Any, era: str | None) -> PassesRun:
    """Runs the passes of `bisect` on a Relay module."""
    mod = infer_module(checked_module(mod, "bisect"))
    if inputs is not None and has_unknown_sizes(mod["main"]):
        mod = shaped(mod, types_of(mod["main"], inputs))
    found = trace_relay(mod, pipeline, era)
    if found.error is not None and not isinstance(found.error, ByocLabError):
        failed = found.stages[-1].name
        raise PassError(
            f"bisect: the pass {failed} raised {type(found.error).__name__}: {found.error}; "
            f"the results of a failed pipeline cannot be compared"
        ) from found.error
    assert found.result is not None  # .result raises the error of a failed pass
    ran = found.stages
    partitions = any(stage.name == "PartitionGraph" and not stage.skipped for stage in ran)
    return PassesRun(mod, ran, partitions)


class _Search:
    """Evaluates on demand the module after n stages (n = 0: the initial module)."""

    def __init__(self, mod: IRModule, stages: Sequence[Stage], inputs: Any, progress: Progress):
        self.modules = [mod, *(s.after for s in stages if s.after is not None)]
        self.stages, self.inputs, self.progress = stages, inputs, progress
        self.runs = 0
        self.rounding = 0.0
        self._plain: dict[int, Run] = {}
        self._checked: dict[int, Checked] = {}
        self._typed: dict[int, IRModule] = {}

    def run(self) -> tuple[Stage, Divergence] | None:
        last = len(self.stages)
        if not last:
            return None
        first = self.observed(0, FOLDED)
        if self.same(first, last):
            self.rounding = self._checked[last].share
            return None
        right, wrong = 0, last
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self.same(first, middle):
                right = middle
            else:
                wrong = middle
        kept = shared_constants(self.modules[right], self.modules[wrong])
        before = self.observed(right, FOLDED, kept)
        where = divergence_of(before, self.plain(wrong)) or divergence_of(first, self.plain(wrong))
        # the second search is for passes that are each within rounding, but not all together
        assert where is not None
        return self.stages[wrong - 1], where

    def same(self, first: Run, n: int) -> bool:
        """Whether the module after n stages computes the same as the initial module."""
        run, stage = self.plain(n), self.stages[n - 1]
        ok = divergence_of(first, run) is None
        self._checked[n] = Checked(stage.name, largest_share(first, run), ok, stage.index)
        return ok

    def checked(self) -> tuple[Checked, ...]:
        """The stages that were compared, in order."""
        return tuple(self._checked[n] for n in sorted(self._checked))

    def site_of(self, stage: Stage, where: Divergence) -> CallSite | None:
        """The call site of the operator after a stage, or before the stage if the operator was
        dropped."""
        n = self.stages.index(stage) + (1 if where.after else 0)
        name = region_of(where.step)
        function = function_named(self.typed(n), name)
        return site_of(name, function, where.step.call) if function is not None else None

    def plain(self, n: int) -> Run:
        if n not in self._plain:
            self._plain[n] = self.observed(n, EXACT_RUN)
        return self._plain[n]

    def typed(self, n: int) -> IRModule:
        """The module after n stages; always the same object, so that its calls can be looked up."""
        if n not in self._typed:
            self._typed[n] = infer_module(self.modules[n])
        return self._typed[n]

    def observed(self, n: int, model: ErrorModel, exact: Collection[Constant] = ()) -> Run:
        self.runs += 1
        self.progress.step(f"the module after {counted(n, 'change')}" if n else "the module")
        mod = self.typed(n)
        main = mod["main"]
        return observe(main, bind_inputs(main, self.inputs), mod, model, exact=exact)


def shared_constants(before: IRModule, after: IRModule) -> set[Constant]:
    """The constants of `before` that also occur in `after`."""
    kept = {_content(c) for c in _constants(after)}
    return {c for c in _constants(before) if _content(c) in kept}


def _constants(mod: IRModule) -> Iterator[Constant]:
    nodes = post_order(*mod.functions.values())
    return (node for node in nodes if isinstance(node, Constant))


def _content(constant: Constant) -> tuple[Any, ...]:
    array = constant.numpy()
    return array.dtype, array.shape, hash(array.tobytes())


def _rewrite(stage: Stage, where: Divergence) -> Event | None:
    """The event of the pass that created or removed one of the operators."""
    made = {s.call for s in where.after}
    gone = {s.call for s in where.before}
    for event in stage.events:
        if _touches(event.after, made) or _touches(event.before, gone):
            return event
    return None


def _touches(node: Expr | None, calls: set[Call]) -> bool:
    return isinstance(node, Call) and node in calls


def most_runs(stages: int) -> int:
    """The largest number of evaluations of `bisect`."""
    return ceil(log2(max(stages, 1))) + 3


__all__ = ["Bisection", "Checked", "bisect", "most_runs"]
