"""`coverage`: the share of a module that a back end computes, and the changes that alter it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from byoc_lab.errors import ArgumentError, OffloadError
from byoc_lab.lab.checking.coverage import Coverage, Coverages
from byoc_lab.lab.checking.coverage_changes import attempts, setup_of, work_of
from byoc_lab.lab.explaining.calls import explained
from byoc_lab.lab.explaining.cards import Card
from byoc_lab.lab.explaining.explanations import Explanations
from byoc_lab.lab.explaining.outcome import PipelineRun
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.language import language_of
from byoc_lab.lab.tracing.recorder import Pipeline
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule


def coverage(
    mod: IRModule | Function | Any,
    backend: str | Sequence[str],
    pipeline: Pipeline | None = None,
    *,
    cards: Sequence[Card] = (),
) -> Coverage | Coverages:
    """Measure how much of `mod` a back end computes, which calls stay on the host and why, and
    which changes alter the result.

    mod: a module or function before partitioning. backend: the name of a registered back end, or a
        list of names, whose results are shown side by side. pipeline: the partitioning passes, as
        for `trace`; by default the pipeline of the back end. They run at their usual opt_level, as
        for `explain`. cards: `exe.cards()` of an executable of the partitioned module; with them
        the result names the regions that run oneDNN's reference loops on this machine, which the
        host would probably compute faster.

    A module of TVM's Relax is passed on to `byoc_lab.relax.coverage`, for each back end.

    Operators and floating-point operations (by the operators' formulas) are counted in the
    partitioned module; causes are found for the calls of `mod` (`explain`). Causes and changes are
    computed on first access.

    Raises UnknownNameError for an unknown back end or pipeline, ArgumentError if `mod` is not a
    module before partitioning or `backend` is not a name, OffloadError if the pipeline fails on the
    module, and the errors of the passes.
    """
    language = language_of(mod, "coverage")
    if isinstance(backend, str):
        return language.coverage(backend, pipeline).with_cards(cards)
    names = list(backend) if isinstance(backend, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(
            f"coverage takes the name of a back end, or a list of names, found "
            f"{type(backend).__name__} {backend!r:.80}"
        )
    return Coverages([language.coverage(name, pipeline).with_cards(cards) for name in names])


def cover_relay(mod: Any, backend: str, pipeline: Any) -> Coverage:
    """Computes the coverage of a Relay module by one back end."""
    setup = setup_of(mod, backend, pipeline)
    outcome = setup.run(backend)
    if outcome.trace.error is not None:
        raise OffloadError(
            f"the pipeline of {backend!r} fails on this module, so that nothing is offloaded: "
            f"{outcome.trace.error}"
        )
    result = outcome.trace.result
    work = work_of(result, backend, setup.unpartitioned(outcome))
    tried = partial(attempts, setup, backend)
    return Coverage(backend, work, result, partial(_explained, setup, outcome), tried)


def _explained(setup: Setup, outcome: PipelineRun) -> Explanations[Any]:
    return explained(setup, outcome, {c: c for c in outcome.calls})
