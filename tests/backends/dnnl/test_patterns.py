"""The calls and chains that DNNL supports, and the reasons why it refuses others."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl.graph import is_bias_shape
from byoc_lab.backends.dnnl.operators import OPERATORS, why_not
from byoc_lab.backends.dnnl.patterns import chains
from byoc_lab.passes import AnnotateTarget, MergeComposite
from byoc_lab.passes.framework.pipelines import named_pipeline
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.types import TupleType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.contrib import get_pattern_table
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import evaluate


def typed(expr: Expr) -> Call:
    result = infer_expr(expr)
    assert isinstance(result, Call)
    return result


def composites(expr: Expr) -> list[str]:
    """The names of the functions that MergeComposite forms in an expression."""
    merged = MergeComposite(dnnl.pattern_table())(infer_module(IRModule.from_expr(expr)))
    return [
        str(node.attrs["Composite"])
        for node in post_order(merged["main"])
        if isinstance(node, Function) and "Composite" in node.attrs
    ]


data = relay.var("data", shape=(1, 4, 8, 8))
weight = relay.var("weight", shape=(6, 4, 3, 3))
bias = relay.var("bias", shape=(6, 1, 1))
conv = nn.conv2d(data, weight, padding=1)
rows = relay.var("rows", shape=(2, 5))
dense = nn.dense(rows, relay.var("matrix", shape=(3, 5)))
ACTIVATIONS = {
    "relu": nn.relu,
    "tanh": relay.tanh,
    "sigmoid": relay.sigmoid,
    "clip": lambda x: relay.clip(x, a_min=0.0, a_max=6.0),
    "gelu": lambda x: (
        x * (relay.erf(x / relay.const(2**0.5)) + relay.const(1.0)) * relay.const(0.5)
    ),
    "swish": lambda x: x * relay.sigmoid(x),
    "mish": lambda x: x * relay.tanh(relay.log(relay.exp(x) + relay.const(1.0))),
}


def test_pattern_table_has_tvm_s_names_in_tvm_s_order() -> None:
    table = get_pattern_table("dnnl")
    assert table is not None
    names = [name for name, *_ in table]
    assert names[:14] == [
        "dnnl.qnn.conv2d", "dnnl.qnn.dense", "dnnl.hard_swish", "dnnl.hard_sigmoid",
        "dnnl.gelu_of_halves", "dnnl.dense_bias_sum",
        "dnnl.conv2d_bias_sum_relu", "dnnl.conv2d_bias_sum",
        "dnnl.conv1d_bias_relu", "dnnl.conv2d_bias_relu", "dnnl.conv3d_bias_relu",
        "dnnl.deconv2d_bias_relu", "dnnl.deconv3d_bias_relu", "dnnl.dense_bias_relu",
    ]  # fmt: skip
    assert names.index("dnnl.conv2d_bias") < names.index("dnnl.conv2d_relu")
    assert names[-2:] == ["dnnl.resize2d", "dnnl.concatenate"]
    assert len(set(names)) == len(names) == 5 + 3 + 6 * 8 + 6 * 7 + 2
    assert "dnnl.conv2d" not in names  # a single operator is not a chain


@pytest.mark.parametrize("word", ACTIVATIONS)
def test_every_activation_after_conv2d_and_dense_with_and_without_bias_is_matched(
    word: str,
) -> None:
    after = ACTIVATIONS[word]
    assert composites(after(conv + bias)) == [f"dnnl.conv2d_bias_{word}"]
    assert composites(after(conv)) == [f"dnnl.conv2d_{word}"]
    assert composites(after(dense + relay.var("b", shape=(3,)))) == [f"dnnl.dense_bias_{word}"]
    assert composites(after(dense)) == [f"dnnl.dense_{word}"]


def test_bias_added_from_the_left_or_by_bias_add_is_matched() -> None:
    vector = relay.var("vector", shape=(6,))
    assert composites(bias + conv) == ["dnnl.conv2d_bias"]
    assert composites(nn.relu(nn.bias_add(conv, vector))) == ["dnnl.conv2d_bias_relu"]
    assert composites(nn.bias_add(dense, relay.var("b", shape=(3,)))) == ["dnnl.dense_bias"]


def test_sum_after_the_bias_is_matched() -> None:
    residual = relay.var("residual", shape=(1, 6, 8, 8))
    assert composites(nn.relu(conv + bias + residual)) == ["dnnl.conv2d_bias_sum_relu"]
    assert composites(residual + (conv + bias)) == ["dnnl.conv2d_bias_sum"]
    both = dense + relay.var("b", shape=(3,)) + relay.var("r", shape=(2, 3))
    assert composites(both) == ["dnnl.dense_bias_sum"]
    assert composites(conv + bias + bias) == ["dnnl.conv2d_bias"]


def test_chain_is_matched_if_the_other_summand_is_a_sum() -> None:
    """The operand that contains the chain's root is the chain, whatever the other operand is."""
    vector = relay.var("b", shape=(3,))
    other = relay.var("p", shape=(2, 3)) + relay.var("q", shape=(2, 3))
    for total in (other + (dense + vector), (dense + vector) + other, other + (vector + dense)):
        assert composites(total) == ["dnnl.dense_bias_sum"]
    assert composites(other + nn.bias_add(dense, vector)) == ["dnnl.dense_bias_sum"]
    image = relay.var("r", shape=(1, 6, 8, 8)) + relay.var("s", shape=(1, 6, 8, 8))
    assert composites(nn.relu(image + (conv + bias))) == ["dnnl.conv2d_bias_sum_relu"]


