"""`validate`: compares regions and outputs with a float64 reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, InputError
from byoc_lab.lab.checking.comparison import compare
from byoc_lab.lab.checking.example_inputs import SETS, in_words
from byoc_lab.lab.checking.progress import Listener, Progress
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.language import language_of
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.executable import Executable
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.seeds import checked_seed

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
    """Run `after` on `inputs` and compare its outputs and regions with the reference.

    before: the module before any pass; NumPy evaluates it in float64. after: the result of the
        pipeline, as a module (which is built) or an executable, with the parameters of `before`.
        inputs: as for `evaluate`; if None, several sets of random inputs from `seed`. detail:
        "region", or "operator", which also checks each kernel of each region on the arguments that
        it received, and the operators inside a fused kernel that fails (see `kernels.py`). samples,
        seed: the number and the seed of the samples with random errors that correct the tolerances
        (see `bounded`). progress: is called with a `ProgressUpdate` for each step; None: if the
        work takes more than a second, a line on a terminal or in a notebook shows it.

    Every region that a back end compiled also runs alone, on the reference's values of its inputs.
        Raises InputError, EvaluationError, and the errors of `build`.

    For a module of TVM's Relax, "main" is evaluated if all its operators have a counterpart in
    Relay; if not, the report says that outputs were not compared. Each call of a region is compared
    on the arguments that the region received in the run. After RunCodegen the operators of regions
    are gone: the regions run and are counted, but only outputs are compared. Unknown dimension
    sizes are taken from the inputs; without inputs they are small and all different.
    """
    if isinstance(before, MeteredProgram):
        raise ArgumentError(
            f"validate: the first argument must be the module before the pipeline, found "
            f"{type(before).__name__}; write validate(module, executable, inputs)"
        )
    checked_seed("validate", seed)
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    if detail not in DETAILS:
        raise ArgumentError(
            f'validate: detail must be "region" or "operator", found {detail!r:.80}'
        )
    options = {"samples": samples, "seed": seed}
    language = language_of(before, "validate")
    checker = language.checker(after, inputs, detail == "operator", options)
    sets = {} if inputs is not None else SETS
    with Progress("validate", checker.steps * (len(sets) or 1), progress) as checker.progress:
        if inputs is not None:
            checker.check(inputs)
        made: dict[str, None] = {}
        for kind in sets:
            example = checker.example(kind, seed)
            made[f"{in_words(example, kind)} (seed {seed})"] = None
            checker.check(example, kind)
    return checker.report(made or ["given"])


__all__ = ["Report", "compare", "validate"]
