"""DNNL under TVM's names: python/tvm/relay/op/contrib/dnnl.py of TVM 0.16.

These functions offload exactly the operators that TVM offloads. They include rewrites of TVM's
integration that do not speed up byoc_lab's kernels: layouts that oneDNN prefers (`alter.py`),
quantized chains in float32 (`legalize_qnn.py`), strides of residual blocks (`resnet_v1.py`).
`byoc_lab.backends.dnnl` has the pipeline for all operators that byoc_lab offloads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.backends.dnnl import partition, patterns
from byoc_lab.backends.dnnl.legalize import legalize_group_conv
from byoc_lab.backends.dnnl.patterns import ACTIVATIONS, Chain
from byoc_lab.backends.dnnl.pruning import is_valid_subgraph, prune_dnnl_subgraphs
from byoc_lab.backends.dnnl.rewrites import (
    DenseReshapeBiasGeluRewrite,
    LayerNormRewrite,
    rewrite_dense_bias_gelu_reshape_last,
    rewrite_layer_norm,
)
from byoc_lab.compat.integrations.dnnl.alter import (
    AlterConvLayout,
    alter_conv,
    alter_conv_transpose,
    get_dtype,
    get_optimal_layout_for_conv,
    get_optimal_layout_for_conv_transpose,
    get_shape,
    tag2layout,
)
from byoc_lab.compat.integrations.dnnl.legalize import legalize_pad_avg_pool
from byoc_lab.compat.integrations.dnnl.legalize_qnn import (
    LegalizeQnn,
    LegalizeQnnOpForDnnl,
    legalize_qnn_for_dnnl,
)
from byoc_lab.compat.integrations.dnnl.resnet_v1 import ResNetV1Rewrite, rewrite_resnetv1
from byoc_lab.errors import UnknownNameError
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern

supported_post_elts = list(ACTIVATIONS)


def pattern_table() -> list[tuple[Any, ...]]:
    """TVM's table: (name, pattern, check) for each chain."""
    return patterns.pattern_table(beyond_tvm=False)


def partition_for_dnnl(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    alter_layout: bool = False,
    prune_subgraphs: bool = True,
    legalize_qnn: bool = False,
) -> IRModule:
    """`backends.dnnl.partition_for_dnnl` with the operators and chains that TVM offloads.

    alter_layout: convert convolutions to the layouts that oneDNN prefers on this machine, with
        layout_transforms around them; TVM does so by default. Compiled regions choose layouts
        themselves and remove such transforms, so this does not make them faster. The DNNL extension
        determines the layouts; without it, NativeExtensionError is raised.
    prune_subgraphs: regions without a compute-intensive operator go back to the host.
    legalize_qnn: convert quantized chains to the form of TVM's integration, with float32 after the
        product; results may differ by one. Compiled regions compute quantized chains exactly
        without this.
    """
    passes: list[Pass] = [AlterConvLayout(), FoldConstant()] if alter_layout else []
    if legalize_qnn:
        passes += [LegalizeQnn(), InferType(), FoldConstant()]
    return partition.partition_for_dnnl(
        mod, params, prune_subgraphs, before_cutting=passes, beyond_tvm=False
    )


def make_conv_pattern(
    conv_name: str, with_bias: bool = True, with_eltwise: str | None = None
) -> DFPattern:
    """The pattern of a convolution and the operators after it; UnknownNameError for unknown
    activations."""
    return _chain(conv_name, with_bias, with_eltwise).pattern(beyond_tvm=False)


def make_dense_pattern(with_bias: bool = True, with_eltwise: str | None = None) -> DFPattern:
    """The pattern of nn.dense and the operators after it; UnknownNameError for unknown
    activations."""
    return _chain("nn.dense", with_bias, with_eltwise).pattern(beyond_tvm=False)


def make_dnnl_pattern(op_name: str, with_bias: bool, with_eltwise: str | None) -> tuple[Any, ...]:
    """An entry of a pattern table: (name, pattern, check)."""
    chain = _chain(op_name, with_bias, with_eltwise)
    return chain.name, chain.pattern(beyond_tvm=False), chain.check_of_tvm


def make_conv_bias_sum_relu_pattern(conv_type: str, has_relu: bool = True) -> DFPattern:
    """The pattern of a convolution, a bias, a sum with another tensor, and relu if `has_relu`."""
    activation = "nn.relu" if has_relu else None
    return Chain(conv_type, bias=True, sum=True, activation=activation).pattern(beyond_tvm=False)


def make_dense_bias_sum_pattern() -> tuple[str, DFPattern]:
    """Name and pattern of nn.dense, a bias, and the addition of another tensor."""
    chain = Chain("nn.dense", bias=True, sum=True)
    return chain.name, chain.pattern(beyond_tvm=False)


def _chain(root: str, bias: bool, activation: str | None) -> Chain:
    if activation not in ACTIVATIONS:
        known = ", ".join(map(str, ACTIVATIONS))
        raise UnknownNameError(f"DNNL fuses no activation {activation!r}; there are {known}")
    return Chain(root, bias=bias, activation=activation)


__all__ = [
    "AlterConvLayout",
    "DenseReshapeBiasGeluRewrite",
    "LayerNormRewrite",
    "LegalizeQnn",
    "LegalizeQnnOpForDnnl",
    "ResNetV1Rewrite",
    "alter_conv",
    "alter_conv_transpose",
    "get_dtype",
    "get_optimal_layout_for_conv",
    "get_optimal_layout_for_conv_transpose",
    "get_shape",
    "is_valid_subgraph",
    "legalize_group_conv",
    "legalize_pad_avg_pool",
    "legalize_qnn_for_dnnl",
    "make_conv_bias_sum_relu_pattern",
    "make_conv_pattern",
    "make_dense_bias_sum_pattern",
    "make_dense_pattern",
    "make_dnnl_pattern",
    "partition_for_dnnl",
    "pattern_table",
    "prune_dnnl_subgraphs",
    "rewrite_dense_bias_gelu_reshape_last",
    "rewrite_layer_norm",
    "rewrite_resnetv1",
    "supported_post_elts",
    "tag2layout",
]
