"""`tvm.relay.op.contrib.dnnl`: conversion of convolutions to the layouts that oneDNN prefers."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import build, relay
from byoc_lab.backends.dnnl.codegen import compile_region, region_graph
from byoc_lab.backends.dnnl.legalize import LegalizeGroupConv
from byoc_lab.compat.integrations import dnnl
from byoc_lab.compat.integrations.dnnl import AlterConvLayout, partition_for_dnnl
from byoc_lab.compat.testing.relay_testing import TempOpAttr
from byoc_lab.errors import AttributeValueError
from byoc_lab.passes import AlterOpLayout, FoldConstant, InferType, PassContext, Sequential
from byoc_lab.relay import IRModule, Op
from byoc_lab.run.reference import evaluate


def test_onednn_layout_tags_become_relay_layouts():
    assert dnnl.tag2layout("aBcd8b", conv_type="Conv2D") == "NCHW8c"
    assert dnnl.tag2layout("ABcd16b16a", True, "Conv2D") == "OIHW16i16o"
    assert dnnl.tag2layout("Abcde8a", True, "Conv2DTranspose") == "GOIHW8g"
    assert dnnl.tag2layout("acdb", conv_type="Conv2D") == "NHWC"
    assert dnnl.tag2layout("ABcd8b16a2b", True, "Conv2D") == "OIHW8i16o2i"
    assert dnnl.tag2layout("abCd4c", True, "Conv1D") == "GOIW4i"
    with pytest.raises(AttributeValueError, match="has no axes"):
        dnnl.tag2layout("abcde", conv_type="Conv2D")


def test_optimal_layout_query_returns_three_layouts_or_refuses_invalid_arguments():
    where = ("1,32,8,8", "0,0,0,0", "1,1", "1,1")
    asked = ("16,32,3,3", "1,16,6,6", *where[1:], "1", "float32")
    found = dnnl.get_optimal_layout_for_conv("NCHW", "OIHW", *asked)
    assert len(found.split(",")) == 3
    assert sorted(c.lower() for c in found.split(",")[0] if c.isalpha())[:4] >= ["a", "b", "b", "c"]
    with pytest.raises(AttributeValueError, match="data_layout must be NCW"):
        dnnl.get_optimal_layout_for_conv("NHWC", "OIHW", *asked)
    with pytest.raises(TypeError, match="float32 or bfloat16, found int32"):
        dnnl.get_optimal_layout_for_conv("NCHW", "OIHW", *asked[:-1], "int32")
    with pytest.raises(ValueError, match=r"no such convolution|could not"):
        dnnl.get_optimal_layout_for_conv(
            "NCHW", "OIHW", "16,31,3,3", "1,16,6,6", *where[1:], "5", "float32"
        )


def conv2d(groups=1, layout="NCHW"):
    x = relay.var("x", shape=(1, 32, 8, 8) if layout == "NCHW" else (1, 8, 8, 32))
    shape = (32, 32 // groups, 3, 3) if layout == "NCHW" else (3, 3, 32, 32)
    weight = relay.const(np.random.default_rng(0).uniform(-1, 1, shape).astype("float32"))
    options = {} if layout == "NCHW" else {"data_layout": layout, "kernel_layout": "HWIO"}
    call = relay.nn.conv2d(
        x, weight, kernel_size=(3, 3), channels=32, padding=(1, 1), groups=groups, **options
    )
    shape = (32, 1, 1) if layout == "NCHW" else (32,)
    bias = np.random.default_rng(1).uniform(-1, 1, shape).astype("float32")
    return relay.nn.relu(relay.add(call, relay.const(bias)))


def conv2d_transpose():
    x = relay.var("x", shape=(1, 32, 8, 8))
    weight = np.random.default_rng(0).uniform(-1, 1, (32, 16, 3, 3)).astype("float32")
    call = relay.nn.conv2d_transpose(x, relay.const(weight), kernel_size=(3, 3), channels=16)
    return relay.max(relay.tanh(call), axis=(2, 3))


def pooled():
    return relay.nn.global_avg_pool2d(relay.nn.max_pool2d(conv2d(), pool_size=(2, 2)))


def altered(body):
    mod = InferType()(IRModule.from_expr(body))
    seq = Sequential([LegalizeGroupConv(), AlterOpLayout(), FoldConstant(), InferType()])
    with (
        TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", dnnl.alter_conv),
        TempOpAttr("nn.conv2d_transpose", "FTVMAlterOpLayout", dnnl.alter_conv_transpose),
        PassContext(opt_level=3),
    ):
        return mod, seq(mod)


@pytest.mark.parametrize("body", [conv2d(), conv2d(groups=32), conv2d_transpose(), pooled()])
def test_network_in_onednn_layouts_computes_the_same(body):
    before, after = altered(body)
    assert "layout_transform" in str(after)
    x = np.random.default_rng(2).uniform(-1, 1, (1, 32, 8, 8)).astype("float32")
    wanted = evaluate(before, [x]).value
    np.testing.assert_allclose(evaluate(after, [x]).value, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("body", [conv2d(), conv2d(groups=32), pooled()])
def test_regions_in_blocked_layouts_are_fused_like_plain_ones(body):
    before, after = altered(body)
    region = compile_region(after["main"], "blocks")
    kinds = [op["kind"] for op in region_graph(after["main"], "blocks").graph["ops"]]
    plain = [op["kind"] for op in region_graph(before["main"], "plain").graph["ops"]]
    moved = ("reshape", "transpose")
    assert [k for k in kinds if k not in moved] == [k for k in plain if k not in moved]
    x = np.random.default_rng(2).uniform(-1, 1, (1, 32, 8, 8)).astype("float32")
    wanted = evaluate(before, [x]).value
    np.testing.assert_allclose(region(x)[0], wanted, rtol=1e-4, atol=1e-5)


def test_layout_for_which_tvm_aborts_stays_unchanged():
    before, after = altered(conv2d(layout="NHWC"))
    assert after["main"].body.args[0].args[0].attrs == before["main"].body.args[0].args[0].attrs


@pytest.mark.parametrize("body", [conv2d(), conv2d(groups=32), pooled()])
def test_partition_with_onednn_layouts_keeps_one_region_and_its_numbers(body):
    """The order of passes is that of TVM's integration."""
    mod = InferType()(IRModule.from_expr(body))
    plain, altered = (partition_for_dnnl(mod, alter_layout=alter) for alter in (False, True))
    assert "layout_transform" in str(altered) and "layout_transform" not in str(plain)
    assert "layout_transform" not in str(partition_for_dnnl(mod))
    x = np.random.default_rng(2).uniform(-1, 1, (1, 32, 8, 8)).astype("float32")
    wanted = evaluate(mod, [x]).value
    np.testing.assert_allclose(evaluate(altered, [x]).value, wanted, rtol=1e-4, atol=1e-5)
    program = build(altered)
    np.testing.assert_allclose(program(x)[0], wanted, rtol=1e-4, atol=1e-5)
    assert [card.ran_on for card in program.cards()] == ["dnnl"]


def test_registered_layout_function_is_kept_for_operators_that_dnnl_does_not_alter():
    asked = []
    with TempOpAttr("nn.relu", "FTVMAlterOpLayout", lambda *args: asked.append(args)):
        AlterConvLayout()(InferType()(IRModule.from_expr(conv2d())))
    assert asked
    assert Op.get("nn.conv2d").get_attr("FTVMAlterOpLayout") is None
