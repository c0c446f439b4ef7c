"""Findings in a Relax module before, during and after partitioning: the rules BYR001 to BYR013.

The rules examine mirrored functions (`mirror.py`), and the pattern table of the trace, if there is
one. docs/relax.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from byoc_lab.backends.dnnl.codegen import region_graph
from byoc_lab.errors import ByocLabError, PassError
from byoc_lab.lab.linting import Finding, Severity
from byoc_lab.lab.linting.foreign import RULES
from byoc_lab.lab.linting.results import uncomputed_of
from byoc_lab.relax.ir.calls import composite_names, host_functions, lowered_in, operator_calls
from byoc_lab.relax.ir.variables import variable_faults
from byoc_lab.relax.partition import TARGET
from byoc_lab.relax.passes import MERGES, applied
from byoc_lab.relax.patterns.report import RelaxEntryReport, entries_of, explain_patterns
from byoc_lab.relax.registration import PREFIX, is_registered
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.relax.tracing.mirrored import MirroredModule
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns.below import needed_operators

NAMED = 3
"""Patterns and operators that a finding names."""


def findings_of(mod: MirroredModule) -> list[Finding]:
    """The findings of a module, in the order of its functions."""
    return [
        *_faulty_variables(mod),
        *_regions_without_codegen(mod),
        *_nameless_composites(mod),
        *_composites_on_host(mod),
        *_regions_before_merging(mod),
        *_code_in_regions(mod),
        *_unsupported_in_regions(mod),
        *_norms_of_training(mod),
        *_uncomputed_results(mod),
    ]


def pattern_findings(table: Sequence[Any], mod: Any, made: set[str]) -> list[Finding]:
    """Findings on a pattern table: entries without a composite that nearly match a call of the
    module. mod: TVM's module before FuseOpsByPattern. made: the names of the created composites."""
    if all(entry.name in made for entry in entries_of(table)):
        return []
    return [
        _pattern_finding(report)
        for report in explain_patterns(table, [mod])
        if isinstance(report, RelaxEntryReport) and report.near and report.name not in made
    ]


def taken_away(fuses: Any, made: set[str], earlier: Iterable[tuple[Any, str]]) -> list[Finding]:
    """Findings that an earlier pass replaced operators that patterns match. To detect this, the
    matching pass is run again on the inputs of earlier passes:

    it then creates composites with new names. fuses: the matching pass. made: the names of the
    composites that it created. earlier: the input modules of the earlier passes, and their names,
    the last pass first."""
    found = []
    name, known = str(fuses.info.name), set(made)
    for before, taker in earlier:
        try:
            lost = composite_names(applied([fuses], before, name)) - known
        except PassError:  # no composites on this input, either
            continue
        known |= lost
        if lost:
            found.append(
                finding(
                    "BYR010",
                    Severity.WARNING,
                    f"{name} makes no composite of {_some(sorted(lost))}: {taker} replaced "
                    f"operators that the patterns match. On the module before {taker}, {name} "
                    "creates them",
                    f"run {name} before {taker}; run LegalizeOps after RunCodegen",
                )
            )
    return found


def lowered_already(table: Sequence[Any], mod: Any, made: set[str]) -> list[Finding]:
    """The finding that LegalizeOps has probably already run: the module lacks operators that
    patterns match, and functions called by call_tir have the names that LegalizeOps gives to the
    code of these operators.

    mod: TVM's module before the first pass. made: the names of the created composites.
    """
    calls = [c for function in host_functions(mod) for c in operator_calls(function)]
    names = {c.name for c in calls}
    code = {
        _plain_name(str(c.call.args[0].name_hint)): f"@{c.call.args[0].name_hint}"
        for c in calls
        if c.name in ("call_tir", "call_tir_inplace")
    }
    if not code:
        return []
    lost: dict[str, set[str]] = {}
    for entry in entries_of(table):
        lacks = needed_operators(entry.read.root) - names
        if entry.name not in made and lacks and all(_plain_name(name) in code for name in lacks):
            lost[entry.name] = set(lacks)
    if not lost:
        return []
    taken = sorted(set().union(*lost.values()))
    return [
        finding(
            "BYR010",
            Severity.WARNING,
            f"FuseOpsByPattern makes no composite of {_some(sorted(lost))}: the module has no call "
            f"of {_some(taken)}, and calls {_some([code[_plain_name(name)] for name in taken])} by "
            "call_tir. By the names, LegalizeOps has likely generated that code from the "
            "operators",
            "partition the input module of LegalizeOps; run LegalizeOps after RunCodegen",
        )
    ]


