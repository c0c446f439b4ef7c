"""Regions compiled to DNNL graphs: which operators are fused, and the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.graph import MAX_OPERANDS
from byoc_lab.errors import BuildError
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.passes import MergeComposite
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run.inline import inlined
from tests.backends.dnnl.instructions import HAS_AVX2
from tests.backends.dnnl.test_lstm import cell as lstm_cell
from tests.backends.dnnl.test_lstm import variables


def function(expr: Expr) -> Function:
    made = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(made, Function)
    return made


def ops(expr: Expr) -> list[tuple[Any, ...]]:
    """For each native operation: kind, number of inputs, algorithms of its post-ops."""
    graph = dnnl.region_graph(function(expr), "r").graph
    return [
        (op["kind"], len(op["inputs"]), *[p["alg"] for p in op["post_ops"]]) for op in graph["ops"]
    ]


def builder(name: str) -> Any:
    return relay.op.builder(Op.get(name))


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def check(expr: Expr) -> native.DnnlRegion:
    """Runs the region on random inputs and compares it within its tolerance."""
    func = function(expr)
    inputs = {p: random(*p.checked_type.shape, seed=n) for n, p in enumerate(func.params)}
    region = dnnl.compile_region(func, "r")
    wanted = bounded(inlined(func), inputs, exact_constants=True)
    got = region(*inputs.values())
    assert len(got) == len(wanted.outputs)
    for g, w, tolerance in zip(got, wanted.outputs, wanted.tolerances, strict=True):
        assert g.shape == w.shape
        assert np.all(np.abs(g - w) <= tolerance)
    return region


data = relay.var("data", shape=(2, 4, 6, 6))
conv = nn.conv2d(data, relay.const(random(8, 4, 3, 3)), padding=1)
half_weight = relay.const(random(8, 2, 3, 3))
bias = relay.const(random(8, 1, 1))
image = relay.var("image", shape=(2, 8, 6, 6))
rows = relay.var("rows", shape=(3, 5))
dense = nn.dense(rows, relay.const(random(7, 5)))
STATISTICS = [
    relay.const(v)
    for v in (random(8), random(8, seed=1), random(8, seed=2), np.abs(random(8, seed=3)) + 0.1)
]
norm = nn.batch_norm(image, *STATISTICS, epsilon=1e-3)
relu, tanh = nn.relu, builder("tanh")
side = tanh(image)
twice = relu(conv)
gate = relay.sigmoid(twice)


def gelu(x: Expr) -> Expr:
    return x * (relay.erf(x / relay.const(2**0.5)) + relay.const(1.0)) * relay.const(0.5)


def mish(x: Expr) -> Expr:
    return x * tanh(relay.log(relay.exp(x) + relay.const(1.0)))


def number(value: float) -> Expr:
    return relay.const(np.float32(value))


def up_to_6(x: Expr) -> Expr:
    return builder("clip")(number(3) + x, 0.0, 6.0)


HARD_SIGMOIDS: dict[str, Callable[[Expr], Expr]] = {
    "divided": lambda x: up_to_6(x) / number(6),
    "a sixth of": lambda x: number(1 / 6) * up_to_6(x),
    "of a sixth": lambda x: builder("clip")(number(0.5) + number(1 / 6) * x, 0.0, 1.0),
}
HARD_SWISHES: dict[str, Callable[[Expr], Expr]] = {
    **{name: lambda x, of=of: x * of(x) for name, of in HARD_SIGMOIDS.items()},
    "divided at the end": lambda x: up_to_6(x) * x / number(6),
    "a sixth at the end": lambda x: x * up_to_6(x) * number(1 / 6),
}


series = relay.var("series", shape=(2, 4, 9))
volume = relay.var("volume", shape=(1, 4, 3, 6, 5))
last = relay.var("last", shape=(2, 6, 6, 8))


def nhwc(x: Expr) -> Expr:
    weight = relay.const(random(3, 3, 8, 8))
    return nn.conv2d(x, weight, padding=1, data_layout="NHWC", kernel_layout="HWIO")


def nhwc_block(x: Expr) -> Expr:
    return relu(nhwc(x) + relay.const(random(8)) + x)


CASES: dict[str, tuple[Expr, list[tuple[Any, ...]]]] = {
    "bias and activation": (relu(conv + bias), [("conv2d", 3, "relu")]),
    "the bias from the left": (bias + conv, [("conv2d", 3)]),
    "bias_add": (nn.bias_add(conv, relay.const(random(8))), [("conv2d", 3)]),
    "bias of rank 4": (conv + relay.const(random(1, 8, 1, 1)), [("conv2d", 3)]),
    "a second bias": (conv + bias + bias, [("conv2d", 3, "add")]),
    "a long chain": (
        builder("sqrt")(builder("abs")(builder("exp")(tanh(conv + bias) * bias))),
        [("conv2d", 3, "tanh", "mul", "exp", "abs", "sqrt")],
    ),
    "residual, relu": (relu((conv + bias) + image), [("conv2d", 3, "add", "relu")]),
    "residual that is computed first": (
        relu(side + conv),
        [("eltwise", 1), ("conv2d", 2, "add", "relu")],
    ),
    "residual that is computed later": (
        relu(conv + side),
        [("conv2d", 2), ("eltwise", 1, "add", "relu")],
    ),
    "a value that is used twice": (
        twice * tanh(twice),
        [("conv2d", 2, "relu"), ("eltwise", 1, "mul")],
    ),
    "a square": (conv * conv, [("conv2d", 2), ("binary", 2)]),
    "subtract from": (conv - bias, [("conv2d", 2, "sub")]),
    "subtract what is not first": (bias - conv, [("conv2d", 2), ("binary", 2)]),
    "a sum that broadcasts the result": (
        dense + relay.const(random(2, 3, 7)),
        [("dense", 2), ("binary", 2)],
    ),
    "dense": (relu(dense + relay.const(random(7))), [("dense", 3, "relu")]),
    "dense, clip": (builder("clip")(dense, -0.5, 0.5), [("dense", 2, "clip")]),
    "dense, leaky": (nn.leaky_relu(dense, 0.1), [("dense", 2, "relu")]),
    "batch norm": (relu(norm[0]), [("batch_norm", 5, "relu")]),
    "batch norm without scale and shift": (
        nn.batch_norm(image, *STATISTICS, scale=False, center=False)[0],
        [("batch_norm", 5)],
    ),
    "bias_add after a pool": (
        nn.bias_add(nn.max_pool2d(image, (2, 2)), relay.const(random(8))),
        [("max_pool2d", 1, "add")],
    ),
    "bias_add of an input after a pool": (
        nn.bias_add(nn.max_pool2d(image, (2, 2)), relay.var("b", shape=(8,))),
        [("max_pool2d", 1), ("reshape", 1), ("binary", 2)],
    ),
    "bias_add of an input": (nn.bias_add(conv, relay.var("b", shape=(8,))), [("conv2d", 3)]),
    "pools": (
        nn.global_avg_pool2d(nn.avg_pool2d(image, (3, 3), (2, 2), padding=1)),
        [("avg_pool2d", 1), ("global_avg_pool2d", 1)],
    ),
    "reshapes": (
        relu(nn.batch_flatten(builder("expand_dims")(nn.softmax(rows), 1))),
        [("softmax", 1), ("reshape", 1), ("reshape", 1), ("eltwise", 1)],
    ),
    "gelu": (gelu(conv + bias), [("conv2d", 3, "gelu")]),
    "swish of an input": (image * relay.sigmoid(image), [("eltwise", 1)]),
    "mish, relu": (relu(mish(dense)), [("dense", 2, "mish", "relu")]),
    **{
        f"hard-sigmoid, {name}": (of(conv), [("conv2d", 2, "hard_sigmoid")])
        for name, of in HARD_SIGMOIDS.items()
    },
    **{
        f"hard-swish, {name}": (of(conv + bias), [("conv2d", 3, "hard_swish")])
        for name, of in HARD_SWISHES.items()
    },
    "hard-swish of an input": (HARD_SWISHES["divided"](image), [("eltwise", 1)]),
    "half of what hard-swish is": (
        conv * builder("clip")(conv + number(3), 0.0, 3.0) / number(6),
        [("conv2d", 2), ("binary", 2, "clip", "mul", "div")],
    ),
    "swish of what is used twice": (
        twice * relay.sigmoid(twice) + twice,
        [("conv2d", 2, "relu"), ("eltwise", 1, "add")],
    ),
    "swish whose sigmoid is used twice": (
        relay.Tuple([twice * gate, gate]),
        [("conv2d", 2, "relu"), ("eltwise", 1), ("binary", 2)],
    ),
    "batch_matmul": (
        relu(nn.batch_matmul(relay.var("a", shape=(2, 3, 4)), relay.const(random(2, 5, 4)))),
        [("matmul", 2, "relu")],
    ),
    "conv1d, bias, relu": (
        relu(nn.conv1d(series, relay.const(random(6, 4, 3))) + relay.const(random(6, 1))),
        [("conv1d", 3, "relu")],
    ),
    "conv3d": (
        tanh(nn.conv3d(volume, relay.const(random(6, 2, 1, 3, 3)), padding=(0, 1, 1), groups=2)),
        [("conv3d", 2, "tanh")],
    ),
    "transposed": (
        relu(
            nn.conv2d_transpose(
                image, relay.const(random(8, 3, 3, 2)), strides=(2, 2), padding=1,
                output_padding=(1, 0)
            )
            + relay.const(random(3, 1, 1))
        ),
        [("conv2d_transpose", 3, "relu")],
    ),
    "transposed, grouped, weight at run time": (
        nn.conv1d_transpose(series, relay.var("w", shape=(4, 3, 2)), groups=2),
        [("reshape", 1), ("transpose", 1), ("reshape", 1), ("conv1d_transpose", 2)],
    ),
    "transposed in 3-D, OIDHW": (
        nn.conv3d_transpose(
            volume, relay.const(random(5, 4, 2, 2, 1)), kernel_layout="OIDHW", strides=(1, 2, 2)
        ),
        [("conv3d_transpose", 2)],
    ),
    "pools of other ranks": (
        relay.Tuple([
            nn.max_pool1d(series, 2, 2),
            nn.avg_pool3d(volume, (1, 2, 2), padding=(0, 1, 1)),
            nn.global_max_pool2d(image),
        ]),
        [("max_pool1d", 1), ("avg_pool3d", 1), ("global_max_pool2d", 1)],
    ),
    "layer_norm, log_softmax": (
        nn.log_softmax(nn.layer_norm(rows, relay.const(random(5)), relay.const(random(5)))),
        [("layer_norm", 3), ("log_softmax", 1)],
    ),
    "round": (relay.round(dense), [("dense", 2, "round")]),
    "concatenate": (
        relu(relay.concatenate([image, tanh(image)], axis=1)),
        [("eltwise", 1), ("concat", 2, "relu")],
    ),
    "cell of an LSTM": (
        relay.Tuple(list(lstm_cell(*variables(2), (2, 0, 3, 1)))),
        [("lstm_cell", 2), ("slice", 1), ("slice", 1)],
    ),
    "strided_slice": (
        relu(relay.strided_slice(image, [0, 1, -1], [1, 99, -7], [1, 3, -2])),
        [("slice", 1), ("slice", 1), ("slice", 1), ("eltwise", 1)],
    ),
    "NHWC: bias, residual, relu, twice": (
        nhwc_block(nhwc_block(last)),
        [("transpose", 1), ("conv2d", 3, "add", "relu"), ("conv2d", 3, "add", "relu"),
         ("transpose", 1)],
    ),
    "NHWC: bias_add, gelu, pool, softmax": (
        nn.softmax(
            nn.max_pool2d(gelu(nn.bias_add(nhwc(last), relay.const(random(8)), axis=3)), (2, 2),
                          layout="NHWC")
        ),
        [("transpose", 1), ("conv2d", 3, "gelu"), ("max_pool2d", 1), ("transpose", 1),
         ("softmax", 1)],
    ),
    "NHWC from NCHW by hand": (
        nhwc(relay.transpose(image, (0, 2, 3, 1))) * relay.const(random(6, 8)),
        [("conv2d", 2, "mul"), ("transpose", 1)],
    ),
    "HWOI of a depthwise convolution": (
        nn.conv2d(last, relay.const(random(3, 3, 8, 2)), groups=8, channels=16, data_layout="NHWC",
                  kernel_layout="HWOI"),
        [("transpose", 1), ("conv2d", 2), ("transpose", 1)],
    ),
    "OIHW of a depthwise convolution, O counting the inputs": (
        nn.conv2d(image, relay.const(random(8, 2, 3, 3)), groups=8, channels=16,
                  kernel_size=(3, 3)),
        [("conv2d", 2)],
    ),
    "out_layout": (
        nn.conv2d(image, relay.const(random(8, 8, 1, 1)), out_layout="NHWC"),
        [("conv2d", 2), ("transpose", 1)],
    ),
    "transposed without axes": (
        tanh(relay.transpose(relu(rows))),
        [("eltwise", 1, "tanh"), ("transpose", 1)],
    ),
    "grouped, strided, dilated": (
        relu(
            nn.conv2d(
                data, half_weight, groups=2, strides=2, dilation=2, padding=(2, 1)
            )
        ),
        [("conv2d", 2, "relu")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_fusable_chain_compiles_to_the_expected_operations(case: str) -> None:
    expr, expected = CASES[case]
    assert ops(expr) == expected


@pytest.mark.native
@pytest.mark.parametrize("case", CASES)
def test_region_computes_the_result_of_relay(case: str) -> None:
    check(CASES[case][0])


def test_composites_and_bare_chains_compile_to_the_same_graph() -> None:
    expr = relu(nn.conv2d(relu(conv + bias), relay.const(random(5, 8, 1, 1)), channels=5))
    mod = infer_module(IRModule.from_expr(expr))
    merged = MergeComposite(dnnl.pattern_table())(mod)
    assert "Composite" in str(merged)
    bare = dnnl.region_graph(mod["main"], "r")
    composed = dnnl.region_graph(merged["main"], "r")
    assert bare.graph["ops"] == composed.graph["ops"]
    for a, b in zip(bare.constants, composed.constants, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.native
def test_each_output_has_a_separate_buffer() -> None:
    out = relu(conv)
    # The same value twice, an input, a moving mean, and a value that is also used inside.
    results = relay.Tuple([out, out, data, norm[1], tanh(out)])
    graph = dnnl.region_graph(function(results), "r").graph
    assert len(set(graph["outputs"])) == 5
    check(results)


@pytest.mark.native
def test_lets_and_functions_inside_a_region_are_compiled() -> None:
    x, p, t = relay.var("x", shape=(3, 5)), relay.var("p", shape=(3, 5)), relay.var("t")
    inner = Function([p], relu(p) + x)
    check(relay.Let(t, tanh(x), relay.Call(inner, [t]) * t))


def test_unsupported_operator_or_input_raises_build_error_that_names_it() -> None:
    with pytest.raises(BuildError, match=r"region @r: DNNL has no counterpart of erf\. Leave erf"):
        ops(relu(builder("erf")(data)))
    with pytest.raises(
        BuildError,
        match=r"%x must be a tensor whose dtype is one of float32.*found Tensor",
    ):
        ops(relu(relay.var("x", shape=(3,), dtype="float64")))
    with pytest.raises(BuildError, match=r"%x must have a known shape when it is compiled"):
        ops(relu(relay.var("x", shape=(relay.Any(),))))
    text = "def @main(%x: Tensor[(2, 3), float32]) { nn.relu(split(%x, indices_or_sections=2).0) }"
    with pytest.raises(BuildError, match=r"net\.relay:1:\d+: region @r: DNNL has no counterpart"):
        dnnl.region_graph(relay.parse(text, "net.relay")["main"], "r")


@pytest.mark.native
@pytest.mark.parametrize("count", [MAX_OPERANDS, MAX_OPERANDS + 1, MAX_OPERANDS**2 + 2])
@pytest.mark.parametrize("axis", [0, -1])
def test_concatenation_of_any_number_of_tensors_is_one_region(count: int, axis: int) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    data = relay.var("x", shape=x.shape)
    seven = [nn.relu(data * relay.const(np.float32(n))) for n in range(7)]
    joined = relay.concatenate([seven[n % 7] for n in range(count)], axis=axis)
    (found,) = dnnl.compile_region(function(joined), "r")(x)
    np.testing.assert_array_equal(found, np.concatenate([x * (n % 7) for n in range(count)], axis))


@pytest.mark.native
def test_region_that_the_runtime_refuses_raises_build_error() -> None:
    nothing = function(relay.Tuple([]))
    with pytest.raises(BuildError, match=r"DNNL refuses region @r: .*outputs"):
        dnnl.compile_region(nothing, "r")


# ---- what a region fuses, as it runs


def heads(axes: int) -> dict[str, Expr]:
    """Operators on images with `axes` spatial axes, each with 8 output channels."""
    image = relay.var("x", shape=(2, 8, *[7] * axes))
    taps = relay.const(random(8, 8, *[3] * axes))
    around = {"padding": [1] * (2 * axes)}
    window = {"pool_size": [3] * axes, **around}
    made = {
        f"conv{axes}d": getattr(nn, f"conv{axes}d")(image, taps, **around),
        f"conv{axes}d_transpose": getattr(nn, f"conv{axes}d_transpose")(image, taps, **around),
        f"max_pool{axes}d": getattr(nn, f"max_pool{axes}d")(image, **window),
        f"avg_pool{axes}d": getattr(nn, f"avg_pool{axes}d")(image, **window),
    }
    if axes == 2:
        made["global_avg_pool2d"] = nn.global_avg_pool2d(image)
        made["global_max_pool2d"] = nn.global_max_pool2d(image)
    return made


FUSING = {name: head for axes in (1, 2, 3) for name, head in heads(axes).items()}


@pytest.mark.native
@pytest.mark.parametrize("name", FUSING)
def test_elementwise_chain_after_an_image_operator_is_fused_into_its_kernel(name: str) -> None:
    """tanh(relu(head * one number per channel) + a tensor) is one kernel, as oneDNN reports.

    After a transposed convolution, which oneDNN fuses wrongly, they are separate kernels.
    """
    head = infer_expr(FUSING[name])
    shape = head.checked_type.concrete_shape
    scaled = head * relay.const(random(8, *[1] * (len(shape) - 2)))
    other = relay.var("other", shape=shape)
    expr = tanh(relu(scaled) + other)
    (kernel,) = check(expr).kernels
    chain = ("mul", "relu", "add", "tanh")
    assert (*kernel.fused, *kernel.separate) == chain
    if HAS_AVX2 or name != "conv3d":  # without it oneDNN has no fast kernel with the whole chain
        assert kernel.fused == (() if name.endswith("_transpose") else chain)
