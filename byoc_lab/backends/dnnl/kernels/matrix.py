"""Products of matrices; formulas in native/src/ops/dense.cc and matmul.cc."""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.dnnl.kernels.running import PostOps, run


def dense(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    data_zero_point: int = 0,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """data (N, K) times the transpose of weight (M, K), plus bias (M,) or (1, M): (N, M).

    All arrays are float32 or bfloat16. Or data is uint8 or int8 (minus data_zero_point) and weight
    int8, without bias; then the result is int32.
    """
    tensors = {"data": data, "weight": weight, "bias": bias}
    return run(
        "dense", "dense", tensors, {"data_zero_point": data_zero_point}, out, post_ops, product=True
    )


def dense_bias(
    data: Any, weight: Any, bias: Any, *, post_ops: PostOps = (), out: Any = None
) -> Any:
    """dense(data, weight) + bias in one kernel; bias has shape (M,) or (1, M)."""
    tensors = {"data": data, "weight": weight, "bias": bias}
    return run("dense_bias", "dense", tensors, {}, out, post_ops, product=True, optional=())


def matmul(
    a: Any,
    b: Any,
    bias: Any = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """a (..., M, K) times b (..., K, N), plus bias (N,): (..., M, N).

    The axes in front broadcast as NumPy's do. transpose_a: a is (..., K, M); transpose_b: b is
    (..., N, K). uint8 or int8 times int8 gives int32, without bias.
    """
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return run(
        "matmul", "matmul", {"a": a, "b": b, "bias": bias}, attrs, out, post_ops, product=True
    )


def batch_matmul(
    a: Any,
    b: Any,
    *,
    transpose_a: bool = False,
    transpose_b: bool = True,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """a (B, M, K) times b (B, N, K), matrix by matrix: (B, M, N). b is transposed by default."""
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    return run("batch_matmul", "matmul", {"a": a, "b": b}, attrs, out, post_ops, product=True)
