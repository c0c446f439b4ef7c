"""Legalization of quantized products for a target: TVM 0.16's dtypes, unchanged results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from byoc_lab.compat import relay, tvm
from byoc_lab.compat.overlay import module
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.reference import evaluate

X86 = "llvm -mtriple=x86_64-linux-gnu"
ARM = "llvm -device=arm_cpu -mtriple=aarch64-linux-gnu"
EIGHT_BITS = ("int8", "uint8")
PAIRS = list(itertools.product(EIGHT_BITS, EIGHT_BITS))
INT16 = ("int16", "int16")

# target -> the dtypes of data and weight after legalization, for given dtypes
CHOICES = {
    X86: lambda data, weight: INT16,
    f"{X86} -mcpu=skylake-avx512": lambda data, weight: ("uint8", "int8"),
    f"{X86} -mcpu=cascadelake": lambda data, weight: ("uint8", "int8"),
    f"{ARM} -mattr=+v8.2a,+dotprod": lambda data, weight: (weight, weight),
    f"{ARM} -mattr=+neon": lambda data, weight: INT16,
}
SCALES = (1.0, 0.5)


def _conv(data: str, weight: str, layout: str = "NCHW", groups: int = 1, zeros=(3, 1)):
    in_front = layout == "NCHW"
    shape, kernel = ((1, 4, 5, 5), (4, 4 // groups, 3, 3)) if in_front else ((1, 5, 5, 4), None)
    x = relay.var("x", shape=shape, dtype=data)
    w = relay.var("w", shape=kernel or (3, 3, 4 // groups, 4), dtype=weight)
    offsets = [relay.const(np.array(z, "int32")) for z in zeros]
    body = relay.qnn.op.conv2d(
        x, w, *offsets, *map(relay.const, SCALES), kernel_size=(3, 3), channels=4, groups=groups,
        data_layout=layout, kernel_layout="OIHW" if in_front else "HWIO", padding=(1, 1),
    )  # fmt: skip
    return relay.Function([x, w], body)


def _dense(data: str, weight: str):
    x = relay.var("x", shape=(3, 5), dtype=data)
    w = relay.var("w", shape=(4, 5), dtype=weight)
    zeros = (relay.const(3), relay.const(1))
    body = relay.qnn.op.dense(x, w, *zeros, *map(relay.const, SCALES), units=4)
    return relay.Function([x, w], body)


def _legalized(function, target: str):
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(function))
    with tvm.target.Target(target):
        return mod, relay.qnn.transform.Legalize()(mod)


def _product(mod) -> Call:
    names = ("qnn.conv2d", "nn.conv2d", "qnn.dense", "nn.dense")
    (call,) = (n for n in post_order(mod["main"]) if isinstance(n, Call) and n.op_name in names)
    return call


def _agree(mod, made) -> None:
    rng = np.random.default_rng(0)
    given = [
        rng.integers(np.iinfo(p.checked_type.dtype).min, np.iinfo(p.checked_type.dtype).max + 1,
                     p.checked_type.shape, p.checked_type.dtype)
        for p in mod["main"].params
    ]  # fmt: skip
    np.testing.assert_array_equal(evaluate(made, given).value, evaluate(mod, given).value)


@pytest.mark.parametrize("target", CHOICES)
@pytest.mark.parametrize(("data", "weight"), PAIRS)
@pytest.mark.parametrize("build", [_conv, _dense])
def test_target_determines_the_dtypes_of_operands(
    build, data: str, weight: str, target: str
) -> None:
    mod, made = _legalized(build(data, weight), target)
    call = _product(made)
    found = tuple(arg.checked_type.dtype for arg in call.args[:2])
    assert found == CHOICES[target](data, weight)
    assert call.op_name.startswith("qnn.") is (found != INT16)
    if found == (data, weight):
        tvm.ir.assert_structural_equal(made, mod)
    _agree(mod, made)


@pytest.mark.parametrize(
    ("layout", "groups", "found"),
    [("NHWC", 1, ("int8", "int8")), ("NHWC", 4, INT16), ("NCHW", 1, INT16)],
)
def test_arm_without_dot_products_takes_8_bits_in_nhwc_only(layout, groups, found) -> None:
    mod, made = _legalized(_conv("uint8", "int8", layout, groups), f"{ARM} -mattr=+neon")
    assert tuple(arg.checked_type.dtype for arg in _product(made).args[:2]) == found
    _agree(mod, made)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("target", CHOICES)
def test_legalization_supports_a_zero_point_per_channel(layout: str, target: str) -> None:
    mod, made = _legalized(_conv("uint8", "uint8", layout, zeros=(3, [1, 2, 3, 4])), target)
    _agree(mod, made)


def test_legalize_without_a_target_changes_nothing() -> None:
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(_conv("int8", "int8")))
    assert tvm.ir.structural_equal(relay.qnn.transform.Legalize()(mod), mod)


def test_helpers_for_registered_legalizations_exist() -> None:
    from_tvm = module("tvm.relay.qnn.op.legalizations")
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(_conv("uint8", "uint8")))
    call = mod["main"].body
    types = [arg.checked_type for arg in call.args]
    with tvm.target.Target("cuda -arch=sm_70"):
        made = from_tvm.helper_change_dtypes_to_int8(
            call.attrs, call.args, types, relay.qnn.op.conv2d
        )
    typed = relay.transform.InferType()(
        tvm.IRModule.from_expr(relay.Function(mod["main"].params, made))
    )
    found = [arg.checked_type.dtype for arg in _product(typed).args[:2]]
    assert found == ["int8", "int8"]
    _agree(mod, typed)
