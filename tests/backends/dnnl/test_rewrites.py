"""Rewrites into forms that DNNL has kernels for, and removal of regions that cost more than they
save."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.passes import PassContext, Sequential
from byoc_lab.relay import IRModule, nn, structural_equal
from byoc_lab.relay.ir.expr import Expr, bind
from byoc_lab.relay.op.contrib.dnnl import (
    prune_dnnl_subgraphs,
    rewrite_dense_bias_gelu_reshape_last,
    rewrite_layer_norm,
)
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate
from tests.passes.framework.test_hook import _check as check_replay


def module(expr: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(expr))


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


tokens = relay.var("tokens", shape=(2, 7, 16))
gamma, beta = relay.const(random(16)), relay.const(random(16) + 1)


def normalised(
    axis: int = -1, epsilon: float = 1e-5, spelled: str = "power", cast: bool = False
) -> Expr:
    mean = relay.mean(tokens, axis=axis, keepdims=True)
    centred = tokens - mean
    if spelled == "variance":
        variance = relay.variance(tokens, axis=axis, keepdims=True, with_mean=mean)
    else:
        left = relay.cast(centred, "float32") if cast else centred
        variance = relay.mean(relay.power(left, relay.const(2.0)), axis=axis, keepdims=True)
    shifted = variance + relay.const(epsilon)
    if spelled == "rsqrt":
        return centred * relay.rsqrt(shifted) * gamma + beta
    return centred / relay.sqrt(shifted) * gamma + beta


@pytest.mark.parametrize("spelled", ["power", "variance", "rsqrt"])
@pytest.mark.parametrize("epsilon", [1e-5, 1e-6])
def test_decomposed_layer_norm_becomes_one_operator(spelled: str, epsilon: float) -> None:
    before = module(normalised(epsilon=epsilon, spelled=spelled))
    after = rewrite_layer_norm(before)
    wanted = nn.layer_norm(tokens, gamma, beta, epsilon=epsilon)
    assert structural_equal(after, module(wanted))
    (old,), (new,) = (evaluate(m, [random(2, 7, 16)]).outputs for m in (before, after))
    np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-5)


def test_layer_norm_with_a_cast_is_rewritten() -> None:
    after = rewrite_layer_norm(module(normalised(cast=True)))
    assert structural_equal(after, module(nn.layer_norm(tokens, gamma, beta)))


@pytest.mark.parametrize("changed", [{"axis": 1}, {"epsilon": 1e-3}], ids=str)
def test_layer_norm_that_dnnl_does_not_compute_is_left_alone(changed: dict) -> None:
    before = module(normalised(**changed))
    assert structural_equal(rewrite_layer_norm(before), before)


rows = relay.var("rows", shape=(14, 8))
product = nn.dense(rows, relay.const(random(16, 8)))


def gelu(x: Expr) -> Expr:
    error = relay.erf(x / relay.const(np.float32(2**0.5)))
    return x * (error + relay.const(1.0)) * relay.const(0.5)


@pytest.mark.parametrize("activation", [lambda x: x, gelu], ids=["bias", "gelu"])
def test_reshape_is_moved_after_the_operators_that_dense_can_fuse(activation) -> None:
    before = module(activation(beta + relay.reshape(product, (2, 7, 16))))
    wanted = module(relay.reshape(activation(beta + product), (2, 7, 16)))
    after = rewrite_dense_bias_gelu_reshape_last(before)
    assert structural_equal(after, wanted)
    (composite,) = {
        word for word in str(dnnl.partition_for_dnnl(before)).split('"') if "dnnl.dense" in word
    }
    assert composite == ("dnnl.dense_bias_gelu" if activation is gelu else "dnnl.dense_bias")


def test_reshape_stays_if_the_bias_fits_only_its_result() -> None:
    other = relay.const(random(7, 1))
    before = module(other + relay.reshape(product, (2, 7, 16)))
    assert structural_equal(rewrite_dense_bias_gelu_reshape_last(before), before)


def test_rewrites_are_traced() -> None:
    features = nn.dense(relay.reshape(normalised(), (14, 16)), relay.const(random(16, 16)))
    body = relay.reshape(features, (2, 7, 16))
    trace = byoc_lab.trace(module(gelu(beta + body)), "partition_for_dnnl")
    check_replay(trace)
    changed = {stage.name for stage in trace if stage.changed}
    assert {"RewriteLayerNorm", "RewriteDenseBiasGeluReshapeLast", "MergeComposite"} <= changed


# ---- regions that cost more than they save

image = relay.var("image", shape=(1, 4, 8, 8))
convolved = nn.conv2d(image, relay.const(random(4, 4, 3, 3)), padding=1, channels=4)


def regions(mod: IRModule) -> list[str]:
    return [gv.name_hint for gv in mod.get_global_vars() if gv.name_hint != "main"]


def test_region_of_cheap_operators_is_returned_to_the_host() -> None:
    left = relay.erf(nn.relu(convolved))
    light = relay.erf(relay.exp(left) * relay.tanh(left))
    mod = module(relay.Tuple([light, left]))
    with PassContext(opt_level=3):
        kept = Sequential(dnnl.full_pipeline(prune_subgraphs=False))(mod)
    assert len(regions(kept)) == 2
    pruned = prune_dnnl_subgraphs(kept)
    assert len(regions(pruned)) == 1 and "exp" in str(pruned["main"])
    assert structural_equal(pruned, dnnl.partition_for_dnnl(mod))
    assert structural_equal(kept, dnnl.partition_for_dnnl(mod, prune_subgraphs=False))
    check_replay(byoc_lab.trace(kept, ["PruneSubgraphs"]))
    image_data = [random(1, 4, 8, 8)]
    for a, b in zip(
        evaluate(pruned, image_data).outputs, evaluate(mod, image_data).outputs, strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_only_region_is_kept() -> None:
    mod = dnnl.partition_for_dnnl(module(relay.exp(nn.relu(image))))
    assert len(regions(mod)) == 1


def test_consecutive_layer_norms_are_all_found() -> None:
    twice = module(bind(normalised(spelled="rsqrt"), {tokens: normalised()}))
    after = rewrite_layer_norm(twice)
    outer = after["main"].body
    assert [outer.op.name, outer.args[0].op.name] == ["nn.layer_norm"] * 2
    (old,), (new,) = (evaluate(m, [random(2, 7, 16)]).outputs for m in (twice, after))
    np.testing.assert_allclose(old, new, rtol=1e-4, atol=1e-5)
