"""`relay.transform.AnnotateTarget` with TVM's tables of supported operators."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab import passes


def AnnotateTarget(
    targets: str | Sequence[str], include_non_call_ops: bool = True, era: str | None = None
) -> passes.AnnotateTarget:
    """byoc_lab's pass, without the operators that TVM's back ends leave to the host: for DNNL
    nn.bias_add and six operators of qnn."""
    return passes.AnnotateTarget(targets, include_non_call_ops, era, beyond_tvm=False)


__all__ = ["AnnotateTarget"]
