"""What is wrong in a module of Relax on its way to a back end: the rules BYR001 to BYR004.

The rules look at functions as they are mirrored (`mirror.py`), and at the pattern table of the
trace, if that was given one. docs/relax.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from byoc_lab.lab.linting import Finding, Severity
from byoc_lab.lab.linting.foreign import RULES
from byoc_lab.relax.pattern_report import RelaxEntryReport, entries_of, explain_patterns
from byoc_lab.relay.ir.expr import Call, Function, GlobalVar
from byoc_lab.relay.ir.visit import post_order

if TYPE_CHECKING:
    from byoc_lab.relax.tracing.module import RelaxModule

MERGES = "MergeCompositeFunctions"
CODEGENS = "relax.ext."  # what the names of registered code generators begin with


def findings_of(mod: RelaxModule) -> list[Finding]:
    """The findings of a module, in the order of its functions."""
    return [*_regions_without_codegen(mod), *_composites_on_host(mod)]


def pattern_findings(table: Sequence[Any], mod: Any, made: set[str]) -> list[Finding]:
    """Of a pattern table, the entries without a composite that a call of the module comes near; an
    entry whose calls an earlier one takes is none. mod: TVM's module before FuseOpsByPattern. made:
    the names of composites that were made."""
    if all(entry.name in made for entry in entries_of(table)):
        return []
    return [
        _pattern_finding(report)
        for report in explain_patterns(table, mod)
        if isinstance(report, RelaxEntryReport) and report.near and report.name not in made
    ]


def finding(
    code: str,
    severity: Severity,
    message: str,
    what_to_do: str,
    node: Function | None = None,
    function: str | None = None,
) -> Finding:
    return Finding(code, RULES[code], severity, message, what_to_do, node, function=function)


def _regions_without_codegen(mod: RelaxModule) -> Iterator[Finding]:
    for gv, function in _functions(mod):
        compiler = function.attrs.get("Compiler")
        if compiler is None or is_registered(str(compiler)):
            continue
        yield finding(
            "BYR002",
            Severity.ERROR,
            f"@{gv.name_hint} has the attribute Codegen={compiler!r:.40}, and no function "
            f"{CODEGENS}{compiler} is registered, so that RunCodegen fails",
            f"import the package that registers {CODEGENS}{compiler}, or register it: "
            f"tvm_ffi.register_global_func",
            function,
            gv.name_hint,
        )


def _composites_on_host(mod: RelaxModule) -> Iterator[Finding]:
    """Global composites that are called from functions without a back end."""
    if MERGES in mod.to_come:
        return
    called = {
        node.op.name_hint
        for _, function in _functions(mod)
        if "Compiler" not in function.attrs
        for node in post_order(function)
        if isinstance(node, Call) and isinstance(node.op, GlobalVar)
    }
    for gv, function in _functions(mod):
        name = function.attrs.get("Composite")
        if name is None or "Compiler" in function.attrs or gv.name_hint not in called:
            continue
        compiler = str(name).partition(".")[0]
        reason = "" if is_registered(compiler) else f", and {CODEGENS}{compiler} is not registered"
        yield finding(
            "BYR001",
            Severity.WARNING,
            f"composite {name} (@{gv.name_hint}) is in no function with the attribute Codegen, so "
            f"that no back end gets it{reason}",
            f"run {MERGES} after FuseOpsByPattern, or FuseOpsByPattern(..., annotate_codegen=True)",
            function,
            gv.name_hint,
        )


def _pattern_finding(report: RelaxEntryReport) -> Finding:
    miss = report.miss
    if report.unbound and miss is not None:
        return finding(
            "BYR004",
            Severity.WARNING,
            f"pattern {report.name} makes no composite: at %{miss.variable}, operand {miss.path} "
            f"must be a constant, and is {miss.found}",
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


def _functions(mod: RelaxModule) -> list[tuple[GlobalVar, Function]]:
    return list(mod.functions.items())


def is_registered(compiler: str) -> bool:
    """Whether RunCodegen finds a code generator of that name."""
    import tvm_ffi  # with TVM, when a module of Relax is looked at

    return tvm_ffi.get_global_func(f"{CODEGENS}{compiler}", allow_missing=True) is not None
