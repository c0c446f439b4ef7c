"""FoldScaleAxis gives TVM 0.16's modules; scales that a convolution computes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from byoc_lab import relay
from byoc_lab.backends.dnnl import partition_for_dnnl
from byoc_lab.passes import FoldScaleAxis, PassContext
from byoc_lab.relay import Constant, IRModule, nn, structural_equal
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate
from tests import strategies
from tests.parity.golden import golden_test

test_golden = golden_test("FoldScaleAxis")


def weight(*shape: int) -> Expr:
    return relay.const(np.random.default_rng(0).standard_normal(shape).astype("float32"))


def squeezed(before: bool) -> IRModule:
    """A convolution whose data, or result, is multiplied by a scale per channel."""
    x = relay.var("x", shape=(1, 8, 6, 6))
    inner = nn.conv2d(x, weight(8, 8, 3, 3), kernel_size=(3, 3), padding=(1, 1))
    pooled = nn.global_avg_pool2d(x)
    scale = relay.sigmoid(nn.conv2d(pooled, weight(8, 8, 1, 1), kernel_size=(1, 1)))
    after = nn.conv2d(x * scale, weight(4, 8, 1, 1), kernel_size=(1, 1))
    return infer_module(IRModule.from_expr(relay.Function([x], after if before else inner * scale)))


def folded(mod: IRModule, computed: bool) -> IRModule:
    with PassContext(opt_level=3):
        return FoldScaleAxis(computed=computed)(mod)


def has_constant_weights(mod: IRModule) -> bool:
    calls = [n for f in mod.functions.values() for n in post_order(f) if isinstance(n, Call)]
    return all(isinstance(c.args[1], Constant) for c in calls if c.op_name == "nn.conv2d")


@pytest.mark.parametrize("before", [True, False])
def test_scale_computed_by_a_convolution_stays_on_request(before: bool) -> None:
    mod = squeezed(before)
    assert not has_constant_weights(folded(mod, computed=True))  # as in TVM
    assert folded(mod, computed=False) is mod
    data = np.random.default_rng(1).standard_normal((1, 8, 6, 6)).astype("float32")
    (wanted,), (found,) = (evaluate(m, [data]).outputs for m in (mod, folded(mod, True)))
    np.testing.assert_allclose(wanted, found, rtol=1e-4, atol=1e-5)
    assert len(partition_for_dnnl(mod).functions) == 2  # @main and one region


@given(mod=strategies.modules())
def test_other_scales_are_folded_with_either_option(mod: IRModule) -> None:
    nodes = [n for f in mod.functions.values() for n in post_order(f) if isinstance(n, Call)]
    if not any(c.op_name == "multiply" and c.args[1].parts() for c in nodes):
        assert structural_equal(folded(mod, computed=True), folded(mod, computed=False))
