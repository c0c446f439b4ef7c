"""Rewrites networks into forms that have DNNL kernels.

The names are from TVM 0.16's python/tvm/relay/op/contrib/dnnl.py. Some rewrites of TVM change the
results of a network: they replace the epsilon, or move a bias past a reshape that does not fit the
bias. In these cases, the rewrites here keep the original value or do not apply.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

from byoc_lab.backends.dnnl.activations import GELU
from byoc_lab.passes.framework.passes import register_pass
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op import builder
from byoc_lab.relay.patterns import DFPattern, DFPatternCallback, is_expr, is_op, wildcard

NodeMap = dict[DFPattern, list[Expr]]
EPSILONS = (1e-5, 1e-6)


def _call(name: str, *args: Expr, **attrs: Any) -> Expr:
    call: Expr = builder(Op.get(name))(*args, **attrs)
    return call


class LayerNormRewrite(DFPatternCallback):
    """mean, variance, normalise, scale and shift along the last axis -> nn.layer_norm.

    The variance may be written as the mean of the squared deviations. TVM always writes
    epsilon=1e-05; here the original epsilon is kept.
    """

    def __init__(self) -> None:
        super().__init__()
        self.data, self.gamma, self.beta = wildcard(), wildcard(), wildcard()
        self.mean = is_op("mean")(self.data)
        centred = is_op("subtract")(self.data, self.mean)
        two = is_expr(const(2)) | is_expr(const(2.0))
        squares = is_op("power")(centred | is_op("cast")(centred), two)
        self.variance = is_op("mean")(squares) | is_op("variance")(self.data, self.mean)
        first, second = (is_expr(const(value)) for value in EPSILONS)
        self.epsilon = first | second
        shifted = is_op("add")(self.variance, self.epsilon)
        divided = is_op("divide")(centred, is_op("sqrt")(shifted))
        multiplied = is_op("multiply")(centred, is_op("rsqrt")(shifted))
        scaled = is_op("multiply")(divided | multiplied, self.gamma)
        self.pattern = is_op("add")(scaled, self.beta)

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        data, gamma, beta = (node_map[p][0] for p in (self.data, self.gamma, self.beta))
        ty = data.checked_type
        for pattern in (self.mean, self.variance):
            if not _along_last_axis(node_map[pattern][0], len(ty.shape)):
                return post
        if pre.checked_type != ty or any(
            p.checked_type.shape != ty.shape[-1:] for p in (gamma, beta)
        ):
            return post  # nn.layer_norm needs vectors, and its result has the type of the data
        epsilon = node_map[self.epsilon][0]
        assert isinstance(epsilon, Constant)
        value = next(e for e in EPSILONS if abs(float(epsilon.numpy()) - e) < e / 2)
        normalized: Expr = nn.layer_norm(data, gamma, beta, epsilon=value)
        return normalized


def _along_last_axis(reduction: Expr, rank: int) -> bool:
    attrs = reduction.attrs if isinstance(reduction, Call) else None
    if attrs is None or not attrs.keepdims or attrs.exclude or attrs.axis is None:
        return False
    if "unbiased" in attrs and attrs.unbiased:
        return False
    axes = attrs.axis if isinstance(attrs.axis, (tuple, list)) else (attrs.axis,)
    return [int(axis) % rank for axis in axes] == [rank - 1]


class DenseReshapeBiasGeluRewrite(DFPatternCallback):
    """dense, reshape, bias (, gelu) -> dense, bias (, gelu), reshape, which is one kernel.

    Only for a bias with one element per unit; TVM moves any bias.
    """

    def __init__(self, has_gelu: bool = True) -> None:
        super().__init__()
        self.has_gelu = has_gelu
        self.data, self.weight, self.bias = wildcard(), wildcard(), wildcard()
        self.dense = is_op("nn.dense")(self.data, self.weight)
        self.reshape = is_op("reshape")(self.dense)
        self.added = is_op("add")(self.bias, self.reshape)
        self.pattern = GELU.pattern(self.added) if has_gelu else self.added

    def callback(self, pre: Expr, post: Expr, node_map: NodeMap) -> Expr:
        dense, bias = node_map[self.dense][0], node_map[self.bias][0]
        units, shape = dense.checked_type.shape[-1], bias.checked_type.shape
        reshape, result = node_map[self.reshape][0], pre.checked_type
        assert isinstance(reshape, Call) and isinstance(result, TensorType)
        if shape != (units,) or result.shape[-1] != units:
            return post
        if result != reshape.checked_type:  # the numbers have more axes than the data
            return post
        moved = _call("add", bias, dense)
        if self.has_gelu:
            reading = GELU.read(post)
            assert reading is not None
            if reading.why_not() is not None:
                return post
            number = dict(reading.numbers)
            error = _call("erf", _call("divide", moved, number[sqrt(2.0)]))
            product = _call("multiply", moved, _call("add", error, number[1.0]))
            moved = _call("multiply", product, number[0.5])
        return Call(reshape.op, [moved], reshape.attrs)


class RewriteLayerNorm(PatternRewrite):
    """Replaces layer normalizations that are written as basic operators by nn.layer_norm."""

    reason = "these operators are a layer normalisation"

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return [LayerNormRewrite()]


class RewriteDenseBiasGeluReshapeLast(PatternRewrite):
    """Moves a reshape between a dense and its bias after both (and after gelu)."""

    reason = "a reshape would separate nn.dense from operators that can be fused into it"

    def callbacks(self) -> Sequence[DFPatternCallback]:
        return [DenseReshapeBiasGeluRewrite(), DenseReshapeBiasGeluRewrite(has_gelu=False)]


def rewrite_layer_norm(mod: IRModule) -> IRModule:
    """`mod` after RewriteLayerNorm."""
    return RewriteLayerNorm()(mod)


def rewrite_dense_bias_gelu_reshape_last(mod: IRModule) -> IRModule:
    """`mod` after RewriteDenseBiasGeluReshapeLast."""
    return RewriteDenseBiasGeluReshapeLast()(mod)


for _pass in (RewriteLayerNorm, RewriteDenseBiasGeluReshapeLast):
    register_pass(_pass.__name__, _pass)
