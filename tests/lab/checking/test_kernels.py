"""Checks inside a region name the kernel in which a fault was planted, and no other kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from math import ceil, log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import PythonRegion
from byoc_lab.lab.checking.bounds.step import flat
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, RegionCall, narrowed, observe
from byoc_lab.lab.checking.example_inputs import SETS, example_inputs
from byoc_lab.lab.checking.kernels import region_values
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import worst_of
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import build, evaluate
from byoc_lab.run.build import linked_regions
from byoc_lab.run.inputs import bind_inputs
from byoc_lab.run.reference import Reference
from tests.lab.checking.faults import planted
from tests.lab.checking.kernel_faults import (
    KERNEL_FAULTS,
    faulty_codegen,
    kernel_places,
    wrong_tanh,
)
from tests.lab.checking.networks import NETWORKS

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("processes_without_torch")]

QUICK = [
    ("small", "dropped bias"),
    ("small", "leaky slope 0.1 to 0.11"),
    ("int8", "requantize rounding mode"),
    ("int8", "convolution zero point +1"),
]
ROUNDING = 1e-5  # for float32 sums, relative to the largest value


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


def region_checks(name: str, codegen: Any = None) -> RegionChecks:
    """The checks of every region, kernel by kernel, on all sets of inputs."""
    before, after = partitioned(name)
    linked = linked_regions(after, {"dnnl": codegen} if codegen else None)
    checks = RegionChecks(after, linked.values(), True)
    for kind in SETS:
        checks.check(example_inputs(before["main"], kind, 0))
    return checks


def largest_change(name: str, symbol: str, codegen: Any) -> float:
    """The largest change of a region's results by a fault, relative to their largest values."""
    before, after = partitioned(name)
    right, wrong = (
        {r.symbol: r.compiled for r in linked_regions(after, given).values()}[symbol]
        for given in (None, {"dnnl": codegen})
    )
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
    codegen = faulty_codegen(KERNEL_FAULTS[fault], symbol, key)
    checks = region_checks(name, codegen)
    wrong = [c.name for c in worst_of([k.own for k in checks.kernels]) if not c.ok]
    if not wrong:
        assert all(c.ok for c in checks.comparisons)
        assert (name, fault) not in QUICK, f"{fault} in @{symbol} was not found"
        change = largest_change(name, symbol, codegen)
        assert change < ROUNDING, f"{fault} in @{symbol} was missed"
        return
    # Exactly one step of the region is wrong; other findings are operators inside that step, which
    # was compiled alone.
    steps = [w for w in wrong if not w.endswith(", compiled alone")]
    assert len(steps) == 1 and steps[0].startswith(f"@{symbol} "), wrong
    operators = steps[0].split()[-1 if " up to " in steps[0] else 1].split("+")
    assert computed & set(operators), (computed, wrong)


@pytest.mark.parametrize(("name", "fault"), QUICK)
def test_check_names_the_faulty_kernel(name: str, fault: str) -> None:
    check(name, fault, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("fault", KERNEL_FAULTS)
@pytest.mark.parametrize("name", ["small", "int8"])
def test_every_faulty_kernel_is_found(name: str, fault: str) -> None:
    if not all_places(name, fault):
        pytest.skip(f"{name} has no operator for this fault")
    check(name, fault, 0.5)


LARGE = ("mobilenet", "resnet-18")
PLACES = (0.1, 0.6, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(KERNEL_FAULTS)), ids=list(KERNEL_FAULTS))
def test_faults_are_found_in_large_networks(number: int) -> None:
    """Each fault is planted in one network, MobileNet or ResNet-18, near its input, middle or
    output."""
    fault = list(KERNEL_FAULTS)[number]
    for name in (LARGE[number % 2], LARGE[1 - number % 2]):
        if all_places(name, fault):
            return check(name, fault, PLACES[number % 3])
    pytest.skip("no large network has an operator for this fault")


def test_bisect_names_the_kernel_and_writes_a_repro(tmp_path: Path) -> None:
    fault = "clip 6 to 5.9"
    symbol, key, computed = all_places("small", fault)[0]
    codegen = faulty_codegen(KERNEL_FAULTS[fault], symbol, key)
    network = partitioned("small")[0]
    found = byoc_lab.bisect(network, "dnnl", backends={"dnnl": codegen}, folder=tmp_path / "r")
    assert found.stage == "code generation of dnnl" and found.region == symbol
    assert found.call is not None and found.call.op.name in computed  # type: ignore[union-attr]
    assert found.kernel is not None and not found.kernel.own.ok
    steps = len(region_values(dict(regions("small"))[symbol]))
    assert 0 < found.kernel_runs <= ceil(log2(steps)) + 3
    text = str(found)
    assert f"region: @{symbol}" in text and "operator: clip" in text and "repro.py" in text
    assert json.loads(found.to_json())["kernel"]["ok"] is False
    # DNNL's code generation has no fault, so the repro with it succeeds.
    script = [sys.executable, str(tmp_path / "r" / "repro.py")]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ended.returncode == 0 and "right within the tolerance" in ended.stdout, ended.stderr


