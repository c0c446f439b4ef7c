"""Lint rule BYL037 uncomputed-result: a region returns an input or a constant, or a value twice."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.external import is_external, symbol_of
from byoc_lab.relay.analysis.annotations import BEGIN, is_annotation
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var

_T = "Tensor[(10), float32]"


def _returning(result: str) -> str:
    """The text of a module whose external function has this body."""
    return (
        f'def @r(%a: {_T}, Compiler="A", global_symbol="r") {{\n  {result}\n}}\n'
        f"def @main(%x: {_T}) {{\n  @r(%x)\n}}"
    )


class UncomputedResult(LintRule):
    """A region computes something, and one of its results is not computed: it is an input that is
    returned as it is, a constant, or a value that is a result already.

    ## Why is this bad?
    TVM's runtime for graphs in JSON, which the back end for DNNL uses, keeps one buffer for each
    value. The buffer of such a result takes the place of that of the input or the constant, so that
    the operators of the region read numbers that nobody wrote; of two results that are one value,
    only one is written. No error is raised. The back ends of byoc_lab copy the value.

    ## What to do instead
    Let the host use the value itself: take the result out of the region. With annotations, remove
    an end that is directly on a begin; for tuples: AnnotateTarget(..., include_non_call_ops=False).

    ## References
    TVM 0.16, src/runtime/contrib/json/json_runtime.h (SetInputOutputBuffers);
    github.com/apache/tvm/pull/5320.
    """

    code, name = "BYL037", "uncomputed-result"
    severity = Severity.WARNING
    VALID = (
        Sample(_returning("(nn.relu(%a), tanh(%a))")),
        Sample(_returning("nn.relu(%a)")),
    )
    INVALID = (
        Sample(_returning("(nn.relu(%a), %a)")),
        Sample(_returning("(nn.relu(%a), 1f)")),
        Sample(_returning("%0 = nn.relu(%a);\n  (%0, %0)")),
        Sample(
            f"def @main(%x: {_T}) {{\n"
            '  %0 = annotation.compiler_begin(%x, compiler="A");\n'
            "  %1 = nn.relu(%0);\n"
            '  %2 = annotation.compiler_end(%1, compiler="A");\n'
            '  %3 = annotation.compiler_end(%0, compiler="A");\n'
            "  (%2, %3)\n}",
            points_at="annotation.compiler_end",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if is_external(subject.func) and any(isinstance(n, Call) for n in subject.nodes):
            for told in dict.fromkeys(_uncomputed(subject.func)):
                yield self.finding(
                    f"external function {symbol_of(subject.func)} returns {told}",
                    "let the host use that value itself: take the result out of the region",
                    subject.func,
                    subject,
                )
        for region in subject.offloaded:
            if all(map(is_annotation, subject.in_order(region))):
                continue  # BYL011 empty-region
            for end in region.outputs:
                if isinstance(end.args[0], Call) and end.args[0].op_name == BEGIN:
                    yield self.finding(
                        f"region {subject.number(region)} of {region.target} returns its input as "
                        f"it is: this end is directly on a begin",
                        "remove the end, and let its users use the value that enters the region",
                        end,
                        subject,
                        0,
                    )


def _uncomputed(func: Function) -> Iterator[str]:
    """The results of a function that it does not compute, in words."""
    bound: dict[Expr, Expr] = {}
    body = func.body
    while isinstance(body, Let):
        bound[body.var] = body.value
        body = body.body
    seen = set()
    results = [body]
    while results:
        value = results.pop(0)
        while value in bound:
            value = bound[value]
        if isinstance(value, Tuple):
            results += value.fields
        elif isinstance(value, Constant):
            yield "a constant"
        elif isinstance(value, Var):
            yield f"its input %{value.name_hint} as it is"
        elif isinstance(value, TupleGetItem) and isinstance(value.tuple_value, Var):
            yield f"field {value.index} of its input %{value.tuple_value.name_hint} as it is"
        elif value in seen:
            yield "one value twice"
        seen.add(value)
