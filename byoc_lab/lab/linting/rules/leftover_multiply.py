"""Lint rule BYL025 leftover-multiply: the scale of a batch norm was not folded into a weight."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.batch_norms import fold_then_annotate, moves_into_weight
from byoc_lab.lab.linting.edits import Proposal, compilers_in
from byoc_lab.lab.linting.external import is_external
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.relay.analysis.annotations import skip_annotations
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Var
from byoc_lab.relay.ir.visit import post_order

_T = "Tensor[(1, 2, 4, 4), float32]"
_W = "Tensor[(3, 2, 1, 1), float32]"
_HEAD = (
    f"def @main(%x: {_T}, %w: {_W}) {{\n"
    '  %0 = annotation.compiler_begin(%x, compiler="A");\n'
    '  %1 = annotation.compiler_begin(%w, compiler="A");\n'
)
_CONV = "nn.conv2d({}, {}, padding=[0, 0, 0, 0], channels=3, kernel_size=[1, 1])"
_SCALE = '  %2 = annotation.compiler_begin(2f, compiler="A");\n'
_END = '  annotation.compiler_end({}, compiler="A")\n}}'


class LeftoverMultiply(LintRule):
    """A convolution's weight, or its result, is multiplied by a constant scale inside a region.

    ## Why is this bad?
    FoldScaleAxis moves the scale of a batch norm into the weight: `multiply(%weight, scale)`, which
    FoldConstant computes if the weight is a constant. If the weight is still a parameter, the
    multiply stays and runs for every inference. A multiply on the result stays if FoldScaleAxis did
    not run, because it came too late or because the level of the context was below 3. A multiply
    that FoldScaleAxis cannot move, for example along another axis, is not a finding.

    A scale that the network computes, such as the gate of squeeze-and-excitation, is also moved
    into the weight. That multiply is part of the network: if a region gets such a value from
    outside, the severity of the finding is info.

    ## What to do instead
    Bind the parameters before the pipeline runs (`relay.build_module.bind_params_by_name`, or the
    `params` of the importers and of `partition`), and run SimplifyInference, FoldConstant,
    FoldScaleAxis and FoldConstant under `PassContext(opt_level=3)`, all before the annotation.

    ## References
    The thread "[External codegen] How to prevent batch norm from being decomposed?" (TVM forum,
    January 2020).
    """

    code, name = "BYL025", "leftover-multiply"
    severity = Severity.WARNING
    VALID = (Sample(f"{_HEAD}  %2 = {_CONV.format('%0', '%1')};\n{_END.format('%2')}"),)
    INVALID = (
        Sample(
            f"{_HEAD}{_SCALE}  %3 = multiply(%1, %2);\n  %4 = {_CONV.format('%0', '%3')};\n"
            f"{_END.format('%4')}",
            points_at="multiply",
        ),
        Sample(
            f"{_HEAD}{_SCALE}  %3 = {_CONV.format('%0', '%1')};\n  %4 = multiply(%3, %2);\n"
            f"{_END.format('%4')}",
            points_at="multiply",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if not (subject.annotated or is_external(subject.func)):
            return
        for node in subject.nodes:
            if not (isinstance(node, Call) and node.is_op("multiply")) or not _inside(
                node, subject
            ):
                continue
            operands = [skip_annotations(a) for a in node.args]
            if not any(isinstance(o, Constant) for o in operands):
                continue
            for other in operands:
                weighed = _weighed(node, subject)
                if isinstance(other, Var) and weighed is not None:
                    if _has_shape_of(other, node):
                        yield self._weight(node, other, weighed, subject)
                    elif weighed.op_name in FoldScaleAxis.weighted:
                        yield self._scale(node, other, weighed, subject)
                elif (
                    isinstance(other, Call)
                    and other.op_name in FoldScaleAxis.weighted
                    and moves_into_weight(node, other, len(subject.users[other]) > 1)
                ):
                    yield self._result(node, other, subject)

    def _weight(self, node: Call, weight: Var, user: Call, subject: Subject) -> Finding:
        which = f"%{weight.name_hint}"
        if is_external(subject.func):
            which = f"the value that @main passes for {which}"
        return self.finding(
            f"the weight %{weight.name_hint} of {called(user)} is multiplied by a constant in "
            f"every run: %{weight.name_hint} is a parameter, so that nothing could fold it",
            f"bind {which} to a constant (bind_params_by_name, or params=...) before "
            f"the pipeline runs",
            node,
            subject,
        )

    def _scale(self, node: Call, scale: Var, user: Call, subject: Subject) -> Finding:
        which = f"%{scale.name_hint}"
        to_do = f"bind {which} to a constant before the pipeline runs"
        if is_external(subject.func):
            to_do = (
                f"if the value that @main passes for {which} is a parameter of the network, bind "
                f"it to a constant before the pipeline runs; if it is computed, such as the gate "
                f"of squeeze-and-excitation, the multiply is part of the network"
            )
        return self.finding(
            f"the weight of {called(user)}, a constant, is multiplied by {which} in every run: "
            f"FoldScaleAxis moved a scale into it that is not a constant",
            to_do,
            node,
            subject,
            severity=Severity.INFO if is_external(subject.func) else None,
        )

    def _result(self, node: Call, conv: Call, subject: Subject) -> Finding:
        make = partial(fold_then_annotate, compilers=compilers_in(subject.mod))
        title = "remove the annotations, run FoldScaleAxis at level 3, and annotate again"
        return self.finding(
            f"the result of {called(conv)} is multiplied by a constant in every run: FoldScaleAxis "
            f"did not move it into the weight",
            "run FoldScaleAxis under PassContext(opt_level=3) before the annotation",
            node,
            subject,
            others=[conv],
            proposals=[Proposal(title, make=make)] if subject.annotated else (),
        )


def _has_shape_of(value: Var, product: Call) -> bool:
    """Whether a factor is the weight rather than the scale: it has the shape of the product, or its
    type is unknown."""
    if not (value.is_typed and product.is_typed):
        return True
    mine, whole = (getattr(e.checked_type, "shape", None) for e in (value, product))
    return mine is None or mine == whole


def _inside(node: Expr, subject: Subject) -> bool:
    return is_external(subject.func) or subject.offloaded_region(node) is not None


def _takes_as_weight(user: Call, value: Expr) -> Call | None:
    """The convolution that takes a value as its weight: the user of the value, or a convolution in
    a composite function."""
    if _has_weight(user):
        return user if user.args[1] is value else None
    if not isinstance(user.op, Function) or value not in user.args:
        return None
    param = user.op.params[user.args.index(value)]
    inside = (n for n in post_order(user.op.body) if isinstance(n, Call))
    return next((n for n in inside if _has_weight(n) and n.args[1] is param), None)


def _has_weight(call: Call) -> bool:
    return isinstance(call.op, Op) and call.op.definition.inputs[1:2] == ("weight",)


def _weighed(node: Call, subject: Subject) -> Call | None:
    """The call that takes a node as its weight, looking through annotations."""
    todo: list[Expr] = [node]
    while todo:
        at = todo.pop()
        for user in subject.users[at]:
            weighed = _takes_as_weight(user, at) if isinstance(user, Call) else None
            if weighed is not None:
                return weighed
            if skip_annotations(user) is node:
                todo.append(user)
    return None
