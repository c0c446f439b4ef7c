"""Lint rule BYL033 doubled-work: a region computes values that are also computed elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byoc_lab.errors import counted, enumerated
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.context import Context
from byoc_lab.relay.analysis.recomputed import call_sites, in_each_call, recomputed
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

_T = "Tensor[(2, 3), float32]"


def _text(inside: str, given: str) -> str:
    return (
        f'def @region(%p: {_T}, %q: {_T}, Compiler="dnnl", Primitive=1, global_symbol="region") '
        f"-> {_T} {{\n  multiply({inside}, %q)\n}}\n"
        f"def @main(%x: {_T}) {{\n  %0 = tanh(%x);\n  %1 = sigmoid(%0);\n  @region({given}, %1)\n}}"
    )


class DoubledWork(LintRule):
    """A region or composite computes operators that are computed again elsewhere.

    ## Why is this bad?
    MergeComposite accepts a match with an inner value that is also used outside, if the result of
    that user flows back into the match. The composite then has copies of the operators that compute
    the value, and the originals stay outside: both are computed in each run. A convolution that is
    computed twice often costs more than the region saves. No error is reported, because the numbers
    are right. Equal values that the module itself computes twice may also end up in several
    regions.

    ## What to do instead
    For copies made by a match: let the check of the pattern refuse a match whose inner value has
    another user, end the pattern at that value, or include the other user in a pattern. For equal
    values of the module: compute them once before partitioning, as TVM's EliminateCommonSubexpr
    does.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc (`PatternGrouper`).
    """

    code, name = "BYL033", "doubled-work"
    severity = Severity.WARNING
    VALID = (Sample(_text("%p", "%0")),)
    INVALID = (Sample(_text("tanh(%p)", "%x"), points_at="tanh"),)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        doubled: dict[tuple[tuple[str, ...], str], list[Call]] = {}
        for found in recomputed(mod):
            doubled.setdefault((found.places, found.function), []).extend(found.calls[:1])
        functions = mod.functions.items() if doubled else ()
        home = {n: gv.name_hint for gv, f in functions for n in post_order(f)}
        sites = call_sites(mod) if doubled else Counter[str]()
        for (places, host), calls in doubled.items():
            names = Counter(c.op_name for c in calls)
            listed = ", ".join(f"{count} {name}" for name, count in names.items())
            alike = f"{counted(len(places), 'call')} of {places[0]}"
            where = enumerated(places) if len(set(places)) > 1 else alike
            yield self.finding(
                f"{where} each compute {counted(len(calls), 'operator')} ({listed}) "
                f"of the same values" + in_each_call(host, sites[host]),
                "if the module computes these values twice before MergeComposite, compute equal "
                "values once (TVM: EliminateCommonSubexpr); if a match copied their operators, let "
                "its check refuse a match with an inner value that is also used outside, or end "
                "the pattern at that value",
                calls[-1],
                others=calls[:-1],
                function=home[calls[-1]],
            )
