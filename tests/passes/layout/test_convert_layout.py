"""ConvertLayout gives TVM 0.16's modules: requested layouts change, values stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay import IRModule, assert_structural_equal
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import ConvertLayout, InferType, LayoutConfig
from tests import image_strategies as images
from tests.parity.golden import golden_test
from tests.passes.layout.networks import calls, net
from tests.sweeps import some

test_golden = golden_test("ConvertLayout")

SQUARE = relay.var("w", shape=(4, 4))
TO_FIRST = ConvertLayout({"nn.conv2d": ["NCHW", "default"]})
TO_LAST = ConvertLayout({"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]})


@pytest.mark.parametrize("convert", [TO_FIRST, TO_LAST], ids=["NCHW", "NHWC"])
@settings(max_examples=some(40))
@given(mod=images.modules(more=(images.split,)))
def test_values_stay_and_events_cover_the_changes(convert: ConvertLayout, mod: IRModule) -> None:
    wanted = convert.desired_layouts["nn.conv2d"][0]
    trace = byoc_lab.trace(mod, [convert], opt_level=3)
    if trace.error is not None:
        raise trace.error
    after = trace.result
    assert {c.attrs.data_layout for c in calls(after, "nn.conv2d")} <= {wanted}
    values = [evaluate(m, images.inputs(), dtype="float64").value for m in (mod, after)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9, atol=1e-9)
    assert trace[-1].name == "ConvertLayout"
    for stage in trace:  # CanonicalizeOps is required, so it runs first
        again = infer_module(stage.state_after(len(stage.events)))
        assert_structural_equal(again, stage.after)
        assert bool(stage.events) or not stage.changed


def test_module_in_the_wanted_layout_stays_the_same_object() -> None:
    mod = net(lambda x: images.conv(x, 0), relay.nn.relu)
    assert TO_LAST(mod) is mod


def test_only_the_ends_of_a_chain_get_transforms() -> None:
    steps = (lambda x: images.conv(x, 0), relay.nn.relu, lambda x: images.conv(x, 1), relay.tanh)
    after = TO_FIRST(net(*steps))
    transforms = calls(after, "layout_transform")
    of_data = [t.attrs for t in transforms if t.attrs.src_layout in ("NHWC", "NCHW")]
    assert [(a.src_layout, a.dst_layout) for a in of_data] == [("NHWC", "NCHW"), ("NCHW", "NHWC")]
    assert after["main"].body.is_op("layout_transform")


def test_split_is_converted_along_its_axis() -> None:
    """The oracle, a fork of TVM, has no rule for it; TVM 0.16 has."""
    after = TO_FIRST(net(lambda x: images.conv(x, 0), lambda x: images.split(x, 0)))
    assert [call.attrs.axis for call in calls(after, "split")] == [1]
    assert [call.attrs.axis for call in calls(after, "concatenate")] == [1]


@pytest.mark.parametrize("mark", [relay.annotation.compiler_begin, relay.annotation.compiler_end])
def test_annotated_tuple_keeps_the_layouts_of_its_fields(mark) -> None:
    x, w = relay.var("x", shape=(1, 4, 5, 5)), relay.const(np.ones((4, 4, 3, 3), "float32"))
    conv = relay.nn.conv2d(x, w, padding=(1, 1))
    norm = relay.nn.batch_norm(conv, *(relay.const(np.ones(4, "float32")) for _ in range(4)))
    pair = relay.Tuple([conv, relay.nn.relu(conv)])
    both = mark(norm.astuple(), "q"), mark(mark(pair, "q"), "r")
    add = relay.add(relay.TupleGetItem(both[0], 0), relay.TupleGetItem(both[1], 1))
    mod = infer_module(IRModule.from_expr(relay.Function([x], add)))
    out = ConvertLayout({"nn.conv2d": ["NHWC", "default"]})(mod)
    assert calls(out, "nn.conv2d")[0].attrs.data_layout == "NHWC"
    inputs = {"x": np.arange(100, dtype="float32").reshape(1, 4, 5, 5)}
    np.testing.assert_allclose(evaluate(out, inputs).value, evaluate(mod, inputs).value, rtol=1e-5)


def test_layout_config_skips_layers() -> None:
    mod = net(lambda x: images.conv(x, 0), lambda x: images.conv(x, 1))
    with LayoutConfig(skip_layers=[0]) as config:
        after = TO_FIRST(mod)
    assert [c.attrs.data_layout for c in calls(after, "nn.conv2d")] == ["NHWC", "NCHW"]
    assert config.skip_counter == 2 and LayoutConfig.current is None


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (["NCHW"], "needs 2 layouts for nn.conv2d"),
        (["default", "OIHW"], "only that of a weight may be 'default'"),
        (["CHWN", "default"], "no default layout of its weight for data in CHWN, only for NCHW"),
    ],
)
def test_impossible_layouts_are_refused(wanted: list[str], words: str) -> None:
    with pytest.raises(PassError, match=words):
        ConvertLayout({"nn.conv2d": wanted})(net(lambda x: images.conv(x, 0)))


def test_registered_function_converts_an_operator() -> None:
    op = relay.op.get("nn.upsampling")

    def convert(attrs, args, types, wanted):
        assert types[0].shape == images.SHAPE
        return relay.nn.upsampling(*args, **{**attrs, "layout": wanted[0]})

    mod = net(lambda x: relay.nn.upsampling(x, 2, 2, layout="NHWC"))
    relay.op.register_convert_op_layout("nn.upsampling", convert)
    try:
        after = ConvertLayout({"nn.upsampling": ["NCHW"]})(mod)
    finally:
        op.reset_attr("FTVMConvertOpLayout")
    assert [c.attrs.layout for c in calls(after, "nn.upsampling")] == ["NCHW"]
    assert len(calls(after, "layout_transform")) == 2


def test_incomplete_blocks_are_refused() -> None:
    """The zeros in them would count in a mean, and remain after the conversion back."""
    x = relay.var("x", shape=(1, 6, 4, 4))
    mod = IRModule.from_expr(relay.Function([x], relay.nn.max_pool2d(x, (2, 2))))
    convert = ConvertLayout({"nn.max_pool2d": ["NCHW4c"]})
    with pytest.raises(PassError, match="the layout NCHW4c, whose blocks it does not fill"):
        convert(mod)
    assert calls(ConvertLayout({"nn.max_pool2d": ["NCHW3c"]})(mod), "layout_transform")


@pytest.mark.parametrize(
    "follow",
    [
        lambda y: relay.nn.pad(y, ((0, 0), (0, 0), (1, 1))),
        lambda y: relay.mean(y, axis=[2], keepdims=True),
        lambda y: relay.transpose(y, [0, 2, 1]),
        lambda y: relay.nn.l2_normalize(y, 1e-5, [2]),
        lambda y: relay.split(y, 2, axis=2)[1],
        lambda y: relay.strided_slice(y, [1], [3], axes=[2]),
        lambda y: relay.add(relay.nn.dense(y, SQUARE), relay.const(np.ones(4, "float32"))),
    ],
    ids=["pad", "mean", "transpose", "l2_normalize", "split", "strided_slice", "dense"],
)
def test_operators_after_a_dense_with_three_axes_are_unchanged(follow) -> None:
    """TVM assigns NC to any data of nn.dense, and its ConvertLayout fails for most of these."""
    x = relay.var("x", shape=(2, 3, 4))
    y = follow(relay.nn.dense(x, SQUARE))
    mod = InferType()(IRModule.from_expr(relay.Function([x, SQUARE], y)))
    assert TO_LAST(mod) is mod
