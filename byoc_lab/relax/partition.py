"""Partitioning a Relax module: what DNNL supports becomes functions for it."""

from __future__ import annotations

from inspect import signature
from typing import Any

from byoc_lab.backends.dnnl.operators import why_not
from byoc_lab.errors import ByocLabError
from byoc_lab.relax import batch
from byoc_lab.relax.operators import OPERATORS
from byoc_lab.relax.registration import register_codegen
from byoc_lab.relax.to_relay import BATCHED, call_to_relay
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.tvm_runtime import import_tvm

TARGET = "dnnl"
INSIDE_SPELLINGS = ("erf",)  # computed as part of an activation, and by nothing else


def patterns() -> list[tuple[Any, ...]]:
    """For FuseOpsByPattern: (name, pattern, annotations, check) of each operator by itself.

    Operators that follow one another end in one function (MergeCompositeFunctions), and what is
    fused in there is for the code generator to decide; so no chain needs a pattern.
    """
    dpl = import_tvm().relax.dpl
    table: list[tuple[Any, ...]] = []
    for name, translation in OPERATORS.items():
        _, *operands = signature(translation).parameters.values()
        listed = [dpl.wildcard() for p in operands if p.kind is not p.VAR_POSITIONAL]
        pattern = dpl.is_op(f"relax.{name}")(
            *listed, varg_default_wildcard=len(listed) < len(operands)
        )
        table.append((f"{TARGET}.{name.removeprefix('nn.')}", pattern, {}, takes))
    return table


def takes(context: Any) -> bool:
    """Whether DNNL supports the call of a match: the check of every pattern."""
    return why_not_relax(context.matched_expr) is None


def why_not_relax(call: Any) -> str | None:
    """Why DNNL does not support a call of a Relax operator, in words; None when it does."""
    try:
        typed = call_to_relay(call)
    except ByocLabError as error:
        return str(error)
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


def preparing_passes() -> list[Any]:
    """The passes in front of the partitioning: batch norms are folded, constants computed."""
    transform = import_tvm().relax.transform
    return [
        transform.FoldBatchnormToConv2D(),
        transform.DecomposeOpsForInference(),
        transform.FoldConstant(),
    ]


def partitioning_passes(table: list[tuple[Any, ...]] | None = None) -> list[Any]:
    """The passes that make functions for DNNL. table: the patterns, `patterns()` if None."""
    transform = import_tvm().relax.transform
    table = patterns() if table is None else table
    return [
        transform.FuseOpsByPattern(table, bind_constants=True, annotate_codegen=False),
        transform.MergeCompositeFunctions(),
    ]


def partition_for_dnnl(mod: Any) -> Any:
    """A Relax module with what DNNL can run in functions for it, batch norms folded before.

    `relax.transform.RunCodegen()` then compiles them; what is left is compiled as usual. One size
    may be known at run time only: the batch, in front of tensors (see `relax.batch`).
    """
    tvm = import_tvm()
    register_codegen()
    return tvm.transform.Sequential([*preparing_passes(), *partitioning_passes()])(mod)
