"""Lint rule BYL037 uncomputed-result: a region returns an input or a constant, or a value twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.external import is_external, symbol_of
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem

_HINT = "let the host use that value itself: take the result out of the region"
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
    only one is written. A field that is taken out of a tuple by two expressions is one value, too.
    No error is raised. The back ends of byoc_lab copy the value.

    ## What to do instead
    Let the host use the value itself: take the result out of the region. With annotations, remove
    an end that is directly on a begin; for tuples: AnnotateTarget(..., include_non_call_ops=False).

    ## References
    TVM 0.16, src/runtime/contrib/json/json_runtime.h, `SetInputOutputBuffers`;
    github.com/apache/tvm/pull/5320.
    """

    code, name = "BYL037", "uncomputed-result"
    severity = Severity.WARNING
    VALID = (
        Sample(_returning("(nn.relu(%a), tanh(%a))")),
        Sample(_returning("nn.relu(%a)")),
        Sample(_returning("%0 = split(%a, indices_or_sections=2);\n  (%0.0, %0.1)")),
    )
    INVALID = (
        Sample(_returning("(nn.relu(%a), %a)")),
        Sample(_returning("(nn.relu(%a), 1f)")),
        Sample(_returning("%0 = nn.relu(%a);\n  (%0, %0)")),
        Sample(_returning("%0 = split(%a, indices_or_sections=2);\n  (%0.0, %0.0)")),
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
            inputs: dict[Expr, str] = {p: f"its input %{p.name_hint}" for p in subject.func.params}
            for told in dict.fromkeys(t for _, t in _uncomputed([subject.func.body], inputs)):
                yield self.finding(
                    f"external function {symbol_of(subject.func)} returns {told}",
                    _HINT,
                    subject.func,
                    subject,
                )
        for region in subject.offloaded:
            if not any(isinstance(n, Call) and not is_annotation(n) for n in region.nodes):
                continue  # BYL011 empty-region
            ends: dict[Expr, Call] = {}  # by result: PartitionGraph returns each expression once
            for end in region.outputs:
                (value,) = end.args
                for result in value.fields if isinstance(value, Tuple) else (value,):
                    ends.setdefault(result, end)
            for result, told in _uncomputed(ends, {begin: "its input" for begin in region.inputs}):
                yield self.finding(
                    f"region {subject.number(region)} of {region.target} returns {told}",
                    _HINT,
                    ends[result],
                    subject,
                    0,
                )


def _uncomputed(results: Iterable[Expr], inputs: Mapping[Expr, str]) -> Iterator[tuple[Expr, str]]:
    """The results that are not computed, each with the value that it is, in words.

    A tuple is as many results as it has fields, as in TVM's graphs in JSON.
    """
    bound: dict[Expr, Expr] = {}
    seen: set[tuple[Expr, tuple[int, ...]]] = set()
    around: set[tuple[Expr, tuple[int, ...]]] = set()  # those, and the tuples that they are in
    pending = [(result, result) for result in results]
    while pending:
        result, value = pending.pop(0)
        value, path = _source(value, bound)
        places = [(value, path[:depth]) for depth in range(len(path) + 1)]
        if isinstance(value, Tuple):
            pending = [(result, field) for field in value.fields] + pending
        elif isinstance(value, Constant):
            yield result, "a constant"
        elif value in inputs:
            field = f"field {'.'.join(map(str, path))} of " if path else ""
            yield result, f"{field}{inputs[value]} as it is"
        elif places[-1] in around or not seen.isdisjoint(places):
            yield result, "one value twice"
        seen.add(places[-1])
        around.update(places)


def _source(value: Expr, bound: dict[Expr, Expr]) -> tuple[Expr, tuple[int, ...]]:
    """Where a value is made, behind lets and literal tuples, and the path of fields to it there.

    `bound` has the variables of lets, and gets those of the lets that are passed.
    """
    path: list[int] = []
    while True:
        if value in bound:
            value = bound[value]
        elif isinstance(value, Let):
            bound[value.var] = value.value
            value = value.body
        elif isinstance(value, TupleGetItem):
            path.insert(0, value.index)
            value = value.tuple_value
        elif isinstance(value, Tuple) and path:
            value = value.fields[path.pop(0)]
        else:
            return value, tuple(path)