@pytest.mark.slow
def test_repro_of_a_kernel_fails_in_a_new_process(tmp_path: Path) -> None:
    """The code generator is a function of an importable module."""
    x = relay.var("x", shape=(4,))
    mod = infer_module(IRModule.from_expr(Function([x], relay.exp(relay.tanh(x)))))
    found = byoc_lab.bisect(mod, backends={"dnnl": wrong_tanh}, folder=tmp_path)
    assert found.call is not None and found.call.is_op("tanh")
    ended = subprocess.run(
        [sys.executable, str(tmp_path / "repro.py")],
        cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1 and "4 of 4 elements are wrong" in ended.stderr, ended.stderr


def python_codegen(function: Function, symbol: str) -> PythonRegion:
    """A back end in Python: the reference in float32, with each tanh replaced by a sigmoid."""

    def fn(*arrays: np.ndarray) -> Any:
        return evaluate(planted(wrong, 0)(IRModule.from_expr(bare)), arrays).value

    def wrong(call: Call) -> relay.Expr | None:
        return relay.sigmoid(call.args[0]) if call.is_op("tanh") else None

    bare = Function(function.params, function.body)
    return PythonRegion(fn)


def test_faulty_operator_of_a_python_back_end_is_named() -> None:
    x = relay.var("x", shape=(4,))
    mod = infer_module(IRModule.from_expr(Function([x], relay.exp(relay.tanh(relay.nn.relu(x))))))
    found = byoc_lab.bisect(mod, backends={"dnnl": python_codegen})
    assert found.call is not None and found.call.is_op("tanh"), str(found)
    assert found.stage == "code generation of dnnl"


def test_errors_inherited_from_an_earlier_step_are_listed_separately() -> None:
    """A step after a wrong one inherits its error, but is right for its own inputs."""
    x = relay.var("x", shape=(4,))
    mod = infer_module(IRModule.from_expr(Function([x], relay.exp(relay.tanh(x)))))
    after = byoc_lab.trace(mod, "dnnl").result
    values = [np.float32([0.1, -0.5, 1, 2])]
    right = byoc_lab.validate(mod, build(after), values, detail="operator")
    assert all(c.inherited < 1e-6 for c in right.operators)
    exe = build(after, backends={"dnnl": wrong_tanh})
    first, second = byoc_lab.validate(mod, exe, values, detail="operator").operators
    assert not first.ok and first.inherited == 0 and first.error > 0.1
    assert second.ok and second.inherited > 0.1 and second.error < 1e-6
    assert f"inherited {second.inherited:.2g}" in str(second)


def test_bisect_of_clean_kernels_finds_nothing() -> None:
    found = byoc_lab.bisect(partitioned("int8")[0], "dnnl")
    assert not found.found and "the code of " in str(found)
    alone = byoc_lab.bisect(partitioned("int8")[0], "dnnl", kernels=False)
    assert not alone.found and str(alone).startswith("no pass changed the numbers; the code of ")


def test_number_of_reference_runs_is_independent_of_the_number_of_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One run checks every step of a region, each on the computed values of the earlier steps."""
    run = Reference.run
    runs = 0

    def counted(self: Reference, *args: Any) -> Any:
        nonlocal runs
        runs += 1
        return run(self, *args)

    monkeypatch.setattr(Reference, "run", counted)
    found = []
    for steps in (2, 20):
        value: Expr = relay.var("x", shape=(2, 4))
        for _ in range(steps):
            value = relay.tanh(value)
        mod = infer_module(IRModule.from_expr(value))
        built = build(byoc_lab.trace(mod, "dnnl").final)
        runs = 0
        report = byoc_lab.validate(mod, built, [np.ones((2, 4), np.float32)], detail="operator")
        assert len(report.operators) == steps
        found.append(runs)
    assert found[0] == found[1]


def test_at_least_twenty_kinds_of_kernel_faults_can_be_planted() -> None:
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
    """On the host, including ties and saturation: the tolerance is zero."""
    values = np.arange(-2000, 2000, dtype="int32")
    x = relay.var("x", shape=values.shape, dtype="int32")
    scale, zero, other = (relay.const(np.float32(2.0**shift)), relay.const(0), relay.const(3))
    one = relay.const(np.float32(1))
    call = relay.qnn.op.requantize(x, scale, zero, one, other, rounding=rounding, out_dtype="int8")
    mod = infer_module(IRModule.from_expr(Function([x], call)))
    exe = build(mod)
    report = byoc_lab.validate(mod, exe, {"x": values})
    assert report.ok and report.outputs[0].tolerance == 0, str(report)
    halves = values.astype(float) * 2.0**shift
    away = np.sign(halves) * np.floor(np.abs(halves) + 0.5)
    whole = np.floor(halves + 0.5) if rounding == "UPWARD" else away
    (got,) = exe.run([values])
    assert np.array_equal(got, np.clip(whole + 3, -128, 127))