def _plain_name(name: str) -> str:
    """A normalized name that is equal for an operator and for the code that LegalizeOps generates
    for it, such as "nn.leakyrelu" and "leaky_relu1", "clip" and "tir_clip"."""
    last = name.rpartition(".")[2].removeprefix("tir_")
    return last.rstrip("0123456789").replace("_", "") or last


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return " and ".join(names[:NAMED]) + more


def finding(
    code: str,
    severity: Severity,
    message: str,
    what_to_do: str,
    node: Function | None = None,
    function: str | None = None,
) -> Finding:
    return Finding(code, RULES[code], severity, message, what_to_do, node, function=function)


def _regions_without_codegen(mod: MirroredModule) -> Iterator[Finding]:
    for gv, function in _functions(mod):
        compiler = function.attrs.get("Compiler")
        if compiler is None or is_registered(str(compiler)):
            continue
        yield finding(
            "BYR002",
            Severity.ERROR,
            f"@{gv.name_hint} has the attribute Codegen={compiler!r:.40}, and no function "
            f"{PREFIX}{compiler} is registered, so that RunCodegen fails",
            f"register a code generator, byoc_lab.relax.register({str(compiler)!r:.40}, "
            f"codegen=...), or import the package that registers {PREFIX}{compiler}",
            function,
            gv.name_hint,
        )


def _composites_on_host(mod: MirroredModule) -> Iterator[Finding]:
    """Global composites that are called from functions without a back end."""
    if MERGES in mod.to_come:
        return
    called = _called(mod)
    for gv, function in _functions(mod):
        name = function.attrs.get("Composite")
        if name is None or "Compiler" in function.attrs or gv.name_hint not in called:
            continue
        if "." not in str(name):
            continue  # reported by _nameless_composites
        compiler = str(name).partition(".")[0]
        reason = "" if is_registered(compiler) else f", and {PREFIX}{compiler} is not registered"
        yield finding(
            "BYR001",
            Severity.WARNING,
            f"composite {name} (@{gv.name_hint}) is not in a function with the attribute Codegen, "
            f"so no back end compiles it{reason}",
            f"run {MERGES} after FuseOpsByPattern, or FuseOpsByPattern(..., annotate_codegen=True)",
            function,
            gv.name_hint,
        )


def _regions_before_merging(mod: MirroredModule) -> Iterator[Finding]:
    """The first two matches of a back end that MergeCompositeFunctions would have merged into one
    region if they had no attribute Codegen yet."""
    if MERGES not in mod.to_come:
        return
    regions = {gv: f.attrs["Compiler"] for gv, f in _functions(mod) if "Compiler" in f.attrs}
    for gv, function in _functions(mod):
        if gv in regions:
            continue
        for call, second in _global_calls(post_order(function)):
            for _, first in _global_calls(call.args):
                if first in regions and regions[first] == regions.get(second):
                    yield finding(
                        "BYR011",
                        Severity.WARNING,
                        f"@{first.name_hint} and @{second.name_hint} have Codegen="
                        f"{regions[first]!r:.40} before {MERGES}, which merges only composites, "
                        "so each stays a separate region",
                        f"leave out annotate_codegen=True of FuseOpsByPattern, or {MERGES}",
                        function,
                        gv.name_hint,
                    )
                    return


def _global_calls(nodes: Iterable[Expr]) -> Iterator[tuple[Call, GlobalVar]]:
    """The calls of global functions among the nodes, each with the called function."""
    for node in nodes:
        if isinstance(node, Call) and isinstance(node.op, GlobalVar):
            yield node, node.op


def _called(mod: MirroredModule) -> set[str]:
    """The names of functions called from functions without a back end."""
    return {
        gv.name_hint
        for _, function in _functions(mod)
        if "Compiler" not in function.attrs
        for _, gv in _global_calls(post_order(function))
    }


def _faulty_variables(mod: MirroredModule) -> Iterator[Finding]:
    by_name = {gv.name_hint: function for gv, function in _functions(mod)}
    for fault in variable_faults(mod.source):
        code = "BYR005" if fault.free else "BYR006"
        node = by_name.get(fault.function)
        yield finding(
            code, Severity.ERROR, fault.message, fault.what_to_do, node, fault.function
        )  # fmt: skip


def _nameless_composites(mod: MirroredModule) -> Iterator[Finding]:
    called = _called(mod)
    for gv, function in _functions(mod):
        name = str(function.attrs.get("Composite", "."))
        if "." not in name and gv.name_hint in called:
            yield finding(
                "BYR007",
                Severity.ERROR,
                f"composite {name!r:.40} (@{gv.name_hint}) names no back end, so that {MERGES} "
                f"fails",
                f'name the pattern "<back end>.{name}": the part before the first period is the '
                f"back end",
                function,
                gv.name_hint,
            )


