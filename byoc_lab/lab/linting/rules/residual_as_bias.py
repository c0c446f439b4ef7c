"""Lint rule BYL032 residual-as-bias: a composite treats a whole tensor as a bias."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.backends.registry import get as get_backend
from byoc_lab.backends.registry import is_registered
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.passes.byoc.annotate_target import prefix_of
from byoc_lab.relay.ir.expr import Call, Function, Op, Var
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.framework.arithmetic import Arithmetic

_T = "Tensor[(1, 4, 8, 8), float32]"
_W = "Tensor[(4, 4, 1, 1), float32]"
_RESIDUAL = ("sum", "residual")
"""Words in the name of a composite that adds a whole tensor on purpose."""


def _text(name: str, bias: str) -> str:
    return (
        f"def @main(%x: {_T}, %w: {_W}, %b: {bias}) {{\n"
        f'  %2 = fn (%p: {_T}, %q: {_W}, %r: {bias}, Composite="{name}") {{\n'
        "    %0 = nn.conv2d(%p, %q, padding=[0, 0, 0, 0], channels=4, kernel_size=[1, 1]);\n"
        "    %1 = add(%0, %r);\n    nn.relu(%1)\n  };\n  %2(%x, %w, %b)\n}"
    )


class ResidualAsBias(LintRule):
    """A composite with "bias" in its name adds a tensor as large as the result: a residual.

    ## Why is this bad?
    The pattern of such a composite contains `add(conv, wildcard())`, which also matches the sum of
    two branches of a network. A code generator that expects one number per channel reads wrong
    values, or refuses the region.

    ## What to do instead
    Restrict the pattern: `is_constant()` for the bias, or a check that the other operand has one
    number per channel (TVM's DNNL checks the shape). Write a separate pattern for the sum of two
    tensors.

    ## References
    TVM 0.16, python/tvm/relay/op/contrib/dnnl.py, `make_conv_bias_sum_relu_pattern`.
    """

    code, name = "BYL032", "residual-as-bias"
    severity = Severity.WARNING
    VALID = (
        Sample(_text("dnnl.conv2d_bias_relu", "Tensor[(4, 1, 1), float32]")),
        Sample(_text("dnnl.conv2d_sum_relu", _T)),
    )
    INVALID = (Sample(_text("mychip.conv2d_bias_relu", _T)),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node in subject.nodes:
            if not isinstance(node, Call) or not isinstance(node.op, Function):
                continue
            name = str(node.op.attrs.get("Composite", ""))
            if "bias" not in name or any(word in name for word in _RESIDUAL):
                continue
            added = list(_added(node.op))
            if added and _is_checked(name):
                continue
            for operator, param in added:
                yield self.finding(
                    f"{operator} of the composite {name} has an operand of type "
                    f"{param.type_annotation} where its name says bias: a number for each "
                    f"element, not for each channel",
                    "restrict the pattern: is_constant() for the bias, or a check of its shape",
                    node,
                    subject,
                    node.op.params.index(param),
                )


def _is_checked(name: str) -> bool:
    """Whether a registered back end has a check for the pattern, which is then responsible."""
    target = prefix_of(name)
    if target is None or not is_registered(target):
        return False
    table = get_backend(target).patterns()
    return any(entry == name and any(check) for entry, _, *check in table)


def _added(function: Function) -> Iterator[tuple[str, Var]]:
    """The parameters that are added or subtracted and have more than one axis larger than 1, each
    with the operator."""
    for node in post_order(function.body):
        if not isinstance(node, Call) or not isinstance(node.op, Op):
            continue
        if node.op.definition.arithmetic is Arithmetic.ADDITION:
            for operand in node.args:
                ty = operand.type_annotation if isinstance(operand, Var) else None
                if (
                    operand in function.params
                    and isinstance(operand, Var)
                    and isinstance(ty, TensorType)
                    and sum(n != 1 for n in ty.shape) > 1
                ):
                    yield node.op_name, operand
