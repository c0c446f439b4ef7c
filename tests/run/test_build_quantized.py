"""Building lowers quantized operators, as TVM's build does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat.runtime import building
from byoc_lab.errors import PassError
from byoc_lab.relay import Function, IRModule
from byoc_lab.relay.analysis.queries import free_vars, list_op_freqs
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.run import build, evaluate

ZERO = relay.const(0)
HALVES = np.arange(-4, 5, dtype="int32")
UPWARD = [-2, -1, -1, 0, 0, 1, 1, 2, 2]  # -1.5 -> -1
TONEAREST = [-2, -2, -1, -1, 0, 1, 1, 2, 2]  # -1.5 -> -2


def module(body: Expr) -> IRModule:
    return IRModule.from_expr(Function(free_vars(body), body))


def halved() -> Call:
    x = relay.var("x", shape=(9,), dtype="int32")
    return qnn.requantize(x, relay.const(0.5), ZERO, relay.const(1.0), ZERO, out_dtype="int8")


def test_quantize_with_a_computed_scale_is_built() -> None:
    x = relay.var("x", shape=(4,))
    scale = relay.max(relay.abs(x)) / relay.const(127.0)
    mod = module(qnn.quantize(x, scale, ZERO, out_dtype="int8"))
    data = np.array([1, -2, 3, 0.5], "float32")
    (got,) = build(mod)(data)
    assert got.tolist() == [42, -85, 127, 21]
    np.testing.assert_array_equal(got, evaluate(mod, [data]).value)


def test_requantize_config_applies_at_build_time() -> None:
    mod = module(halved())
    assert build(mod)(HALVES)[0].tolist() == UPWARD
    with qnn.requantize_config(rounding="TONEAREST"):
        executable = build(mod)
    assert executable(HALVES)[0].tolist() == TONEAREST
    assert list_op_freqs(mod) == {"qnn.requantize": 1}  # the input stays


def test_saved_library_keeps_its_rounding(tmp_path: Path) -> None:
    with qnn.requantize_config(rounding="TONEAREST"):
        library = building.build(module(halved()), "llvm")
    loaded = building.load_library(library.export_library(tmp_path / "lib.json"))
    assert loaded.executable(HALVES)[0].tolist() == TONEAREST


def test_scale_given_as_a_parameter_becomes_a_constant() -> None:
    x, s = relay.var("x", shape=(9,), dtype="int32"), relay.var("s", shape=(), dtype="float32")
    mod = module(qnn.requantize(x, s, ZERO, relay.const(1.0), ZERO, out_dtype="int8"))
    params = {"s": np.float32(0.5)}
    assert building.build(mod, "llvm", params=params).executable(HALVES)[0].tolist() == UPWARD
    with pytest.raises(PassError, match="input_scale must be a constant"):
        build(mod)


def test_quantized_operators_inside_regions_are_not_lowered() -> None:
    """Another compiler gets the original operators; the host part of the same module is lowered."""
    body = halved()
    inner = module(body)["main"].with_attr("Compiler", "mine").with_attr("global_symbol", "r")
    x = relay.var("y", shape=(9,), dtype="int32")
    region = relay.GlobalVar("r")
    mod = IRModule({region: inner})
    result = qnn.requantize(
        relay.cast(Call(region, [x]), "int32"),
        relay.const(0.5), ZERO, relay.const(1.0), ZERO, out_dtype="int8",
    )  # fmt: skip
    mod["main"] = Function([x], result)
    executable = build(mod, offload=False)
    assert executable.mod["r"].body.is_op("qnn.requantize")
    assert "qnn.requantize" not in list_op_freqs(executable.mod)
    np.testing.assert_array_equal(executable(HALVES)[0], evaluate(mod, [HALVES]).value)


def test_convolution_with_a_zero_point_of_its_weight_is_built() -> None:
    """Its lowering contains an integer average pooling."""
    rng = np.random.default_rng(0)
    x, w = relay.var("x", shape=(2, 4, 5, 5), dtype="uint8"), rng.integers(0, 255, (3, 4, 2, 2))
    call = qnn.conv2d(
        x,
        relay.const(w.astype("uint8")),
        *(relay.const(5), relay.const(3), relay.const(1.0), relay.const(1.0)),
        kernel_size=(2, 2),
        channels=3,
        padding=(1, 1),
    )
    data = rng.integers(0, 255, (2, 4, 5, 5)).astype("uint8")
    (got,) = build(module(call))(data)
    wanted = evaluate(module(call), [data]).value
    assert got.dtype == wanted.dtype == "int32"
    np.testing.assert_array_equal(got, wanted)
