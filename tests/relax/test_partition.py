"""DNNL for Relax: partitioned, compiled by RunCodegen, run, exported and loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byoc_lab.errors import BuildError
from byoc_lab.relax import partition_for_dnnl, why_not_relax
from byoc_lab.relax.to_relay import to_relay
from byoc_lab.run import evaluate

tomllib = pytest.importorskip("tomllib")  # Python 3.11
tvm = pytest.importorskip("tvm")
relax = pytest.importorskip("tvm.relax")
op = relax.op
GROUP = "tvm.backends"
pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def const(*shape: int, seed: int = 0) -> Any:
    return relax.const(random(*shape, seed=seed) / np.float32(max(1, np.prod(shape[1:])) ** 0.5))


def var(name: str, *shape: int, dtype: str = "float32") -> Any:
    return relax.Var(name, relax.TensorType(shape, dtype))


def module(params: list[Any], build: Any) -> Any:
    """main(params) with the body that `build(emit, *params)` creates; it returns one result or a
    list."""
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        with builder.dataflow():
            made = build(builder.emit, *params)
            results = made if isinstance(made, list) else [made]
            outputs = [builder.emit_output(r) for r in results]
        builder.emit_func_output(relax.Tuple(outputs) if len(outputs) > 1 else outputs[0])
    return builder.get()


def regions(mod: Any) -> list[Any]:
    return [f for f in mod.functions.values() if f.attrs and "Codegen" in f.attrs]


def run(mod: Any, *inputs: np.ndarray) -> list[np.ndarray]:
    compiled = tvm.compile(mod, tvm.target.Target("llvm")).mod
    machine = relax.VirtualMachine(compiled, tvm.cpu())
    result = machine["main"](*[tvm.runtime.tensor(i) for i in inputs])
    return [r.numpy() for r in (result if not hasattr(result, "numpy") else [result])]


def check(mod: Any, *inputs: np.ndarray, count: int = 1) -> Any:
    """Partitions, compiles and runs; the results equal those of TVM alone."""
    cut = partition_for_dnnl(mod)
    assert len(regions(cut)) == count
    compiled = relax.transform.RunCodegen()(cut)
    for got, wanted in zip(run(compiled, *inputs), run(mod, *inputs), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    return cut


def block(emit: Any, x: Any, channels: int, seed: int) -> Any:
    """conv, batch norm, relu, conv, residual, relu."""
    weight = const(channels, channels, 3, 3, seed=seed)
    y = emit(op.nn.conv2d(x, weight, padding=1))
    vectors = [relax.const(np.abs(random(channels, seed=seed + n)) + 0.5) for n in range(4)]
    normal = emit(op.nn.batch_norm(y, *vectors, axis=1, training=False))
    y = emit(op.nn.relu(emit(relax.TupleGetItem(normal, 0))))
    y = emit(op.nn.conv2d(y, const(channels, channels, 3, 3, seed=seed + 9), padding=1))
    y = emit(op.add(y, const(1, channels, 1, 1, seed=seed)))
    return emit(op.nn.relu(emit(op.add(y, x))))


def residual_network() -> Any:
    def build(emit: Any, image: Any) -> Any:
        x = emit(op.nn.conv2d(image, const(16, 3, 3, 3), strides=2, padding=1))
        x = emit(op.nn.max_pool2d(emit(op.nn.relu(x)), (2, 2), (2, 2)))
        for n in range(2):
            x = block(emit, x, 16, 10 * n)
        x = emit(op.nn.adaptive_avg_pool2d(x, (1, 1)))
        x = emit(op.reshape(x, (1, 16)))
        x = emit(op.add(emit(op.matmul(x, emit(op.permute_dims(const(10, 16))))), const(10)))
        return emit(op.nn.softmax(x, axis=-1))

    return module([var("image", 1, 3, 32, 32)], build)


def test_residual_network_is_one_call() -> None:
    cut = check(residual_network(), random(1, 3, 32, 32))
    (region,) = regions(cut)
    assert sum(len(block.bindings) for block in cut["main"].body.blocks) == 1
    made, _ = to_relay(region.with_attr("global_symbol", "region"))
    (result,) = evaluate(made, [random(1, 3, 32, 32)]).outputs
    assert result.shape == (1, 10) and abs(result.sum() - 1) < 1e-5


def test_network_with_host_operators_between_regions_and_several_outputs_equals_tvm() -> None:
    def build(emit: Any, x: Any) -> list[Any]:
        first = emit(op.nn.relu(emit(op.nn.conv2d(x, const(4, 4, 3, 3), padding=1))))
        host = emit(op.cumsum(first, axis=3))
        second = emit(op.nn.gelu(emit(op.nn.conv2d(host, const(4, 4, 1, 1)))))
        return [first, second, emit(op.tanh(second))]

    cut = check(module([var("x", 1, 4, 6, 6)], build), random(1, 4, 6, 6), count=2)
    assert "cumsum" in str(cut["main"])


def symbol(name: str) -> Any:
    return tvm.tirx.Var(name, "int64")


def test_regions_run_with_a_batch_known_at_run_time(tmp_path) -> None:
    """One region for every batch size; host operators in between, several outputs, and loaded
    from a file."""

    def build(emit: Any, x: Any) -> list[Any]:
        y = emit(op.nn.relu(emit(op.nn.conv2d(x, const(8, 4, 3, 3), padding=1))))
        y = emit(op.add(y, const(1, 8, 1, 1)))
        host = emit(op.cumsum(y, axis=3))
        pooled = emit(op.nn.avg_pool2d(emit(op.nn.relu(host)), (2, 2), (2, 2)))
        rows = emit(op.reshape(pooled, (n, 72)))
        scores = emit(op.matmul(rows, const(72, 5)))
        return [y, emit(op.nn.softmax(emit(op.add(scores, const(5))), axis=-1))]

    n = symbol("n")
    mod = module([var("x", n, 4, 6, 6)], build)
    cut = partition_for_dnnl(mod)
    assert len(regions(cut)) == 3 and "cumsum" in str(cut["main"])
    compiled = relax.transform.RunCodegen()(cut)
    batches = [random(size, 4, 6, 6) for size in (1, 2, 5, 1)]
    wanted = [run(mod, x) for x in batches]
    for x, want in zip(batches, wanted, strict=True):
        for got, right in zip(run(compiled, x), want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-4, atol=1e-5)
    library = tmp_path / "net.so"
    tvm.compile(compiled, tvm.target.Target("llvm")).export_library(str(library))
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(library)), tvm.cpu())
    for x, want in zip(batches, wanted, strict=True):
        for got, right in zip(machine["main"](tvm.runtime.tensor(x)), want, strict=True):
            np.testing.assert_allclose(got.numpy(), right, rtol=1e-4, atol=1e-5)


def test_operator_that_mixes_samples_stays_with_the_reason() -> None:
    def call(made: Any) -> Any:
        return relax.BlockBuilder().normalize(made)

    n, m = symbol("n"), symbol("m")
    rows, matrix = var("rows", n, 8), relax.const(random(8, 3))
    assert why_not_relax(call(op.matmul(rows, matrix))) is None
    assert why_not_relax(call(op.nn.softmax(rows, axis=1))) is None
    for made, reason in (
        (op.nn.softmax(rows, axis=0), "nn.softmax along axis 0 mixes the samples"),
        (op.permute_dims(rows), "transpose along axis 1 mixes the samples|a leading batch axis"),
        (op.concat([rows, rows], axis=0), "no expression that contains it, found n * "),
        (op.nn.relu(var("x", 4, n)), "known shape, except for a leading batch axis"),
        (op.matmul(var("x", 4, n), var("y", n, 3)), "except for a leading batch axis"),
        (op.matmul(var("x", n, 2, 8), var("y", m, 8, 2)), "one unknown size|of one size"),
        (op.nn.conv2d(var("x", 1, 8, 5, 5), var("w", n, 8, 1, 1)), "a leading batch axis"),
    ):
        assert re.search(reason, why_not_relax(call(made)) or "taken"), made
    assert "known shape" in str(why_not_relax(call(op.reshape(rows, (n, 2, 4)))))
    doubled = op.nn.relu(var("x", n * 2, 4))
    assert "no expression that contains it, found n * " in str(why_not_relax(call(doubled)))

    def build(emit: Any, a: Any, b: Any) -> list[Any]:
        return [emit(op.nn.relu(a)), emit(op.tanh(b))]

    two = module([rows, var("other", m, 8)], build)
    with pytest.raises(BuildError, match=r"DNNL supports one unknown size.* m and n"):
        to_relay(two["main"].with_attr("global_symbol", "region"))


def test_weights_may_be_given_at_run_time() -> None:
    def build(emit: Any, x: Any, weight: Any, bias: Any) -> Any:
        y = emit(op.nn.conv2d(x, weight, padding=1))
        return emit(op.nn.relu(emit(op.add(y, bias))))

    params = [var("x", 1, 4, 6, 6), var("weight", 8, 4, 3, 3), var("bias", 1, 8, 1, 1)]
    check(module(params, build), random(1, 4, 6, 6), random(8, 4, 3, 3), random(1, 8, 1, 1))


def test_products_norms_and_activations_of_a_transformer_are_offloaded() -> None:
    def build(emit: Any, tokens: Any) -> Any:
        x = emit(op.nn.layer_norm(tokens, const(16), const(16, seed=1), axes=[-1]))
        query = emit(op.matmul(x, const(16, 16)))
        key = emit(op.permute_dims(emit(op.matmul(x, const(16, 16, seed=1))), (0, 2, 1)))
        weights = emit(op.nn.softmax(emit(op.matmul(query, key)), axis=-1))
        y = emit(op.add(emit(op.matmul(weights, x)), tokens))
        z = emit(op.nn.silu(emit(op.matmul(y, const(16, 32)))))
        return emit(op.matmul(emit(op.nn.gelu(z)), const(32, 16)))

    check(module([var("tokens", 2, 5, 16)], build), random(2, 5, 16))


def test_nhwc_network_with_pooling_and_concatenation_is_offloaded() -> None:
    def build(emit: Any, x: Any) -> Any:
        y = emit(op.nn.conv2d(x, const(3, 3, 4, 8), data_layout="NHWC", kernel_layout="HWIO"))
        y = emit(op.clip(y, 0.0, 1.0))
        pools = [
            emit(op.nn.avg_pool2d(y, (2, 2), (2, 2), layout="NHWC", count_include_pad=True)),
            emit(op.nn.max_pool2d(y, (2, 2), (2, 2), layout="NHWC")),
        ]
        return emit(op.concat(pools, axis=3))

    check(module([var("x", 1, 8, 8, 4)], build), random(1, 8, 8, 4))


def test_operator_that_dnnl_does_not_support_stays_with_the_reason() -> None:
    def call(made: Any) -> Any:
        return relax.BlockBuilder().normalize(made)

    doubles = var("d", 2, 3, dtype="float64")
    assert "float32" in str(why_not_relax(call(op.nn.relu(doubles))))
    image = var("x", 1, 4, 8, 8)
    ceil = call(op.nn.max_pool2d(image, (3, 3), (2, 2), ceil_mode=True))
    assert "ceil_mode" in str(why_not_relax(ceil))
    pooled = call(op.nn.adaptive_avg_pool2d(image, (2, 2)))
    assert "adaptive pooling to (1, 1)" in str(why_not_relax(pooled))
    norm = op.nn.instance_norm(image, const(4), const(4), 1, [3])
    assert "axes [3] of 4" in str(why_not_relax(call(norm)))
    assert why_not_relax(call(op.mean(image, axis=[-1, -2], keepdims=True))) is None
    assert why_not_relax(call(op.nn.relu(image))) is None

    def build(emit: Any, x: Any) -> Any:
        return emit(op.nn.relu(x))

    assert regions(partition_for_dnnl(module([doubles], build))) == []


def packed(emit: Any, y: Any) -> Any:
    return emit(op.call_dps_packed("mychip.f", (y,), out_ty=y.ty))


def cast(emit: Any, y: Any) -> Any:
    return relax.BlockBuilder.current().match_cast(y, y.ty)


def reshaped(emit: Any, y: Any) -> Any:
    return emit(op.reshape(y, emit(op.shape_of(y))))


@pytest.mark.parametrize("between", [packed, cast, reshaped])
def test_values_for_which_tvm_s_passes_fail_are_left_out_of_regions(between: Any) -> None:
    def body(emit: Any, x: Any) -> Any:
        return emit(op.tanh(between(emit, emit(op.nn.relu(x)))))

    cut = partition_for_dnnl(module([var("x", 2, 4)], body))
    assert len(regions(cut)) == 2


def test_operator_without_counterpart_in_a_region_is_named() -> None:
    mod = module([var("x", 2, 3)], lambda emit, x: emit(op.cumsum(x, axis=1)))
    with pytest.raises(BuildError, match=r"^@main: DNNL has no counterpart of relax\.cumsum"):
        to_relay(mod["main"])


@pytest.mark.slow
def test_exported_library_runs_in_a_new_process(tmp_path) -> None:
    mod = residual_network()
    compiled = relax.transform.RunCodegen()(partition_for_dnnl(mod))
    image = random(1, 3, 32, 32)
    (wanted,) = run(compiled, image)
    tvm.compile(compiled, tvm.target.Target("llvm")).export_library(str(tmp_path / "net.so"))
    np.save(tmp_path / "image.npy", image)
    script = """
