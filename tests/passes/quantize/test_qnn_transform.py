"""Lowering of quantized operators: results stay, and no quantized operator remains.

Golden files compare the modules with TVM (Legalize/lowering_*, Legalize/quantizing_*).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes import Pass
from byoc_lab.relay import IRModule, assert_structural_equal
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.parity import cases
from tests.parity.cases import lowering
from tests.relay.op.samples import SAMPLES
from tests.relay.op.samples.qnn import QNN_SAMPLES
from tests.relay.op.samples.sample import Sample

PLAIN, TABLES = relay.qnn.transform.CanonicalizeOps(), relay.qnn.transform.Legalize()
# Neither pass supports them, in TVM and here.
KEPT = ("qnn.contrib_dense_pack", "qnn.simulated_quantize", "qnn.simulated_dequantize")
QUANTIZED = [s for s in SAMPLES if s.op.startswith("qnn.")]


def quantized_ops(mod: IRModule) -> set[str]:
    return {name for name in counts(mod) if name.startswith("qnn.")}


def counts(mod: IRModule) -> Counter[str]:
    """The number of calls of each operator, over all functions."""
    each = (list_op_freqs(IRModule.from_expr(f)) for f in mod.functions.values())
    return sum(map(Counter, each), Counter())


def value(mod: IRModule, inputs: dict[str, np.ndarray]) -> np.ndarray:
    return evaluate(mod, inputs).value


def module(sample: Sample) -> tuple[IRModule, dict[str, np.ndarray]]:
    mod = infer_module(IRModule.from_expr(sample.function()))
    names = [p.name_hint for p in mod["main"].params]
    return mod, dict(zip(names, sample.data(), strict=True))


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")  # 1 / sqrt(0) saturates
@pytest.mark.parametrize("sample", QUANTIZED, ids=lambda s: s.label)
def test_lowered_operator_gives_the_same_result(sample: Sample) -> None:
    mod, inputs = module(sample)
    wanted = value(mod, inputs)
    lowered = PLAIN(TABLES(mod) if sample.op == "qnn.conv2d_transpose" else mod)
    assert bool(quantized_ops(lowered)) == (sample.op in KEPT)
    found = value(lowered, inputs)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["int16", "int64"])
@pytest.mark.parametrize("zeros", [(3, 1), (0, 1), (3, 0)])
def test_products_of_integers_other_than_int32_are_lowered(
    zeros: tuple[int, int], dtype: str
) -> None:
    rng = np.random.default_rng(0)
    image, weight = rng.integers(0, 9, (1, 4, 5, 5)), rng.integers(-4, 5, (4, 4, 3, 3))
    numbers = [*map(relay.const, zeros), relay.const(1.0), relay.const(1.0)]
    x, y = (relay.var(n, shape=s, dtype="uint8") for n, s in (("x", image.shape), ("y", (2, 4))))
    kernel, matrix = (relay.const(w.astype("int8")) for w in (weight, weight[:, :, 0, 0]))
    made = [
        qnn.conv2d(x, kernel, *numbers, kernel_size=(3, 3), channels=4, out_dtype=dtype),
        qnn.dense(y, matrix, *numbers, units=4, out_dtype=dtype),
    ]
    mod = infer_module(IRModule.from_expr(relay.Function([x, y], relay.Tuple(made))))
    inputs = [image.astype("uint8"), image[0, :2, :4, 0].astype("uint8")]
    pixels = np.lib.stride_tricks.sliding_window_view(image - zeros[0], (3, 3), (2, 3))
    wanted = [
        np.einsum("nchwij,ocij->nohw", pixels, weight - zeros[1]),
        (inputs[1].astype(int) - zeros[0]) @ (weight[:, :, 0, 0] - zeros[1]).T,
    ]
    for each in (mod, PLAIN(mod)):
        for found, exact in zip(evaluate(each, inputs).outputs, wanted, strict=True):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, exact)


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
def test_functions_as_tables_give_the_same_result() -> None:
    done = 0
    for sample in QNN_SAMPLES:
        mod, inputs = module(sample)
        legal = TABLES(mod)
        if legal is not mod:
            np.testing.assert_array_equal(value(legal, inputs), value(mod, inputs), sample.label)
            assert not quantized_ops(legal)
            done += 1
    assert done == 18  # nine functions, all except one for two dtypes, and conv2d_transpose


def _inputs(mod: IRModule) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    types = {p.name_hint: p.checked_type for p in mod["main"].params}
    return {n: random.uniform(-9, 9, t.concrete_shape).astype(t.dtype) for n, t in types.items()}


QUICK = ("convert", "matrices", "network")


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in lowering.NAMES]
)
def test_every_table_function_gives_the_same_result_after_lowering(name: str) -> None:
    whole = infer_module(cases.load(f"lowering.{name}", tvm, relay, np))
    for gv, function in whole.functions.items():
        mod = infer_module(IRModule.from_expr(function))
        lowered, inputs = PLAIN(mod), _inputs(mod)
        assert not quantized_ops(lowered)
        found, wanted = value(lowered, inputs), value(mod, inputs)
        np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=gv.name_hint)


@pytest.mark.parametrize("compute", ["float32", "float64"])
def test_rounding_in_floats_equals_rounding_in_integers(compute: str) -> None:
    """The ratio of the scales is a power of two, so no precision is lost."""
    x = relay.var("x", shape=(41,), dtype="int32")
    scale, zero = relay.const(0.5), relay.const(0)
    inputs = {"x": np.arange(-20, 21, dtype="int32")}
    for rounding in ("UPWARD", "TONEAREST"):
        call = qnn.requantize(x, scale, zero, relay.const(1.0), zero, rounding=rounding)
        mod = infer_module(IRModule.from_expr(call))
        with qnn.requantize_config(compute_dtype=compute):
            lowered = PLAIN(mod)
        assert "fixed_point_multiply" not in list_op_freqs(lowered)
        np.testing.assert_array_equal(value(lowered, inputs), value(mod, inputs))


def test_requantize_config_applies_inside_its_with_block() -> None:
    x = relay.var("x", shape=(4,), dtype="int32")
    call = qnn.requantize(x, relay.const(0.5), relay.const(0), relay.const(1.0), relay.const(0))
    mod = infer_module(IRModule.from_expr(call))
    outside = PLAIN(mod)
    with qnn.requantize_config(rounding="TONEAREST"):
        assert qnn.current_requantize_config().rounding == "TONEAREST"
        assert "where" in list_op_freqs(PLAIN(mod))
    assert_structural_equal(PLAIN(mod), outside)
    assert qnn.current_requantize_config().rounding == "UPWARD"


def test_unknown_rounding_or_dtype_is_refused() -> None:
    with pytest.raises(ValueError, match="rounding must be one of UPWARD, TONEAREST, found 'up'"):
        qnn.requantize_config(rounding="up")
    x = relay.var("x", shape=(4,), dtype="int32")
    call = qnn.requantize(
        x, relay.const(0.5), relay.const(0), relay.const(1.0), relay.const(0), compute_dtype="int8"
    )
    with pytest.raises(PassError, match="one of int64, float32, float64, found 'int8'"):
        PLAIN(infer_module(IRModule.from_expr(call)))


def test_scale_given_as_an_argument_is_refused() -> None:
    x, s = relay.var("x", shape=(4,), dtype="int32"), relay.var("s", shape=(), dtype="float32")
    call = qnn.requantize(x, s, relay.const(0), relay.const(1.0), relay.const(0))
    with pytest.raises(PassError, match=r"input_scale must be a constant, .*FoldConstant"):
        PLAIN(infer_module(IRModule.from_expr(call)))


def test_convolution_without_a_kernel_size_is_refused_as_by_tvm() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8), dtype="int8")
    weight, zero, one = relay.const(np.ones((4, 4, 3, 1), "int8")), relay.const(0), relay.const(1.0)
    mod = infer_module(
        IRModule.from_expr(qnn.conv2d(x, weight, zero, zero, one, one, None, channels=4))
    )
    with pytest.raises(PassError, match=r"requires kernel size .* kernel_size=\(3, 1\)"):
        PLAIN(mod)


@pytest.mark.parametrize("run", [PLAIN, TABLES], ids=["CanonicalizeOps", "Legalize"])
def test_lowering_can_be_replayed(run: Pass) -> None:
    mod = infer_module(cases.load("lowering.network", tvm, relay, np))
    functions = infer_module(cases.load("quantizing/functions", tvm, relay, np))
    for each in (mod, functions):
        trace = tvm.trace(each, [run])
        assert trace.error is None
        (stage,) = trace
        again = infer_module(stage.state_after(len(stage.events)))
        assert_structural_equal(again, stage.after)
        lowered = quantized_ops(each) - quantized_ops(stage.after)
        assert len(stage.events) == sum(counts(each)[name] for name in lowered)
