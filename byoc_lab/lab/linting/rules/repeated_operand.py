"""Lint rule BYL035 repeated-operand: a composite has one parameter for several operands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byoc_lab.lab.linting.ahead import annotated_ahead, sources
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.composites import composites_in
from byoc_lab.lab.linting.context import Context
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import post_order_patterns
from byoc_lab.relay.patterns.patterns import AltPattern, WildcardPattern
from byoc_lab.run.operands import shared_parameters

_T = "Tensor[(2, 2), float32]"
_BIAS = "Tensor[(2), float32]"


def _text(params: str, dense: str, args: str) -> str:
    return (
        f"def @main(%x: {_T}, %y: {_T}, %b: {_BIAS}) {{\n  @f(%x, %y, %b)\n}}\n"
        f"def @f(%x: {_T}, %y: {_T}, %b: {_BIAS}, "
        'Compiler="ccompiler", Primitive=1, global_symbol="f") {\n'
        f'  %1 = fn ({params}, Composite="ccompiler.dense_bias") -> {_T} {{\n'
        f"    %0 = {dense};\n    add(%0, %r)\n  }};\n  %2 = %1({args});\n  add(%2, %y)\n}}"
    )


class RepeatedOperand(LintRule):
    """A composite has one parameter for several operands of its pattern, because they are the same
    value.

    It is a hint for a known back end: `lint(mod, backend=...)`, or the targets of `lint(mod,
    pipeline=...)`. A pattern that uses one wildcard in several positions requires such a value, and
    is not reported.

    ## Why is this bad?
    The module is valid. But MergeComposite creates one parameter per value: the composite of `x *
    x` has one parameter and one argument. A code generator that reads two arguments fails with an
    IndexError, or reads the wrong argument.

    ## What to do instead
    Read the operands from the calls in the body of the composite and look up the argument of each
    parameter, or let the check of the pattern refuse repeated operands.

    ## References
    TVM 0.16, src/relay/ir/dataflow_matcher.cc (PatternGrouper).
    """

    code, name = "BYL035", "repeated-operand"
    severity = Severity.INFO
    VALID = (
        Sample(
            _text(f"%p: {_T}, %q: {_T}, %r: {_BIAS}", "nn.dense(%p, %q, units=None)", "%x, %y, %b"),
            backend="ccompiler",
        ),
    )
    INVALID = (
        Sample(
            _text(f"%p: {_T}, %r: {_BIAS}", "nn.dense(%p, %p, units=None)", "%x, %b"),
            backend="ccompiler",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node in subject.nodes:
            if isinstance(node, Call) and isinstance(node.op, Function):
                name = str(node.op.attrs.get("Composite", ""))
                found = _found(node.op, subject.context.pattern_of(name))
                if found:
                    yield self._finding(f"the composite {name} has {found}", node, subject)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        """The future composites of the pipeline with one parameter for several operands."""
        uses = Counter(p for n in post_order(*mod.functions.values()) for p in n.parts())
        repeated = any(uses[n] > 1 for n in uses if not isinstance(n, Op))
        ahead = annotated_ahead(mod, context) if repeated and not composites_in(mod) else None
        for gv, func in ahead.functions.items() if ahead is not None else ():
            for function in post_order(func):
                if not isinstance(function, Function) or "Composite" not in function.attrs:
                    continue
                name = str(function.attrs["Composite"])
                found = _found(function, context.pattern_of(name))
                if found:
                    calls = [n for n in post_order(function.body) if isinstance(n, Call)]
                    place = sources(func, mod[gv.name_hint]).get(calls[-1])
                    message = f"the composite {name} will have {found}"
                    yield self._finding(message, place, home=gv.name_hint)

    def _finding(
        self, message: str, node: Call | None, subject: Subject | None = None, home: str = ""
    ) -> Finding:
        return self.finding(
            message,
            "read the operands in the body of the composite, not its arguments by position",
            node,
            subject,
            function=home or None,
        )


def _found(function: Function, pattern: DFPattern | None) -> str:
    """Describe the parameters of a composite that several operands of its pattern share; "" if
    none."""
    if pattern is None:
        return ""
    below = post_order_patterns(pattern)
    wildcards = sum(isinstance(p, WildcardPattern) for p in below)
    if any(isinstance(p, AltPattern) for p in below) or wildcards <= len(function.params):
        return ""
    shared = shared_parameters(function).items()
    return ", ".join(f"one parameter, %{p.name_hint}, for {n} operands" for p, n in shared)