def _code_in_regions(mod: MirroredModule) -> Iterator[Finding]:
    """Calls of lowered code in functions for a back end, and in composites."""
    for gv, function, source in _made_of_operators(mod):
        lowered = lowered_in(source)
        if lowered:
            yield finding(
                "BYR008",
                Severity.WARNING,
                f"@{gv.name_hint} is for a back end, and has {' and '.join(lowered)}: a pass such "
                f"as LegalizeOps replaced its operators by code before the back end got it",
                "run LegalizeOps after RunCodegen, as relax.get_pipeline does",
                function,
                gv.name_hint,
            )


def _unsupported_in_regions(mod: MirroredModule) -> Iterator[Finding]:
    """Regions that DNNL's code generator refuses, which is asked for each region."""
    for gv, function, source in _made_of_operators(mod):
        if function.attrs.get("Compiler") != TARGET:
            continue
        refused = _refusal(mod, source)
        if refused and not lowered_in(source):
            yield finding(
                "BYR009",
                Severity.ERROR,
                f"DNNL does not compile @{gv.name_hint}, so that RunCodegen fails: {refused}",
                "leave that operator out of the pattern table, or refuse it in the check of its "
                "pattern; byoc_lab.relax.partition_for_dnnl selects only operators that DNNL "
                "compiles",
                function,
                gv.name_hint,
            )


def _norms_of_training(mod: MirroredModule) -> Iterator[Finding]:
    """The first batch norm of a function that computes with the mean and variance of its input."""
    sources = {gv.name_hint: function for gv, function in mod.source.functions.items()}
    for gv, function in _functions(mod):
        norms = [
            c
            for c in operator_calls(sources[gv.name_hint])
            if c.name == "nn.batch_norm" and getattr(c.call.attrs, "training", False)
        ]
        if norms:
            yield finding(
                "BYR012",
                Severity.WARNING,
                f"nn.batch_norm %{norms[0].variable} has training=True, the default of "
                f"R.nn.batch_norm: it computes with the mean and variance of its input. "
                f"FoldBatchnormToConv2D and DecomposeOpsForInference, which partition_for_dnnl "
                f"runs, use the stored ones instead, so the results differ",
                "write training=False; for training, run relax.transform.DecomposeOpsForTraining() "
                "before the other passes",
                function,
                gv.name_hint,
            )


def _uncomputed_results(mod: MirroredModule) -> Iterator[Finding]:
    """Results of functions for a back end that are inputs, constants, or duplicate values."""
    for gv, function in _functions(mod):
        for told in uncomputed_of(function) if "Compiler" in function.attrs else ():
            yield finding(
                "BYR013",
                Severity.WARNING,
                f"@{gv.name_hint} has Codegen={function.attrs['Compiler']!r:.40}, and returns "
                f"{told}",
                "let the caller use that value itself: take the result out of the function",
                function,
                gv.name_hint,
            )


def _made_of_operators(mod: MirroredModule) -> Iterator[tuple[GlobalVar, Function, Any]]:
    """The functions for back ends, and the composites outside them, as nodes and as TVM
    functions."""
    sources = {gv.name_hint: function for gv, function in mod.source.functions.items()}
    for gv, function in _functions(mod):
        if "Compiler" in function.attrs or "Composite" in function.attrs:
            yield gv, function, sources[gv.name_hint]


def _refusal(mod: MirroredModule, function: Any) -> str:
    """The reason that DNNL's code generator refuses a Relax function; "" if it accepts. The answer
    is shared by the modules of a trace."""
    known = mod.shared.mirror.refusals
    if function not in known:
        try:
            region_graph(*to_relay(function))
            known[function] = ""
        except ByocLabError as error:
            known[function] = str(error)
    return known[function]


def _pattern_finding(report: RelaxEntryReport) -> Finding:
    miss = report.miss
    if miss is not None and miss.unbound:
        return finding(
            "BYR004",
            Severity.WARNING,
            f"pattern {report.name} makes no composite: at %{miss.call.variable}, operand "
            f"{miss.stop.path} must be a constant, found {miss.found}",
            "bind the parameters first: relax.transform.BindParams('main', params), or write "
            "wildcard() for is_const()",
        )
    return finding(
        "BYR003",
        Severity.WARNING,
        f"pattern {report.name} makes no composite: {report.reason}",
        "compare the pattern with the text before FuseOpsByPattern; "
        "byoc_lab.explain_patterns(table, mod) asks about every entry",
    )


def _functions(mod: MirroredModule) -> list[tuple[GlobalVar, Function]]:
    return list(mod.functions.items())
