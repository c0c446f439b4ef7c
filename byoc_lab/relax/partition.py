"""Partitioning a Relax module: what DNNL supports becomes functions for it."""

from __future__ import annotations

from inspect import signature
from typing import Any

from byoc_lab import relay
from byoc_lab.backends.dnnl.operators import why_not
from byoc_lab.errors import BuildError, ByocLabError
from byoc_lab.relax import batch
from byoc_lab.relax.operators import OPERATORS, translated
from byoc_lab.relax.registration import register_codegen
from byoc_lab.relax.types import batch_of, is_known_shape, is_tensor, numbers, type_of
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.tvm_runtime import import_tvm

TARGET = "dnnl"
BATCHED = "batch"  # prefix of the names of operands whose batch is not known
INSIDE_SPELLINGS = ("erf",)  # computed as part of an activation, and by nothing else


def patterns() -> list[tuple[Any, ...]]:
    """For FuseOpsByPattern: (name, pattern, annotations, check) of each operator by itself.

    Operators that follow one another end in one function (MergeCompositeFunctions), and what is
    fused in there is for the code generator to decide; so no chain needs a pattern.
    """
    dpl = import_tvm().relax.dpl
    table: list[tuple[Any, ...]] = []
    for name, translation in OPERATORS.items():
        operands = [dpl.wildcard() for _ in list(signature(translation).parameters)[1:]]
        pattern = dpl.is_op(f"relax.{name}")(*operands)
        table.append((f"{TARGET}.{name.removeprefix('nn.')}", pattern, {}, takes))
    return table


def takes(context: Any) -> bool:
    """Whether DNNL supports the call of a match: the check of every pattern."""
    return why_not_relax(context.matched_expr) is None


def why_not_relax(call: Any) -> str | None:
    """Why DNNL does not support a call of a Relax operator, in words; None when it does."""
    tvm = import_tvm()

    unknown: list[Any] = []

    def operand(n: int, arg: Any) -> Any:
        if isinstance(arg, tvm.relax.Tuple):
            found = numbers(arg)
            return relay.Tuple([operand(n, f) for f in arg.fields]) if found is None else found
        try:
            ty, sizes = type_of(arg), batch_of(arg)
        except AttributeError:
            return arg  # a number
        except BuildError:
            if is_tensor(arg) or not is_known_shape(arg):
                raise
            return arg
        unknown.extend(sizes)
        return relay.var(f"{BATCHED if sizes else 'x'}{n}", ty)

    try:
        made = translated(call, [operand(n, arg) for n, arg in enumerate(call.args)])
        typed = infer_expr(Function(relay.analysis.free_vars(made), made))
        batch.check_one_batch(unknown)
        if unknown:
            type_of(call)  # the batch is in front of the result too
    except ByocLabError as error:
        return str(error)
    assert isinstance(typed, Function)
    batches = {p for p in typed.params if p.name_hint.startswith(BATCHED)}
    mixed = batch.why_not_per_sample(typed.body, batches) if batches else None
    if mixed:
        return mixed
    for node in post_order(typed.body):
        if isinstance(node, Call) and isinstance(node.op, Op):
            if node.op.name in INSIDE_SPELLINGS:
                continue
            reason = why_not(node)
            if reason:
                return reason
    return None


def partition_for_dnnl(mod: Any) -> Any:
    """A Relax module with what DNNL can run in functions for it, batch norms folded before.

    `relax.transform.RunCodegen()` then compiles them; what is left is compiled as usual. One size
    may be known at run time only: the batch, in front of tensors (see `relax.batch`).
    """
    tvm = import_tvm()
    register_codegen()
    transform = tvm.relax.transform
    passes = [
        transform.FoldBatchnormToConv2D(),
        transform.DecomposeOpsForInference(),
        transform.FoldConstant(),
        transform.FuseOpsByPattern(patterns(), bind_constants=True, annotate_codegen=False),
        transform.MergeCompositeFunctions(),
    ]
    return tvm.transform.Sequential(passes)(mod)