def test_activation_with_a_different_number_is_not_offloaded() -> None:
    """MergeComposite's pattern has wildcards for numbers; the check compares them."""
    almost = conv * (relay.erf(conv / relay.const(2.0)) + relay.const(1.0)) * relay.const(0.5)
    assert composites(almost) == []
    chain = next(c for c in chains() if c.name == "dnnl.conv2d_gelu")
    assert chain.why_not(typed(almost)) == "gelu needs the number 1.41421, found 2"
    tensor = conv * (relay.erf(conv / conv) + relay.const(1.0)) * relay.const(0.5)
    assert "gelu needs the number 1.41421, found a tensor" in str(chain.why_not(typed(tensor)))


def hard_sigmoid(x: Expr, three: Expr) -> Expr:
    return relay.clip(x + three, 0.0, 6.0) / relay.const(np.float32(6))


def test_hard_swish_and_hard_sigmoid_are_offloaded_with_their_division() -> None:
    for made in (conv, conv + bias, data, nn.max_pool2d(data, (2, 2))):
        gate = hard_sigmoid(made, relay.const(np.float32(3)))
        assert "dnnl.hard_sigmoid" in composites(gate)
        assert "dnnl.hard_swish" in composites(made * gate)


def test_gelu_as_importers_write_it_is_one_kernel() -> None:
    half, root = relay.const(0.5), relay.const(np.float32(0.5**0.5))
    for made in (conv, conv + bias, data):
        for gelu in (
            made * (half + half * relay.erf(made * root)),
            (relay.erf(made * root) * half + half) * made,
        ):
            assert "dnnl.gelu_of_halves" in composites(gelu)
            cut = dnnl.partition_for_dnnl(infer_module(IRModule.from_expr(gelu)))
            (region,) = _regions(cut)
            last = dnnl.region_graph(region, "r").graph["ops"][-1]
            assert (last["attrs"] | (last["post_ops"] or [{}])[-1])["alg"] == "gelu"
    other = conv * (half + half * relay.erf(conv * half))
    assert composites(other) == []


def test_hard_swish_with_another_number_or_dtype_is_refused() -> None:
    four = data * hard_sigmoid(data, relay.const(np.float32(4)))
    assert composites(four) == []
    double = relay.var("d", shape=(1, 4, 8, 8), dtype="float64")
    three, six = (relay.const(n, "float64") for n in (3.0, 6.0))
    assert composites(double * (relay.clip(double + three, 0.0, 6.0) / six)) == []


