"""Checks inside a region name the kernel in which a fault was planted, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends.dnnl import native
from byoc_lab.lab.checking.bounds.step import flat
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, RegionCall, narrowed, observe
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import Executable, build
from byoc_lab.run.inputs import bind_inputs
from tests.lab.checking.kernel_faults import (
    KERNEL_FAULTS,
    faulty_codegen,
    kernel_places,
)
from tests.lab.checking.networks import NETWORKS

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]

QUICK = [
    ("small", "dropped bias"),
    ("small", "clip 6 to 5.9"),
    ("small", "leaky slope 0.1 to 0.11"),
    ("int8", "requantize rounding mode"),
    ("int8", "convolution zero point +1"),
]
ROUNDING = 1e-5  # of float32 sums, relative to the largest value


@cache
def partitioned(name: str) -> tuple[IRModule, IRModule]:
    mod = NETWORKS[name]()
    return mod, infer_module(byoc_lab.trace(mod, "dnnl").result)


def regions(name: str) -> Iterator[tuple[str, Function]]:
    after = partitioned(name)[1]
    for var in after.get_global_vars():
        if "Compiler" in (after[var].attrs or {}):
            yield var.name_hint, after[var]


def all_places(name: str, fault: str) -> list[tuple[str, Any, set[str]]]:
    return [
        (symbol, key, computed)
        for symbol, function in regions(name)
        for key, computed in kernel_places(function, KERNEL_FAULTS[fault])
    ]


def largest_change(name: str, symbol: str, faulty: Executable) -> float:
    """How much a fault changes the results of a region, relative to their largest values."""
    before, after = partitioned(name)
    right = {r.symbol: r.compiled for r in build(after).linked}[symbol]
    wrong = {r.symbol: r.compiled for r in faulty.linked}[symbol]
    assert right is not None and wrong is not None
    largest = 0.0

    def compared(call: RegionCall) -> None:
        nonlocal largest
        if call.symbol == symbol:
            arguments = flat(narrowed(call.arguments))
            for a, b in zip(right(*arguments), wrong(*arguments), strict=True):
                off = np.abs(a.astype(float) - b.astype(float))
                largest = max(largest, float(np.max(off) / (np.max(np.abs(a)) or 1)))

    for kind in SETS:
        inputs = example_inputs(before["main"], kind, 0)
        values = bind_inputs(after["main"], inputs)
        observe(after["main"], values, after, EXACT_RUN, keep=False, regions=compared)
    return largest


def check(name: str, fault: str, place: float) -> None:
    found = all_places(name, fault)
    symbol, key, computed = found[int(place * len(found))]
    before, after = partitioned(name)
    exe = build(after, backends={"dnnl": faulty_codegen(KERNEL_FAULTS[fault], symbol, key)})
    report = byoc_lab.validate(before, exe, detail="operator")
    wrong = [c.name for c in report.operators if not c.ok]
    if not wrong:
        assert report.ok
        assert (name, fault) not in QUICK, f"{fault} in @{symbol} was not found\n{report}"
        assert largest_change(name, symbol, exe) < ROUNDING, f"{fault} in @{symbol} was missed"
        return
    # One step of the region, and operators inside it; or the first step that makes it wrong.
    steps = [w for w in wrong if not w.endswith(", compiled alone")]
    assert len(steps) == 1 and steps[0].startswith(f"@{symbol} "), wrong
    operators = steps[0].split()[-1 if " up to " in steps[0] else 1].split("+")
    assert computed & set(operators), (computed, wrong)


@pytest.mark.parametrize(("name", "fault"), QUICK)
def test_a_fault_is_pinned_to_its_kernel(name: str, fault: str) -> None:
    check(name, fault, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("fault", KERNEL_FAULTS)
@pytest.mark.parametrize("name", ["small", "int8"])
def test_every_fault(name: str, fault: str) -> None:
    if not all_places(name, fault):
        pytest.skip(f"{name} has no operator for this fault")
    check(name, fault, 0.5)


def test_there_are_enough_kinds_of_faults() -> None:
    somewhere = {f for f in KERNEL_FAULTS for n in ("small", "int8") if all_places(n, f)}
    assert len(somewhere) >= 20


@pytest.mark.parametrize("name", ["small", "int8"])
def test_correct_kernels_are_valid(name: str) -> None:
    before, after = partitioned(name)
    report = byoc_lab.validate(before, build(after), detail="operator")
    assert report.ok, str(report)
    assert len(report.operators) >= len(report.regions)


@pytest.mark.slow
def test_correct_kernels_of_a_large_network_are_valid() -> None:
    before, after = partitioned("mobilenet")
    report = byoc_lab.validate(before, build(after), detail="operator")
    assert report.ok, str(report)


@pytest.mark.parametrize("rounding", ["UPWARD", "TONEAREST"])
@pytest.mark.parametrize("shift", [-7, -1, 0, 3])
def test_requantize_by_a_power_of_two_is_exact(shift: int, rounding: str) -> None:
    """Ties and saturation included, on the host: no step is allowed, and none is needed."""
    values = np.arange(-2000, 2000, dtype="int32")
    x = relay.var("x", shape=values.shape, dtype="int32")
    scale, zero, other = (relay.const(np.float32(2.0**shift)), relay.const(0), relay.const(3))
    one = relay.const(np.float32(1))
    call = relay.qnn.op.requantize(x, scale, zero, one, other, rounding=rounding, out_dtype="int8")
    mod = infer_module(IRModule.from_expr(Function([x], call)))
    report = byoc_lab.validate(mod, build(mod), {"x": values})
    assert report.ok and report.outputs[0].tolerance == 0, str(report)
    halves = values.astype(float) * 2.0**shift
    away = np.sign(halves) * np.floor(np.abs(halves) + 0.5)
    whole = np.floor(halves + 0.5) if rounding == "UPWARD" else away
    (got,) = build(mod).run([values])
    assert np.array_equal(got, np.clip(whole + 3, -128, 127))
