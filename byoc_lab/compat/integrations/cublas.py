"""cuBLAS: three kinds of matrix products, none fused with other operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.backends.registry import Entry, Refused, register
from byoc_lab.compat.integrations.matched import with_params
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard

NAME = "cublas"
PRODUCTS = ("matmul", "batch_matmul", "dense")
# (dtype of the factors, dtype of the product)
DTYPES = (
    ("float32", "float32"),
    ("float16", "float16"),
    ("float16", "float32"),
    ("int8", "int32"),
    ("float64", "float64"),
    ("int8", "float32"),
)


def takes_product(match: Call) -> bool | Refused:
    """Whether cuBLAS supports a matched product: operands of one dtype; rows of int8 in multiples
    of 4."""
    types: Any = [arg.checked_type for arg in match.args]
    result: Any = match.checked_type
    left, right = (ty.dtype for ty in types)
    if left != right:
        return Refused(f"the operands must have one dtype, found {left} and {right}")
    if (left, result.dtype) not in DTYPES:
        return Refused(f"cuBLAS has no product of {left} with results in {result.dtype}")
    if left == "int8":
        for ty in types:
            if not isinstance(ty.shape[-1], int) or ty.shape[-1] % 4:
                return Refused(f"the size of int8 rows must be a multiple of 4, found {ty}")
    return True


def pattern_table() -> list[Entry]:
    """(name, pattern, check) of each product."""
    return [
        (f"{NAME}.{name}", is_op(f"nn.{name}")(wildcard(), wildcard()), takes_product)
        for name in PRODUCTS
    ]


def pipeline() -> list[Pass]:
    """The passes of `partition_for_cublas`: every product becomes a separate region."""
    return [
        InferType(),
        MergeComposite(pattern_table()),
        AnnotateTarget(NAME),
        PartitionGraph(),
        InferType(),
    ]


def partition_for_cublas(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Move matrix products into external functions; `params` are bound into @main first (TVM
    accepts `params` and ignores them)."""
    return Sequential(pipeline(), name="partition_for_cublas")(with_params(mod, params))


register(NAME, patterns=pattern_table, pipeline=pipeline)