def test_activation_whose_number_adds_axes_is_refused() -> None:
    """oneDNN's activations keep the shape of their operand."""
    half = relay.const(np.full((1, 1, 1), 0.5, "float32"))
    gelu = dense * (relay.erf(dense / relay.const(2**0.5)) + relay.const(1.0)) * half
    assert composites(gelu) == []
    same = dense * (relay.erf(dense / relay.const(2**0.5)) + relay.const(1.0))
    assert composites(same * relay.const(np.full((1, 1), 0.5, "float32"))) == ["dnnl.dense_gelu"]


@pytest.mark.parametrize("shape", [(1, 6, 8, 8), (8,), (6, 1, 8), (1, 1, 1), (2, 6, 8, 8)], ids=str)
def test_addition_that_is_not_a_bias_is_refused_with_the_reason(shape: tuple[int, ...]) -> None:
    added = typed(conv + relay.var("other", shape=shape))
    assert composites(nn.relu(conv + relay.var("other", shape=shape))) == []
    chain = next(c for c in chains() if c.name == "dnnl.conv2d_bias")
    assert "the addend is not a bias" in str(chain.why_not(added))


def test_bias_shapes_are_recognized() -> None:
    assert is_bias_shape((6, 1, 1), (1, 6, 8, 8)) and is_bias_shape((1, 6, 1, 1), (1, 6, 8, 8))
    assert is_bias_shape((3,), (2, 3)) and is_bias_shape((1, 3), (2, 3))
    assert not is_bias_shape((6,), (1, 6, 8, 8)) and not is_bias_shape((2, 1), (2, 3))


def test_chain_with_another_dtype_is_refused() -> None:
    double = relay.var("d", shape=(1, 4, 8, 8), dtype="float64")
    kernel = relay.var("k", shape=(6, 4, 3, 3), dtype="float64")
    assert composites(nn.relu(nn.conv2d(double, kernel))) == []
    weight_first = nn.dense(rows, relay.var("m", shape=(3, 5)), out_dtype="float64")
    assert composites(nn.relu(weight_first)) == []


def test_conv_and_pool_in_any_layout_are_supported() -> None:
    last = nn.conv2d(
        relay.var("n", shape=(1, 8, 8, 4)), relay.var("k", shape=(3, 3, 4, 6)),
        data_layout="NHWC", kernel_layout="HWIO",
    )  # fmt: skip
    vector = relay.var("b", shape=(6,))
    assert composites(nn.relu(last + vector)) == ["dnnl.conv2d_bias_relu"]
    assert why_not(typed(nn.global_avg_pool2d(data, layout="NHWC"))) is None


