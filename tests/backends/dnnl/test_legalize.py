"""DNNL's legalizations change the form of a network and keep its numbers."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import build, relay, validate
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl.legalize import LegalizeGroupConv
from byoc_lab.compat.integrations.dnnl import legalize_group_conv, legalize_pad_avg_pool
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import IRModule, nn, structural_equal
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def module(expr: relay.Expr) -> IRModule:
    return infer_module(IRModule.from_expr(expr))


def grouped(groups: int, weight: relay.Expr, **attrs: str) -> relay.Expr:
    data = relay.var("data", shape=(1, 8, 6, 6))
    return nn.conv2d(
        data, weight, padding=1, groups=groups, channels=16, kernel_size=(3, 3), **attrs
    )


@pytest.mark.parametrize("groups", [2, 8])
def test_groups_of_a_convolution_become_an_axis_of_the_weight(groups: int) -> None:
    weight = random(16, 8 // groups, 3, 3)
    before = module(grouped(groups, relay.const(weight)))
    after = LegalizeGroupConv()(before)
    shape = (groups, 16 // groups, 8 // groups, 3, 3)
    parted = relay.reshape(relay.const(weight), shape)
    assert structural_equal(after, module(grouped(groups, parted, kernel_layout="GOIHW")))
    data = [random(1, 8, 6, 6)]
    np.testing.assert_array_equal(evaluate(after, data).outputs, evaluate(before, data).outputs)
    assert LegalizeGroupConv()(after) is after


def test_groups_of_a_depthwise_convolution_become_an_axis_of_the_weight() -> None:
    """The weight's first axis counts the inputs, the second the outputs of each input."""
    weight = random(8, 2, 3, 3)
    before = module(grouped(8, relay.const(weight)))
    after = LegalizeGroupConv()(before)
    parted = relay.reshape(relay.const(weight), (8, 2, 1, 3, 3))
    assert structural_equal(after, module(grouped(8, parted, kernel_layout="GOIHW")))
    data = [random(1, 8, 6, 6)]
    np.testing.assert_array_equal(evaluate(after, data).outputs, evaluate(before, data).outputs)


TRANSPOSED = {
    "IOHW": (8, 3, 3, 2),
    "GIOHW": (2, 4, 3, 3, 2),
    "GOIHW": (2, 3, 4, 3, 2),
    "HWIO": (3, 2, 8, 3),
    "OHWI": (3, 3, 2, 8),
}


def transposed(layout: str, weight: relay.Expr | None = None) -> relay.Expr:
    """Two groups of four input channels and three output channels."""
    weight = relay.const(random(*TRANSPOSED[layout])) if weight is None else weight
    attrs = {"groups": 2, "channels": 6, "kernel_size": (3, 2), "kernel_layout": layout}
    data = relay.var("data", shape=(1, 8, 6, 6))
    return nn.conv2d_transpose(data, weight, strides=(2, 1), output_padding=(1, 0), **attrs)


def test_groups_of_a_transposed_convolution_become_an_axis_of_the_weight() -> None:
    before = module(transposed("IOHW"))
    after = LegalizeGroupConv()(before)
    weight = relay.reshape(relay.const(random(*TRANSPOSED["IOHW"])), TRANSPOSED["GIOHW"])
    assert structural_equal(after, module(transposed("GIOHW", weight)))
    data = [random(1, 8, 6, 6)]
    np.testing.assert_array_equal(evaluate(after, data).outputs, evaluate(before, data).outputs)
    solved = module(transposed("GIOHW", relay.var("w")))
    assert str(solved["main"].params[1].checked_type) == "Tensor[(2, 4, 3, 3, 2), float32]"
    with pytest.raises(TypeInferenceError, match="must have groups=2 groups, found 1"):
        module(transposed("GIOHW", relay.const(random(1, 8, 3, 3, 2))))


@pytest.mark.native
@pytest.mark.parametrize("layout", TRANSPOSED)
def test_transposed_convolution_with_any_weight_layout_keeps_its_numbers(layout: str) -> None:
    pytest.importorskip("tvm")
    mod = module(nn.relu(transposed(layout)))
    cut = dnnl.partition_for_dnnl(mod)
    program, host = build(cut), build(cut, offload=False)
    assert validate(mod, program, [random(1, 8, 6, 6)]).ok
    assert validate(mod, host, [random(1, 8, 6, 6)]).ok
    program.assert_offloaded()


def test_convolution_with_one_group_or_another_layout_is_unchanged() -> None:
    for expr in (
        grouped(1, relay.const(random(16, 8, 3, 3))),
        grouped(2, relay.const(random(3, 3, 4, 16)), kernel_layout="HWIO"),
    ):
        mod = module(expr)
        assert LegalizeGroupConv()(mod) is mod
    call = module(grouped(1, relay.const(random(16, 8, 3, 3))))["main"].body
    assert isinstance(call, Call)
    types = [a.checked_type for a in call.args]
    assert legalize_group_conv(call.attrs, call.args, types) is None


def test_weight_in_goihw_has_an_inferred_and_checked_type() -> None:
    solved = module(grouped(2, relay.var("w"), kernel_layout="GOIHW"))
    assert str(solved["main"].params[1].checked_type) == "Tensor[(2, 8, 4, 3, 3), float32]"
    with pytest.raises(TypeInferenceError, match="must have groups=2 groups, found 4"):
        module(grouped(2, relay.const(random(4, 4, 4, 3, 3)), kernel_layout="GOIHW"))


@pytest.mark.native
@pytest.mark.parametrize("offload", [True, False])
def test_weight_in_goihw_runs_on_dnnl_and_on_the_host(offload: bool) -> None:
    pytest.importorskip("tvm")
    mod = module(nn.relu(grouped(2, relay.const(random(16, 4, 3, 3)))))
    cut = dnnl.partition_for_dnnl(mod)
    assert 'kernel_layout="GOIHW"' in str(cut)
    program = build(cut, offload=offload)
    assert validate(mod, program, [random(1, 8, 6, 6)]).ok


def pooled(width, value: float = 0.0, **attrs) -> relay.Expr:
    data = relay.var("data", shape=(1, 2, 6, 6))
    return nn.avg_pool2d(nn.pad(data, width, relay.const(value)), (3, 3), **attrs)


def legalized(expr: relay.Expr) -> relay.Expr | None:
    call = module(expr)["main"].body
    assert isinstance(call, Call)
    return legalize_pad_avg_pool(call.attrs, call.args, [a.checked_type for a in call.args])


@pytest.mark.parametrize("width", [(1, 1, 1, 1), (0, 2, 1, 0)])
def test_pad_before_pooling_becomes_its_padding(width: tuple[int, ...]) -> None:
    top, bottom, left, right = width
    expr = pooled(((0, 0), (0, 0), (top, bottom), (left, right)), strides=(2, 2))
    new = legalized(expr)
    assert new is not None
    after = module(new)
    data = [random(1, 2, 6, 6)]
    np.testing.assert_allclose(
        evaluate(after, data).outputs, evaluate(module(expr), data).outputs, rtol=1e-6
    )
    assert "nn.pad" not in str(after) and "count_include_pad=True" in str(after)


@pytest.mark.parametrize(
    ("width", "value"),
    [(((0, 0), (1, 1), (1, 1), (1, 1)), 0.0), (((0, 0), (0, 0), (1, 1), (1, 1)), 1.0)],
    ids=["channels", "ones"],
)
def test_pad_that_pooling_cannot_absorb_stays(width, value: float) -> None:
    assert legalized(pooled(width, value)) is None
