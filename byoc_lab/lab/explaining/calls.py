"""`explain`: tells for each call of a module which region computes it, or why no region does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from byoc_lab.errors import ArgumentError, kind_of
from byoc_lab.lab.explaining.cards import Card
from byoc_lab.lab.explaining.change_runner import ChangeRunner
from byoc_lab.lab.explaining.explanation import Explanation
from byoc_lab.lab.explaining.explanations import Explanations
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.outcome import PipelineRun, typed_calls
from byoc_lab.lab.explaining.pairs import Pairs
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.unfolding import unfolded
from byoc_lab.lab.language import language_of
from byoc_lab.lab.tracing.recorder import Pipeline
from byoc_lab.relay.analysis.annotations import DEFAULT, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Op, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


def explain(
    mod: IRModule | Function | Any,
    target: str,
    call: Call | str | None = None,
    pipeline: Pipeline | None = None,
    *,
    cards: Sequence[Card] = (),
) -> Explanations[Any]:
    """For each call of `mod`: does back end `target` compute it, and if not, why not?

    mod: a module or function before partitioning. target: the name of a registered back end or,
    with a pipeline, any target of its AnnotateTarget. call: explain only this call, given as a node
    of `mod` or by its name in the text of `mod` ("%12"), or the calls of the operator with this
    name. Calls in regions of other back ends are left out. pipeline: the partitioning passes, as
    for `trace`; by default the pipeline of the back end. They run at their usual level: that of the
    active PassContext; without one, the level of a pipeline given by name (3 for back ends), or 2
    as for any Sequential. cards: `exe.cards()` of an executable of the partitioned module; with
    them the reason of an offloaded call says whether its region runs oneDNN's reference loops on
    this machine.

    For an offloaded call, an `Explanation` has the region and the pattern. For any other call it
    has the cause, the nearest pattern with the expected and found expressions, and the smallest
    change with which the call is offloaded. Every proposed change was run; causes and changes are
    computed on demand.

    For a module of TVM's Relax, `byoc_lab.relax.explain` explains the calls.

    Raises UnknownNameError for an unknown back end, pipeline or operator, ArgumentError if `mod` is
    not a module, `target` not a name, `call` in a region of another back end, or `cards` not cards,
    UnknownNodeError if `call` is not in `mod`, and the errors of the passes.
    """
    found = language_of(mod, "explain").explain(target, call, pipeline).with_cards(cards)
    return found if call is None else found.of(call)


def explain_relay(
    mod: Any,
    target: str,
    call: Call | str | None,
    pipeline: Pipeline | None,
) -> Explanations[Explanation]:
    """Explains all calls of a Relay module. Raises ArgumentError for a `call` in a region of
    another back end."""
    if isinstance(mod, Function):
        mod = IRModule.from_expr(mod)
    if not isinstance(mod, IRModule):
        raise ArgumentError(
            f"explain takes a module and the name of a back end, explain(mod, 'dnnl'), found "
            f"{kind_of(mod)} as the module"
        )
    if not isinstance(target, str):
        raise ArgumentError(
            f"target must be the name of a registered back end, found {type(target).__name__}"
        )
    if pipeline is None:
        _check_not_annotated(mod)
    typed, types = typed_calls(mod)
    named = [c for c in types if c is call]
    if isinstance(call, str) and not call.startswith("%"):
        operator = Op.get(call)  # raises an error for an unknown name
        named = [c for c in types if c.op is operator]
    there = _elsewhere(mod, target)
    if named and all(c in there for c in named):
        raise ArgumentError(
            f"explain: {describe(named[0])} is in a region of {there[named[0]]} already; give the "
            f"module before it was partitioned"
        )
    setup = unfolded(Setup.asked(typed, target, pipeline))
    given = {t: c for c, t in types.items()}
    outcome = setup.run(target)
    if outcome.trace.error is not None and not _has_annotations(outcome.trace.final):
        # the calls stay on the host because of the error, not because of regions
        raise outcome.trace.error
    return explained(setup, outcome, given, there)


def explained(
    setup: Setup,
    outcome: PipelineRun,
    given: Mapping[Call, Call],
    left_out: Collection[Call] = (),
) -> Explanations[Explanation]:
    """The explanations of the calls of a run. given: as for `Inquiry`. left_out: the calls that are
    not explained."""
    inquiry = Inquiry(setup, outcome, given)
    runner = ChangeRunner(inquiry)
    pairs = Pairs(runner)
    found = [
        Explanation(call, typed, inquiry, runner, pairs)
        for typed, call in given.items()
        if call not in left_out
    ]
    return Explanations(outcome.target, found, outcome.remarks)


def _elsewhere(mod: IRModule, target: str) -> dict[Call, str]:
    """The calls inside existing regions of back ends other than `target`, and the calls of these
    regions, each with its back end. Calls in local functions for "default", the host, are not
    included: the passes may offload them."""
    found: dict[Call, str] = {}
    external = {gv.name_hint: f for gv, f in mod.functions.items() if "Compiler" in f.attrs}

    def compiler_of(func: Expr) -> str | None:
        if isinstance(func, GlobalVar):
            func = external.get(func.name_hint, func)
        name = func.attrs.get("Compiler") if isinstance(func, Function) else None
        local = name == DEFAULT and func not in external.values()
        return None if name is None or local else str(name)

    for node in post_order(*mod.functions.values()):
        if (compiler := compiler_of(node)) is not None:
            inside = (n for n in post_order(node) if isinstance(n, Call))
            found.update(dict.fromkeys(inside, compiler))
        elif isinstance(node, Call) and (compiler := compiler_of(node.op)) is not None:
            found[node] = compiler
    return {call: compiler for call, compiler in found.items() if compiler != target}


def _has_annotations(mod: IRModule) -> bool:
    return any(map(is_annotation, post_order(*mod.functions.values())))


def _check_not_annotated(mod: IRModule) -> None:
    for node in post_order(*mod.functions.values()):
        if is_annotation(node):
            raise ArgumentError(
                f"explain: the module has annotations already, found {describe(node)}. Give the "
                f"module before AnnotateTarget; or, for the passes that come after it, "
                f"pipeline=['MergeCompilerRegions', 'PartitionGraph']"
            )