REFUSED = {
    "int64": (nn.relu(relay.var("i", shape=(3,), dtype="int64")), "must be float32"),
    "dtype of a result": (
        nn.dense(rows, relay.var("m", shape=(3, 5)), out_dtype="float64"),
        "the result must be float32",
    ),
    "ceil_mode": (nn.max_pool2d(data, (2, 2), ceil_mode=True), "ceil_mode must be False"),
    "window of padding": (
        nn.avg_pool2d(data, (2, 2), padding=2),
        "each padding must be smaller than the window",
    ),
    "rank of dense": (
        nn.dense(relay.var("t", shape=(2, 3, 5)), relay.var("m", shape=(4, 5))),
        "must have 2 dimensions",
    ),
    "seven dimensions": (nn.relu(relay.var("s", shape=(1,) * 7)), "at most 6 dimensions"),
    "no counterpart": (relay.op.builder(Op.get("erf"))(data), "no counterpart of erf"),
    "unknown size": (nn.relu(relay.cast(relay.argwhere(data), "float32")), "depend on values"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_calls_that_the_runtime_cannot_compute_are_refused(case: str) -> None:
    expr, reason = REFUSED[case]
    call = typed(expr)
    assert reason in str(why_not(call))
    predicate = call.op.get_attr("target.dnnl")  # type: ignore[attr-defined]
    assert predicate is None or not predicate(call)


def test_batch_norm_along_another_axis_is_refused() -> None:
    vectors = [relay.var(n, shape=(8,)) for n in ("gamma", "beta", "mean", "var")]
    call = typed(nn.batch_norm(data, *vectors, axis=3).tuple_value)
    assert "along axis 1" in str(why_not(call))


def test_annotate_target_annotates_exactly_the_supported_calls() -> None:
    ok = nn.relu(data)
    mod = infer_module(IRModule.from_expr(relay.op.builder(Op.get("erf"))(ok)))
    compilers = {
        node.attrs["compiler"]
        for node in post_order(AnnotateTarget("dnnl")(mod)["main"])
        if isinstance(node, Call) and node.is_op("annotation.compiler_end")
    }
    assert compilers == {"dnnl", "default"}


def test_operators_that_tvm_leaves_to_the_host_are_not_annotated() -> None:
    for name in ("reshape", "nn.batch_flatten", "subtract"):
        assert not OPERATORS[name].offered


def test_dnnl_pipeline_is_registered() -> None:
    assert [p.name for p in named_pipeline("dnnl")] == [
        "InferType", "SimplifyInference", "FoldConstant", "FoldScaleAxis", "MergeComposite",
        "AnnotateTarget", "MergeCompilerRegions", "PartitionGraph",
    ]  # fmt: skip


def _block(x: Expr) -> Expr:
    kernel = relay.const(np.random.default_rng(0).standard_normal((4, 4, 3, 3)).astype("float32"))
    return nn.relu(nn.conv2d(x, kernel, padding=1))


def _joined(fields: list[Expr], axis: int = 1) -> IRModule:
    """A convolution of a concatenation."""
    whole = relay.concatenate(relay.Tuple(fields), axis=axis)
    channels = 4 * len(fields) if axis == 1 else 4
    kernel = relay.const(np.ones((2, channels, 1, 1), "float32"))
    return infer_module(IRModule.from_expr(nn.conv2d(whole, kernel, kernel_size=(1, 1))))


def _regions(mod: IRModule) -> list[Function]:
    return [f for f in mod.functions.values() if "Compiler" in f.attrs]


on_host = relay.image.resize2d(data, size=(8, 8), layout="NCHW", method="nearest_neighbor")
JOINED: dict[str, list[Expr]] = {
    "two blocks": [_block(data), _block(data)],
    "one twice": [_block(data)] * 2,
    "an input": [_block(data), data],
    "a constant": [_block(data), relay.const(np.ones((1, 4, 8, 8), "float32"))],
    "what the host computes": [_block(data), on_host],
    "a pool and a sum": [nn.max_pool2d(_block(data), (3, 3), padding=1), data + _block(data)],
}


@pytest.mark.parametrize("fields", JOINED.values(), ids=JOINED)
@pytest.mark.parametrize("axis", [1, 2])
def test_concatenation_of_tensors_that_dnnl_computes_is_in_its_region(
    fields: list[Expr], axis: int
) -> None:
    mod = _joined(fields, axis)
    cut = dnnl.partition_for_dnnl(mod)
    assert not any(c.is_op("concatenate") for c in post_order(cut["main"]) if isinstance(c, Call))
    assert all(not isinstance(p.checked_type, TupleType) for f in _regions(cut) for p in f.params)
    assert len(_regions(cut)) == 1
    x = np.random.default_rng(1).standard_normal((1, 4, 8, 8)).astype("float32")
    (wanted,), (found,) = (evaluate(m, [x]).outputs for m in (mod, cut))
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)
    if dnnl.native.available():
        assert byoc_lab.validate(mod, cut)


@pytest.mark.parametrize("fields", [[data, data], [on_host, data], [on_host, on_host]])
def test_concatenation_of_tensors_that_dnnl_does_not_compute_stays_on_the_host(
    fields: list[Expr],
) -> None:
    cut = dnnl.partition_for_dnnl(_joined(fields))
    assert any(c.is_op("concatenate") for c in post_order(cut["main"]) if isinstance(c, Call))
    (found,) = (e for e in byoc_lab.explain(_joined(fields), "dnnl") if e.name == "concatenate")
    assert "DNNL computes none of the concatenated tensors" in found.reason
