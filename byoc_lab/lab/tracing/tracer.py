"""`trace`: runs a pipeline and records every stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab.lab.language import language_of
from byoc_lab.lab.tracing.recorder import Pipeline
from byoc_lab.lab.tracing.stages import Trace
from byoc_lab.relay.ir.module import IRModule


def trace(
    mod: IRModule | Any,
    pipeline: Pipeline | Any = "dnnl",
    era: str | None = None,
    *,
    opt_level: int | None = None,
    title: str = "",
    progress: Callable[[str], object] | None = None,
    patterns: Sequence[Any] = (),
) -> Trace:
    """Run `pipeline` on `mod` and record each stage.

    pipeline: the name of a pipeline ("dnnl"), a pass or Sequential, a function from module to
        module, or a list of these and pass names. Each pass of a sequence is a stage. A pass that
        another one requires is a stage if it changes the module. Each pass that a function runs to
        compute its result is a stage, too, and so is the function's own change. era: "2020-01" or
        "0.16": the TVM version whose behaviour pipelines and passes given by name reproduce. A pass
        object keeps its own era. opt_level: passes above this level are skipped, and
        `Trace.findings` says so. The default is the level of the active PassContext; without one,
        the level of a pipeline given by name (3 for back ends), or 2 as for any Sequential. All
        other settings come from the active context.
    progress: is called with the name of each pass that will be a stage, when it begins.

    A module of TVM's Relax, `tvm.ir.IRModule`, is traced too: the pipeline then consists of passes
    of TVM, their names and functions, and `Trace.result` is TVM's module. patterns: only for Relax:
    the pattern table of FuseOpsByPattern; entries that never match are findings. A pass that raises
    an exception ends the trace; the trace keeps the exception and the stages before it.

    Raises PassError if `mod` is not a module, if `pipeline` is not a pipeline or has no passes, and
    if a pass given by name needs arguments; UnknownNameError for a name that does not exist.
    """
    return language_of(mod, "trace").trace(
        pipeline, era, opt_level=opt_level, title=title, progress=progress, patterns=patterns
    )
