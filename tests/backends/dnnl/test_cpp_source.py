"""A region exported as C++: it compiles with the command it shows, and computes the region's
results."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.cpp.source import compile_command, cpp_source
from byoc_lab.backends.dnnl.graph import MAX_POST_OPS
from byoc_lab.backends.dnnl.kernel_table import UNTIMED
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_expr
from tests.backends.dnnl import test_bfloat16 as bfloat16
from tests.backends.dnnl import test_narrow_numbers as narrow
from tests.backends.dnnl import test_quantized as quantized
from tests.backends.dnnl.graph.net import Net
from tests.backends.dnnl.test_codegen import CASES, function, random

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed"),
]


def more_than_fit() -> list[dict[str, Any]]:
    """More post-ops than one oneDNN primitive holds."""
    step = {"kind": "eltwise", "alg": "linear", "alpha": 0.99, "beta": 0.01}
    return [dict(step) for _ in range(MAX_POST_OPS + 3)]


def net_of_the_rest() -> tuple[Net, list[int]]:
    """A network of the operations that no case of code generation contains."""
    net = Net()
    data = net.input(2, 4, 5, 6)
    chain = [{"kind": "binary", "alg": "mul", "input": net.const(4, 1, 1)}]
    outputs = [
        net.op("sum", [data, data, data], chain),
        net.op("reduce", [data], alg="prod", axis=1),
        net.op("resample2d", [data], alg="linear", size=[7, 3]),
        net.op("avg_pool2d", [data], pool_size=[3, 3], padding=[1, 1, 1, 1]),
        net.op("matmul", [data, net.const(6, 4), net.const(4)]),
        net.op("dense", [net.input(3, 4), net.const(2, 4)], more_than_fit()),
    ]
    net.graph |= {"symbol": "rest", "outputs": outputs}
    return net, outputs


def faults() -> tuple[dict[str, Any], list[np.ndarray]]:
    """A graph of operations that oneDNN 3.2 computes wrongly without a workaround, and inputs
    for it."""
    rng = np.random.default_rng(8)
    tensors: list[dict[str, Any]] = []
    arrays: list[np.ndarray] = []
    ops: list[dict[str, Any]] = []

    def tensor(dtype: str, *shape: int) -> int:
        tensors.append({"name": f"t{len(tensors)}", "shape": [*shape], "dtype": dtype})
        return len(tensors) - 1

    def given(dtype: str, *shape: int) -> int:
        if dtype in ("int8", "uint8", "int32"):
            arrays.append(quantized.integers(rng, dtype, *shape))
        else:
            real = (3 * rng.standard_normal(shape)).astype(native.numpy_dtype(dtype))
            arrays.append(real)
        return tensor(dtype, *shape)

    # Inputs come first.
    whole = given("int32", 8, 8)
    image = given("uint8", 1, 20, 6, 5)
    weight = given("int8", 8, 20, 2, 3)
    one = given("float32", 4, 1, 6)
    rows = given("float32", 2, 3, 5)
    column = given("float32", 3, 1)
    pixel, channels = given("float32", 2, 3, 1, 1), given("float32", 3, 1, 1)
    scalar = given("int32")
    deep, taps = given("float32", 1, 512, 3, 3), given("float32", 8, 512, 4, 4)
    bias = given("float32", 8)
    half = given("bfloat16", 4, 9)
    inputs = [*range(len(tensors))]

    def op(kind: str, of: list[int], shape: list[int], post_ops: Any = (), **attrs: Any) -> int:
        dtype = "int32" if kind == "conv2d" else tensors[of[0]]["dtype"]
        out = tensor(dtype, *shape)
        entry = {"name": f"{kind}_{len(ops)}", "kind": kind, "inputs": of, "output": out}
        ops.append({**entry, "attrs": attrs, "post_ops": list(post_ops)})
        return out

    def times(input: int) -> list[dict[str, Any]]:
        return [{"kind": "binary", "alg": "mul", "input": input}]

    relu = [{"kind": "eltwise", "alg": "relu"}]
    outputs = [
        op("transpose", [whole], [8, 8], axes=[1, 0]),
        op("conv2d", [image, weight], [1, 8, 15, 11], padding=[6, 4, 4, 4]),
        op("reduce", [one], [4, 1, 6], alg="mean", axis=1),
        op("softmax", [rows], [2, 3, 5], times(column)),
        op("binary", [pixel, pixel], [2, 3, 1, 1], times(channels), alg="add"),
        op("resample2d", [pixel], [2, 3, 1, 1], times(channels), size=[1, 1], alg="nearest"),
        op("transpose", [scalar], [], axes=[]),
        op("slice", [rows], [2, 3, 2], relu, axis=2, begin=4, length=2, step=-3),
    ]
    window = {"strides": [2, 2], "padding": [1, 1, 1, 1]}
    deconvolution = ("conv2d_transpose", [deep, taps, bias], [1, 8, 6, 6], relu)
    last = op(*deconvolution, **window)
    outputs.append(last)
    outputs.append(op("transpose", [outputs[1]], [1, 15, 11, 8], axes=[0, 2, 3, 1]))
    outputs.append(op("eltwise", [half], [4, 9], alg="round"))
    head = {"format": "byoc_lab.dnnl.graph", "version": 1, "symbol": "faults", "constants": []}
    graph = {**head, "tensors": tensors, "inputs": inputs, "outputs": outputs, "ops": ops}
    return graph, arrays


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> ctypes.CDLL:
    """All sources in one file, which is quicker to compile, but still slow."""
    folder: Path = tmp_path_factory.mktemp("cpp")
    graphs = [dnnl.region_graph(function(CASES[c][0]), f"r{n}") for n, c in enumerate(CASES)]
    graphs += [dnnl.region_graph(quantized.function(QUANTIZED[c]()), c) for c in QUANTIZED]
    graphs += [dnnl.region_graph(function(bfloat16.network(c)), c) for c in BFLOAT16]
    sources = [cpp_source(g.graph) for g in graphs] + [cpp_source(net_of_the_rest()[0].graph)]
    sources.append(cpp_source(faults()[0]))
    (folder / "all.cc").write_text("\n".join(sources))
    command = compile_command(str(folder / "all.cc"), str(folder / "all.so"))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "all.so"))


def run(library: ctypes.CDLL, graph: dict, inputs: list, constants: list) -> list[np.ndarray]:
    def pointers(arrays: list) -> ctypes.Array:
        kind = ctypes.c_void_p * max(1, len(arrays))
        return kind(*(a.ctypes.data for a in arrays))

    results = [graph["tensors"][t] for t in graph["outputs"]]
    outputs = [np.empty(t["shape"], native.numpy_dtype(t["dtype"])) for t in results]
    held = [np.require(a, requirements=["C"]) for a in (*inputs, *constants)]
    library[graph["symbol"]](
        pointers(held[: len(inputs)]), pointers(held[len(inputs) :]), pointers(outputs)
    )
    return outputs


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_cpp_source_computes_the_region_s_results(library: ctypes.CDLL, case: str) -> None:
    func = function(CASES[case][0])
    symbol = f"r{list(CASES).index(case)}"
    made = dnnl.region_graph(func, symbol)
    inputs = [random(*p.checked_type.shape, seed=n) for n, p in enumerate(func.params)]
    region = native.DnnlRegion(made.graph, made.constants)
    for got, want in zip(
        run(library, made.graph, inputs, made.constants), region(*inputs), strict=True
    ):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def number(value: Any) -> Expr:
    return quantized.number(value)


def quantized_chain(layout: str) -> Expr:
    """Zero points at the padding, scales per channel, a bias, a sum with another scale, a clip."""
    rng, zero = np.random.default_rng(3), quantized.zero
    nhwc = layout == "NHWC"
    x = relay.var("x", shape=(2, 7, 6, 8) if nhwc else (2, 8, 7, 6), dtype="uint8")
    weight = quantized.integers(rng, "int8", *((3, 2, 8, 16) if nhwc else (16, 8, 3, 2)))
    made = qnn.conv2d(
        x, relay.const(weight), zero(7), zero(), number(1), number(1), kernel_size=(3, 2),
        channels=16, padding=(1, 1), strides=(2, 1), data_layout=layout,
        kernel_layout="HWIO" if nhwc else "OIHW",
    )  # fmt: skip
    bias = rng.integers(-9000, 9000, (16,) if nhwc else (16, 1, 1), dtype=np.int32)
    scales = relay.const(rng.uniform(0.1, 1, 16).astype(np.float32))
    ends = (scales, zero(-5), number(700), zero(3))
    made = qnn.requantize(relay.add(made, relay.const(bias)), *ends, axis=3 if nhwc else 1,
                          rounding="TOEVEN" if nhwc else "TONEAREST",
                          out_dtype="int8")  # fmt: skip
    other = relay.var("other", infer_expr(made).checked_type)
    pairs = (number(0.3), zero(1), number(0.2), zero(2), number(0.4), zero(3))
    return relay.clip(qnn.add(made, other, *pairs), a_min=-100, a_max=90)


def quantized_dense() -> Expr:
    """Real inputs and outputs; an integer product between them, and the final cast of TVM's
    form."""
    zero = quantized.zero
    x = relay.var("x", shape=(4, 24))
    weight = quantized.integers(np.random.default_rng(4), "int8", 12, 24)
    data = qnn.quantize(x, number(0.9), zero(11), out_dtype="uint8")
    made = qnn.dense(data, relay.const(weight), zero(11), zero(), number(1), number(1), units=12)
    made = qnn.requantize(made, number(1), zero(), number(900), zero(-4), out_dtype="int8")
    real = qnn.dequantize(made, number(0.25), zero(-4))
    return relay.Tuple([made, real, relay.cast(real, dtype="uint8")])


QUANTIZED: dict[str, Callable[[], Expr]] = {
    "convolution": lambda: quantized_chain("NCHW"),
    "last_axis": lambda: quantized_chain("NHWC"),
    "product": quantized_dense,
    "network": lambda: narrow.network("int8", "NCHW"),
}
BFLOAT16 = ["conv", "sum", "batch_norm", "dense"]


@pytest.mark.slow
@pytest.mark.parametrize("case", QUANTIZED)
def test_cpp_source_of_quantized_region_computes_the_same_bits(
    library: ctypes.CDLL, case: str
) -> None:
    func, rng = quantized.function(QUANTIZED[case]()), np.random.default_rng(1)
    made = dnnl.region_graph(func, case)
    inputs = []
    for p in func.params:
        shape, dtype = p.checked_type.concrete_shape, p.checked_type.dtype
        real = dtype == "float32"
        inputs.append(
            (rng.uniform(0, 90, shape)).astype(np.float32)
            if real
            else quantized.integers(rng, dtype, *shape)
        )
    wanted = native.DnnlRegion(made.graph, made.constants)(*inputs)
    assert all(len(np.unique(w)) > 5 for w in wanted)
    for got, want in zip(run(library, made.graph, inputs, made.constants), wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("case", BFLOAT16)
def test_cpp_source_of_bfloat16_region_is_within_its_rounding(
    library: ctypes.CDLL, case: str
) -> None:
    """Intermediate results may be rounded at other points than in the region."""
    func = function(bfloat16.network(case))
    made = dnnl.region_graph(func, case)
    inputs = [
        bfloat16.random(*p.checked_type.concrete_shape, seed=n) for n, p in enumerate(func.params)
    ]
    (want,) = native.DnnlRegion(made.graph, made.constants)(*inputs)
    (got,) = run(library, made.graph, inputs, made.constants)
    assert got.dtype == want.dtype == bfloat16.BF16
    wide = want.astype(np.float32)
    error = np.abs(got.astype(np.float32) - wide).max()
    assert error <= 8 * bfloat16.U * np.abs(wide).max()


@pytest.mark.slow
def test_cpp_source_of_operations_that_relay_lacks_equals_reference(library: ctypes.CDLL) -> None:
    net, outputs = net_of_the_rest()
    got = run(library, net.graph, net.arrays["inputs"], net.arrays["constants"])
    for value, output in zip(got, outputs, strict=True):
        np.testing.assert_allclose(value, net.values[output].value, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_cpp_source_avoids_faults_of_onednn_as_the_runtime_does(library: ctypes.CDLL) -> None:
    graph, arrays = faults()
    got = run(library, graph, arrays, [])
    for value, want in zip(got, native.DnnlRegion(graph)(*arrays), strict=True):
        assert value.dtype == want.dtype
        if want.dtype == np.float32:
            np.testing.assert_allclose(value, want, rtol=1e-5, atol=1e-4)
        else:
            np.testing.assert_array_equal(value, want)
    np.testing.assert_array_equal(got[0], arrays[0].T)
    np.testing.assert_array_equal(got[2], arrays[3])


def test_cpp_source_shows_its_compile_command() -> None:
    region = dnnl.compile_region(function(CASES["bias and activation"][0]), "r")
    source = region.c_source
    first = " ".join(compile_command("region.cc", "region.so"))
    assert source.startswith(f"// Compile with:\n// {first}\n")
    assert "ops.append_eltwise(algorithm::eltwise_relu" in source
    assert region.graph["symbol"] == "r"


def test_compile_command_without_headers_raises_build_error(tmp_path) -> None:
    with pytest.raises(BuildError, match="oneDNN's headers are not in"):
        compile_command("a.cc", "a.so", tmp_path)


def test_kernels_table_shows_how_each_operation_runs() -> None:
    region = dnnl.compile_region(function(CASES["bias and activation"][0]), "r")
    region.set_profiling(True)
    region(random(2, 4, 6, 6))
    (kernel,) = region.kernels
    assert kernel.fused == ("relu",) and kernel.separate == () and kernel.impl
    assert set(kernel.layouts) == {"data", "weight", "bias", "result"}
    assert kernel.time_us is not None and kernel.time_us > 0
    head, row, *more, foot = str(region.kernels).splitlines()  # cells may have several lines
    assert head.split() == ["operation", "kernel", "layouts", "post-ops", "time", "share"]
    assert row.startswith("nn.conv2d_0 ") and "relu" in row and row.endswith("100 %")
    assert kernel.impl.partition(":")[0] in row
    words = " ".join((row, *more)).split()
    assert set(kernel.layouts["result"].split()) <= set(words) and foot.startswith("1 kernel, ")
    page = region.kernels._repr_html_()
    assert f"<code>{kernel.impl}</code>" in page and page.count("<tr>") == 2 and "120px" in page


def test_kernels_without_times_say_how_to_measure_them() -> None:
    region = dnnl.compile_region(function(CASES["bias and activation"][0]), "r")
    region(random(2, 4, 6, 6))
    assert str(region.kernels).endswith(UNTIMED) and "set_profiling(True)" in UNTIMED
    assert region.kernels.time_us is None and "120px" not in region.kernels._repr_html_()


def test_onednn_outside_the_package_is_linked_at_its_location(tmp_path: Path) -> None:
    (tmp_path / "_include").mkdir()
    (tmp_path / "_include/dnnl.hpp").touch()
    (tmp_path / "_libs").mkdir()
    (tmp_path / "_libs/directory").write_text("/opt/onednn/lib")
    command = compile_command("a.cc", "a.so", tmp_path)
    assert {"-L/opt/onednn/lib", "-Wl,-rpath,/opt/onednn/lib"} <= set(command)
