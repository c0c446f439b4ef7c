"""Lint rule BYL024 unfolded-constants: a region computes constant expressions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from byoc_lab.lab.linting.ahead import annotated_ahead
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.batch_norms import fold_then_annotate
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.edits import Proposal, compilers_in
from byoc_lab.lab.linting.external import is_external, name_of
from byoc_lab.passes.fold.fold_constant import FOLD_QNN, is_quantised
from byoc_lab.relay.analysis.annotations import is_annotation, skip_annotations
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

_HEAD = (
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    '  %0 = annotation.compiler_begin(%x, compiler="dnnl");\n'
    '  %1 = annotation.compiler_begin(2f, compiler="dnnl");\n'
)
_END = '  annotation.compiler_end(%3, compiler="dnnl")\n}'
_ALONE = (
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    '  %0 = annotation.compiler_begin(2f, compiler="dnnl");\n  %1 = sqrt(%0);\n'
    '  %2 = annotation.compiler_end(%1, compiler="dnnl");\n  add(%x, %2)\n}'
)
_PARTITIONED = (
    "def @main(%x: Tensor[(2, 3), float32]) {\n  %0 = @f();\n  add(%x, %0)\n}\n"
    'def @f(Compiler="A", Primitive=1, global_symbol="f") -> Tensor[(), float32] {\n'
    "  sqrt(2f)\n}"
)


class UnfoldedConstants(LintRule):
    """A region computes a constant expression in every run.

    It is reported for the region, for the function that PartitionGraph creates from it, and, for a
    module that is not annotated yet, if the given pipeline (else the pipeline of the back end)
    creates such a region.

    ## Why is this bad?
    The back end computes the same values in every run, and patterns that require a constant (a
    weight, a bias) do not match a computation. A region with only constant expressions becomes a
    function without parameters.

    ## What to do instead
    Run FoldConstant (and, for batch norms, FoldScaleAxis) before AnnotateTarget. FoldConstant skips
    quantised operators unless it is FoldConstant(fold_qnn=True), and always skips calls of
    composite functions: run it before MergeComposite.

    ## References
    TVM 0.16, src/relay/transforms/fold_constant.cc.
    """

    code, name = "BYL024", "unfolded-constants"
    severity = Severity.WARNING
    VALID = (Sample(f"{_HEAD}  %2 = add(%0, %1);\n  %3 = sqrt(%2);\n{_END}"),)
    INVALID = (
        Sample(f"{_HEAD}  %2 = sqrt(%1);\n  %3 = add(%0, %2);\n{_END}", points_at="sqrt"),
        Sample(_ALONE, points_at="sqrt"),
        Sample(_PARTITIONED, points_at="sqrt"),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if is_external(subject.func):
            tops, remedy = _unfolded(subject.nodes, subject)
            where = f"the external function {name_of(subject.func, subject.name, subject.mod)}"
            if tops:
                yield self._finding(tops, where, remedy, subject)
            return
        for region, tops, remedy in _regions(subject):
            where = f"region {subject.number(region)} of {region.target}"
            fold = Proposal(
                "remove the annotations, fold the constants, and annotate again",
                make=partial(
                    fold_then_annotate,
                    compilers=(region.target,),
                    fold_qnn=FOLD_QNN in remedy,
                ),
            )
            yield self._finding(tops, where, remedy, subject, [fold])

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        """The future regions of the pipeline, if the module has operators on constants."""
        constant = {
            gv.name_hint: [n for n in constant_nodes(post_order(f)) if isinstance(n, Call)]
            for gv, f in mod.functions.items()
        }
        plain = any(constant.values()) and not compilers_in(mod)
        ahead = annotated_ahead(mod, context) if plain else None
        for gv, func in ahead.functions.items() if ahead is not None else ():
            here = constant.get(gv.name_hint)
            subject = Subject(func, gv.name_hint, ahead or mod)
            regions = list(_regions(subject)) if here and not is_external(func) else []
            for region, tops, remedy in regions:
                names = {called(n) for n in tops}
                nodes = [n for n in here or () if called(n) in names] or (here or [])[:1]
                where = f"a future region of {region.target}"
                yield self._finding(nodes, where, remedy, subject)

    def _finding(
        self,
        tops: list[Call],
        where: str,
        remedy: str,
        subject: Subject,
        proposals: Iterable[Proposal] = (),
    ) -> Finding:
        return self.finding(
            f"{', '.join(dict.fromkeys(map(called, tops)))} in {where} "
            f"{'computes' if len(tops) == 1 else 'compute'} with constants alone",
            f"run {remedy}",
            tops[0],
            subject,
            others=tops[1:],
            proposals=list(proposals),
        )


def _regions(subject: Subject) -> Iterator[tuple[Region, list[Call], str]]:
    """The regions with constant expressions, each with the result of `_unfolded`."""
    for region in subject.offloaded:
        tops, remedy = _unfolded(subject.in_order(region), subject)
        if region.outputs and tops:
            yield region, tops, remedy


def _unfolded(nodes: Sequence[Expr], subject: Subject) -> tuple[list[Call], str]:
    """For nodes in evaluation order: the calls with only constant operands that have users outside
    of such calls, and advice on the pass that folds them and its position."""
    constant = constant_nodes(nodes)
    calls = [n for n in nodes if n in constant and isinstance(n, Call) and not is_annotation(n)]
    callees = [call.op for call in calls]
    quantised = any(isinstance(n, Op) and is_quantised(n) for n in post_order(*callees))
    merged = any(isinstance(callee, Function) for callee in callees)
    remedy = (
        f"{FOLD_QNN if quantised else 'FoldConstant'} before "
        f"{'MergeComposite' if merged else 'AnnotateTarget'}"
    )
    return [n for n in calls if not _computed(constant, n, subject)] or calls[-1:], remedy


def _computed(constant: set[Expr], call: Call, subject: Subject) -> bool:
    return constant.issuperset(u for u in subject.users[call] if not is_annotation(u))


def constant_nodes(nodes: Iterable[Expr]) -> set[Expr]:
    """The nodes, given in evaluation order, that are computed only from constants: calls of
    operators and of composite functions, tuples and projections of them."""
    found: set[Expr] = set()
    for node in nodes:
        if isinstance(node, Call):
            pure = isinstance(node.op, Function) or (
                isinstance(node.op, Op) and not node.op.get_attr("TOpIsStateful")
            )
            operands = node.args if pure else ()
        elif isinstance(node, (Tuple, TupleGetItem)):
            operands = node.parts()
        else:
            continue
        if operands and all(_is_constant(operand, found) for operand in operands):
            found.add(node)
    return found


def _is_constant(operand: Expr, found: set[Expr]) -> bool:
    """Whether an operand is constant. found: the constant nodes that precede its user."""
    value = skip_annotations(operand)
    if isinstance(value, Tuple) and value not in found:
        return all(_is_constant(field, found) for field in value.fields)
    return operand in found or value in found or isinstance(value, Constant)