import sys, numpy as np, byoc_lab, tvm
from tvm import relax
from byoc_lab.backends.dnnl import native
native.load()
machine = relax.VirtualMachine(tvm.runtime.load_module(sys.argv[1] + "/net.so"), tvm.cpu())
result = machine["main"](tvm.runtime.tensor(np.load(sys.argv[1] + "/image.npy")))
np.save(sys.argv[1] + "/result.npy", result.numpy())
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=900)
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), wanted)


@pytest.mark.slow
def test_run_codegen_finds_dnnl_after_importing_byoc_lab(tmp_path: Path) -> None:
    """In either order of imports: through the entry point in pyproject.toml, which TVM loads, or
    because TVM is imported already."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    installed = tmp_path / "byoc_lab_entry_point-0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: byoc-lab-entry-point\nVersion: 0\n")
    lines = [f"{n} = {where}" for n, where in project["project"]["entry-points"][GROUP].items()]
    (installed / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))
    script = """
import sys
sys.path.insert(0, {path!r})
{imports}
import tvm_ffi
assert tvm_ffi.get_global_func("relax.ext.dnnl", allow_missing=True) is not None
"""
    for imports in ("import byoc_lab, tvm", "import tvm, byoc_lab", "import byoc_lab.relax"):
        for path in (str(tmp_path), "") if imports != "import byoc_lab, tvm" else (str(tmp_path),):
            code = script.format(path=path, imports=imports)
            subprocess.run([sys.executable, "-c", code], check=True, timeout=900)


def test_transposed_convolution_with_many_channels_adds_its_bias_once() -> None:
    """See tests/backends/dnnl/kernels/test_channels.py."""
    data = var("data", 1, 512, 4, 4)
    weight = relax.const(np.zeros((512, 64, 4, 4), np.float32))
    bias = relax.const(np.ones((1, 64, 1, 1), np.float32))

    def body(emit: Any, x: Any) -> Any:
        made = op.nn.conv2d_transpose(x, weight, strides=(2, 2), padding=(1, 1, 1, 1))
        return emit(op.add(emit(made), bias))

    mod = partition_for_dnnl(module([data], body))
    assert len(regions(mod)) == 1
    (result,) = run(relax.transform.RunCodegen()(mod), np.ones((1, 512, 4, 4), np.float32))
    np.testing.assert_array_equal(result, np.ones_like(result))
