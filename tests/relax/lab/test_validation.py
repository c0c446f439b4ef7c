"""`relax.validate`: right regions are valid, wrong ones are named, and uncompared results are
listed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from byoc_lab import relax as byoc_relax
from byoc_lab.backends.dnnl.codegen import compile_region
from byoc_lab.errors import ArgumentError, InputError
from byoc_lab.relax import partition_for_dnnl, validate
from byoc_lab.relay.ir.expr import Constant, Function
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.run.metering.cards import RegionErrors

from ..test_executable import two_regions
from ..test_operators import conv, hard_sigmoid
from ..test_partition import block, const, module, random, residual_network, symbol, var

relax = pytest.importorskip("tvm.relax")
op = relax.op
pytestmark = pytest.mark.native


def test_residual_network_is_valid_and_its_card_has_the_error() -> None:
    mod = residual_network()
    exe = byoc_relax.build(partition_for_dnnl(mod))
    report = validate(mod, exe).check()
    assert len(report.regions) == len(report.outputs) == 1 and len(report.inputs) == 3
    (card,) = exe.cards()
    region = report.regions[0]
    assert card.errors == RegionErrors(region.largest_error, region.error, region.tolerance)


def test_each_operator_of_a_module_with_host_operators_is_compared() -> None:
    mod = two_regions()
    report = validate(mod, partition_for_dnnl(mod), detail="operator").check()
    assert len(report.regions) == 2 and len(report.operators) == 4 and len(report.outputs) == 1


@pytest.mark.parametrize("size", [None, 1, 5])
def test_module_with_a_batch_known_at_run_time_is_valid(size: int | None) -> None:
    n = symbol("n")

    def body(emit: Any, x: Any) -> Any:
        y = emit(op.mean(emit(op.nn.conv2d(x, const(8, 4, 3, 3))), [2, 3]))
        return emit(op.cumsum(emit(op.nn.gelu(y)), axis=1))

    mod = module([var("x", n, 4, 6, 6)], body)
    inputs = None if size is None else [random(size, 4, 6, 6)]
    report = validate(mod, partition_for_dnnl(mod), inputs).check()
    assert len(report.regions) == len(report.outputs) == 1


@contextmanager
def compiled_by(codegen: Any) -> Iterator[None]:
    """Runs RunCodegen, with `codegen(function in Relay, symbol)` for DNNL's functions."""
    import tvm_ffi

    from byoc_lab.relax.to_relay import to_relay

    real = tvm_ffi.get_global_func(byoc_relax.CODEGEN)

    def compile_all(functions: Any, options: Any, names: Any) -> list[Any]:
        return [codegen(*to_relay(f)).module for f in functions]

    tvm_ffi.register_global_func(byoc_relax.CODEGEN, compile_all, override=True)
    try:
        yield
    finally:
        tvm_ffi.register_global_func(byoc_relax.CODEGEN, real, override=True)


def one_weight_wrong(function: Function, symbol: str) -> Any:
    """Changes one weight of the last convolution by 1 %."""
    weights = []

    def change(pre: Any, post: Any) -> Any:
        if not isinstance(pre, Constant) or pre.data.numpy().ndim != 4 or weights:
            return post
        value = pre.data.numpy().copy()
        value.flat[np.argmax(np.abs(value))] *= 1.01
        weights.append(value)
        return Constant(value)

    return compile_region(rebuild(function, change), symbol)


def test_wrong_kernel_is_reported() -> None:
    mod = two_regions()
    with compiled_by(one_weight_wrong):
        exe = byoc_relax.build(partition_for_dnnl(mod))
    report = validate(mod, exe)
    assert [c.ok for c in report.regions] == [False, False] and not report.ok
    errors = exe.cards()[0].errors
    assert "WRONG" in str(report) and errors is not None and errors.nearest > errors.tolerance


def test_pass_that_changed_the_numbers_gives_wrong_outputs() -> None:
    mod = two_regions()
    other = module(
        [var("x", 1, 4, 6, 6)],
        lambda emit, x: emit(op.nn.gelu(emit(op.nn.conv2d(x, const(4, 4, 1, 1))))),
    )
    report = validate(mod, partition_for_dnnl(other))
    assert all(c.ok for c in report.regions) and not any(c.ok for c in report.outputs)


def test_host_operator_without_a_reference_is_reported_as_uncompared() -> None:
    scale, zero = relax.const(0.5, "float32"), relax.const(0, "int8")

    def body(emit: Any, x: Any) -> Any:
        return emit(op.quantize(emit(op.nn.relu(x)), scale, zero))

    mod = module([var("x", 2, 5)], body)
    report = validate(mod, partition_for_dnnl(mod))
    assert report.ok and not report.outputs and len(report.regions) == 1
    assert any("outputs were not compared: @main" in m for m in report.remarks)
    assert "no counterpart of relax.quantize" in str(report)


def test_mobilenet_v3_block_is_valid() -> None:
    def body(emit: Any, x: Any) -> Any:
        deep = conv(emit, x, (16, 16), 3, groups=16)
        deep = emit(op.multiply(deep, hard_sigmoid(emit, deep)))
        squeezed = emit(op.mean(deep, [2, 3], keepdims=True))
        squeezed = emit(op.nn.relu(conv(emit, squeezed, (16, 4), 1)))
        return emit(op.multiply(deep, hard_sigmoid(emit, conv(emit, squeezed, (4, 16), 1))))

    mod = module([var("x", 1, 16, 7, 7)], body)
    validate(mod, partition_for_dnnl(mod), detail="operator").check()


def test_folded_batch_norms_are_valid() -> None:
    mod = module([var("x", 1, 8, 5, 5)], lambda emit, x: block(emit, x, 8, 3))
    assert len(validate(mod, partition_for_dnnl(mod)).check().outputs) == 1


def test_wrong_arguments_raise_errors_that_name_them() -> None:
    mod = two_regions()
    with pytest.raises(ArgumentError, match='detail must be "region" or "operator", found'):
        validate(mod, mod, detail="all")
    with pytest.raises(ArgumentError, match="validate expects an IRModule, found int 3"):
        validate(3, mod)
    with pytest.raises(InputError, match="samples must be at least 1, found 0"):
        validate(mod, mod, samples=0)
    with pytest.raises(InputError, match="expected the inputs x, found y"):
        validate(mod, mod, {"y": 1})


@pytest.mark.parametrize("inputs", [None, [np.ones((3, 5)), np.ones((5, 4))]])
def test_module_with_several_unknown_sizes_is_valid(inputs: Any) -> None:
    n, k = symbol("n"), symbol("k")

    def body(emit: Any, x: Any, w: Any) -> Any:
        return emit(op.nn.relu(emit(op.matmul(x, w))))

    mod = module([var("x", n, k), var("w", k, 4)], body)
    given = None if inputs is None else [array.astype("float32") for array in inputs]
    report = validate(mod, partition_for_dnnl(mod), given).check()
    assert len(report.outputs) == len(report.regions) == 1
