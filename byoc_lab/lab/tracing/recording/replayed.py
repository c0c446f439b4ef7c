"""`RecordedStage`: a pass that TVM ran, which `replayed` runs again in byoc_lab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from byoc_lab.errors import ArgumentError, ByocLabError, PassError
from byoc_lab.lab.diffing import Diff, diff
from byoc_lab.lab.tracing.recorder import trace_relay
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget, prefix_of
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass, make_pass
from byoc_lab.relay.analysis.annotations import BEGIN, compiler_of, is_annotation
from byoc_lab.relay.analysis.structural import first_difference
from byoc_lab.relay.ir.expr import Constant, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.contrib import get_pattern_table

OPT_LEVEL = 3  # used if a pass has no recorded opt_level
ERA = "0.16"  # the behaviour of the last TVM versions with Relay
_RAISED = re.compile(r"^\w*(?:Error|Exception)\b.*", re.MULTILINE)


@dataclass(eq=False, repr=False)
class RecordedStage(Stage):
    """A pass that a real TVM ran. It has no events: TVM reports none."""

    def replayed(self, again: Pass | None = None, era: str | None = None) -> ReplayedTrace:
        """Run this pass in byoc_lab on the module that TVM gave it, with events, and compare the
        results.

        again: the pass with its arguments. It may be omitted for a pass without arguments, for
        AnnotateTarget (its compilers are in TVM's result), and for MergeComposite (its pattern
        tables are found by the composites in TVM's result). era: "0.16" or "2020-01", the TVM
        version whose behaviour the pass reproduces, if it has eras. Without an era, byoc_lab's own
        behaviour is used, and a difference caused only by the era is reported as such.

        Raises UnparsedModuleError if the module is known as text only, UnknownNameError for a pass
        that byoc_lab does not have, PassError if its arguments cannot be known, and ArgumentError
        if `again` is not a pass.
        """
        if again is not None and not isinstance(again, Pass):
            raise ArgumentError(
                f"replayed takes a pass, such as ConvertLayout({{...}}), found {again!r:.80}"
            )
        ran = self._run(_pass_of(self, era) if again is None else again)
        if again is None and era is None and ran.difference:
            old = _pass_of(self, ERA)
            if hasattr(old, "era") and self._run(old).same:
                ran.title += f"; with era={ERA!r} it equals the recorded result"
        return ran

    def _run(self, given: Pass) -> ReplayedTrace:
        level = OPT_LEVEL if self.opt_level is None else self.opt_level
        return ReplayedTrace(self, trace_relay(self.before, given, opt_level=level))


class ReplayedTrace(Trace):
    """A recorded pass, run by byoc_lab. If TVM's result differs, an additional last stage changes
    byoc_lab's result into TVM's.

    recorded: the stage of the recording. difference: the diff from byoc_lab's result to TVM's, None
    if one of them failed. same: whether both results are structurally equal.
    """

    def __init__(self, recorded: Stage, ran: Trace):
        self.recorded = recorded
        self.difference: Diff | None = None
        if recorded.after is not None and ran.error is None:
            self.difference = diff(ran.final, recorded.after)
        self.same = self.difference is not None and not self.difference
        stages = list(ran.stages)
        if self.difference:
            name = f"{recorded.name} as recorded"
            stages.append(Stage(len(stages), name, self.difference.before, recorded.after))
        super().__init__(stages, f"{recorded.name}, run again: {self._verdict(ran)}", ran.error)

    def _verdict(self, ran: Trace) -> str:
        if self.same:
            return "the result equals the recorded result"
        if self.difference is not None:
            return _difference_text(self.difference)
        if self.recorded.after is None and ran.error is None:
            return f"it succeeds here, but TVM raised {_cause(self.recorded.error)}"
        if self.recorded.after is None:
            return f"it fails here and in TVM, which raised {_cause(self.recorded.error)}"
        return "it fails here, but succeeded in TVM"


def _cause(error: Exception | None) -> str:
    """The message of an error on one line; for a TVM error, the line after the C++ stack."""
    lines = _RAISED.findall(str(error))
    return str(lines[-1] if lines else error).removesuffix(" : Function:")


def _difference_text(found: Diff) -> str:
    """The difference of two results in words."""
    try:
        only_numbers = first_difference(found.before, found.after, constants=False) is None
    except ByocLabError:  # one of them is known only as text
        only_numbers = False
    if not only_numbers:
        return f"the recorded result differs: {found.summary}"
    pairs = zip(_constants(found.before), _constants(found.after), strict=True)
    most = max(_apart(a, b) for a, b in pairs)
    return (
        f"the recorded result has the same structure; elements of constants differ by at most "
        f"{most:.1e} of the largest element of the constant"
    )


def _constants(mod: IRModule) -> Iterator[np.ndarray]:
    functions = sorted(mod.functions.items(), key=lambda item: item[0].name_hint)
    nodes = chain.from_iterable(post_order(function) for _, function in functions)
    return (node.numpy() for node in nodes if isinstance(node, Constant))


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    x, y = (np.asarray(value, np.float64) for value in (a, b))
    largest = max(float(np.abs(x).max(initial=0)), float(np.abs(y).max(initial=0)))
    return float(np.abs(x - y).max(initial=0)) / largest if largest else 0.0


def _pass_of(stage: Stage, era: str | None) -> Pass:
    """The pass that a stage ran, as far as the recording shows its arguments; for an era, with that
    era's behaviour."""
    before = set(_nodes(stage.before))
    made = [n for n in _nodes(stage.after) if n not in before] if stage.after is not None else []
    if stage.name == "AnnotateTarget":
        compilers = dict.fromkeys(compiler_of(n) for n in made if is_annotation(n, BEGIN))
        targets = [name for name in compilers if name != "default"]
        if not targets:
            raise PassError(_unknown_arguments(stage, "AnnotateTarget(targets)"))
        return AnnotateTarget(targets, era=era)
    if stage.name == "MergeComposite":
        composites = (n for n in made if isinstance(n, Function) and "Composite" in n.attrs)
        owners = dict.fromkeys(prefix_of(str(n.attrs["Composite"])) for n in composites)
        tables = [get_pattern_table(owner) if owner is not None else None for owner in owners]
        if not tables or None in tables:
            raise PassError(_unknown_arguments(stage, "MergeComposite(pattern_table)"))
        return MergeComposite([entry for table in tables for entry in table or ()])
    return make_pass(stage.name, era)


def _unknown_arguments(stage: Stage, call: str) -> str:
    return (
        f"neither the recording nor its result shows the arguments of {stage.name}; give the "
        f"pass: stage.replayed({call})"
    )


def _nodes(mod: IRModule) -> Iterator[Expr]:
    return chain.from_iterable(post_order(function) for function in mod.functions.values())
