"""`bisect`: the pass that changed the numbers, and the operator where it did."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, log2
from pathlib import Path
from typing import Any

from byoc_lab.errors import ArgumentError, ByocLabError, PassError
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, Arithmetic, Executed, Run, observe
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.pairing import Parting, parting
from byoc_lab.lab.checking.repro import write_repro
from byoc_lab.lab.tracing import Stage, trace
from byoc_lab.lab.tracing.recorder import Member
from byoc_lab.passes import Event, Pass
from byoc_lab.relay.ir.expr import Call, Constant, Expr, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.inputs import bind_inputs, checked_module

# Passes may compute new constants in float32, and every run is one of float64.
FOLDED = Arithmetic(roundings=False, samples=2)


@dataclass(frozen=True)
class Bisection:
    """The answer of `bisect`.

    stage: the name of the first pass that changed the numbers, or None. region: the global function
        with the operator. call: the operator, as it is after the pass, or before it where the pass
        dropped it. rewrite: the event of the pass that made it, if the pass reports events.
    parting: the smallest sub-graph on both sides, and the values that differ.
    runs: how many modules were evaluated, of `stages` stages that changed the module.
    exercised: what was checked. folder: where the repro is.
    """

    stage: str | None
    region: str | None
    call: Call | None
    runs: int
    stages: int
    parting: Parting | None = field(default=None, repr=False)
    rewrite: Event | None = field(default=None, repr=False)
    index: int | None = None
    exercised: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def found(self) -> bool:
        return self.stage is not None

    def __str__(self) -> str:
        if not self.found:
            return "\n".join(["no difference found", *(f"  {line}" for line in self.exercised)])
        assert self.parting is not None and self.call is not None
        found = self.parting
        lines = [
            f"{self.stage} (stage {self.index}) changed the numbers",
            f"  region: @{self.region}",
            f"  operator: {describe(self.call)}",
        ]
        if self.rewrite is not None:
            lines.append(f"  rewrite: {self.rewrite}")
        lines += [
            f"  before: {_listed(found.before)}",
            f"  after: {_listed(found.after)}",
            f"  largest difference {found.error:.3g}, tolerance "
            f"{found.tolerance:.3g}, largest value {found.scale:.3g}",
        ]
        if found.hidden:
            lines.append("  the outputs are the same within rounding: later operators hide it")
        if self.folder is not None:
            lines.append(f"  repro: {self.folder / 'repro.py'}")
        lines += [f"  {line}" for line in self.exercised]
        return "\n".join(lines)


def _listed(steps: Sequence[Executed]) -> str:
    return ", ".join(describe(s.call) for s in steps) or "nothing"


def bisect(
    mod: IRModule,
    pipeline: str | Pass | Sequence[Member] = "dnnl",
    inputs: Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    era: str | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
) -> Bisection:
    """Find the first pass of `pipeline` that changes what `mod` computes, and where in it.

    pipeline, era: as `trace` takes them. inputs: as `evaluate` takes them; numbers from `seed` when
    None. folder: where to write a repro of the smallest sub-graph, if a difference is found.

    Stages are evaluated in float64, so that only the constants that passes computed in float32
    differ, within a derived tolerance. A binary search finds the stage, and the values of all
    operators before and after it the sub-graph: at most ceil(log2(stages)) + 3 evaluations.

    Raises PassError if a pass fails, and what `trace` and `evaluate` raise.
    """
    mod = infer_module(checked_module(mod, "bisect"))
    if folder is not None and not isinstance(folder, (str, Path)):
        raise ArgumentError(
            f"bisect: folder must be a path or None, found {type(folder).__name__} {folder!r:.80}"
        )
    stages = _changed(mod, pipeline, era)
    given = inputs if inputs is not None else example_inputs(mod["main"], seed=seed)
    exercised = [
        f"{len(stages)} stages changed the module, evaluated in float64",
        "inputs: " + ("given" if inputs is not None else f"{SETS['normal']}, seed {seed}"),
    ]
    search = _Search(mod, stages, given)
    found = search.run()
    if found is None:
        return Bisection(None, None, None, search.runs, len(stages), exercised=tuple(exercised))
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
    )


def region_of(step: Executed) -> str:
    """The innermost global function around a step."""
    return step.inside[-1] if step.inside else "main"


def _changed(
    mod: IRModule, pipeline: str | Pass | Sequence[Member], era: str | None
) -> list[Stage]:
    found = trace(mod, pipeline, era)
    if found.error is not None and not isinstance(found.error, ByocLabError):
        failed = found.stages[-1].name
        raise PassError(
            f"bisect: the pass {failed} raised {type(found.error).__name__}: {found.error}; the "
            f"numbers of a pipeline that does not end cannot be compared"
        ) from found.error
    assert found.result is not None  # raises the error of a pass
    return [stage for stage in found.stages if stage.changed]


class _Search:
    """Evaluates the module before stage n (n = 0: the first), and after the last one, on demand."""

    def __init__(self, mod: IRModule, stages: Sequence[Stage], inputs: Any):
        self.modules = [mod, *(s.after for s in stages if s.after is not None)]
        self.stages, self.inputs = stages, inputs
        self.runs = 0
        self._plain: dict[int, Run] = {}

    def run(self) -> tuple[Stage, Parting] | None:
        last = len(self.stages)
        if not last:
            return None
        first = self.observed(0, FOLDED)
        if parting(first, self.plain(last)) is None:
            return None
        right, wrong = 0, last
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if parting(first, self.plain(middle)) is None:
                right = middle
            else:
                wrong = middle
        kept = shared_constants(self.modules[right], self.modules[wrong])
        before = self.observed(right, FOLDED, kept)
        where = parting(before, self.plain(wrong)) or parting(first, self.plain(wrong))
        assert where is not None  # the second: every pass is within rounding, all together are not
        return self.stages[wrong - 1], where

    def plain(self, n: int) -> Run:
        if n not in self._plain:
            self._plain[n] = self.observed(n, EXACT_RUN)
        return self._plain[n]

    def observed(self, n: int, arithmetic: Arithmetic, exact: Collection[Constant] = ()) -> Run:
        self.runs += 1
        mod = infer_module(self.modules[n])
        main = mod["main"]
        return observe(main, bind_inputs(main, self.inputs), mod, arithmetic, exact=exact)


def shared_constants(before: IRModule, after: IRModule) -> set[Constant]:
    """The constants of `before` that `after` has too."""
    kept = {_content(c) for c in _constants(after)}
    return {c for c in _constants(before) if _content(c) in kept}


def _constants(mod: IRModule) -> Iterator[Constant]:
    nodes = post_order(*mod.functions.values())
    return (node for node in nodes if isinstance(node, Constant))


def _content(constant: Constant) -> tuple[Any, ...]:
    array = constant.numpy()
    return array.dtype, array.shape, hash(array.tobytes())


def _rewrite(stage: Stage, where: Parting) -> Event | None:
    """The event of the pass that made one of the operators, or removed one."""
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


__all__ = ["Bisection", "bisect", "most_runs"]
