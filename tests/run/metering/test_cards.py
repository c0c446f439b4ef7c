"""Cards of regions: their content, who counted calls, and the requirements of
`assert_offloaded`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import PythonRegion
from byoc_lab.backends.python_region import BoundPythonRegion
from byoc_lab.errors import ArgumentError, OffloadError
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay import nn, qnn
from byoc_lab.relay.analysis.costs import Cost
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import OpCard, Peak, build, load_library, machine_peak
from byoc_lab.run.backends import get_backend
from byoc_lab.run.metering import meter
from byoc_lab.run.metering.cards import HEAD, Cards, RegionCard, RegionErrors, RegionInfo
from tests.plain_cells import plain

X = np.full((64, 64), 0.5, np.float32)
DENSE_FLOPS = 2 * 64**3


def dense(compiler: str = "mine") -> IRModule:
    """relu(x), then a product in a region of `compiler`, then an addition."""
    x = relay.var("x", shape=(64, 64))
    begin = compiler_begin(nn.relu(x), compiler)
    product = nn.dense(begin, compiler_begin(relay.const(X), compiler))
    mod = IRModule.from_expr(compiler_end(product, compiler) + relay.const(np.float32(1)))
    return PartitionGraph()(infer_module(mod))


def in_numpy(function: Function, symbol: str) -> Any:
    return PythonRegion(lambda x: x @ X.T).bind(function, symbol)


class Liar(BoundPythonRegion):
    """A region computed by NumPy that reports any given statistics."""

    def __init__(self, function: Function, symbol: str, said: dict[str, Any]):
        super().__init__(function, symbol, PythonRegion(lambda x: x @ X.T))
        self.said = said

    def stats(self) -> dict[str, Any]:
        return self.said


def liar(said: dict[str, Any]) -> Any:
    return build(dense(), backends={"mine": lambda f, symbol: Liar(f, symbol, said)})


def test_card_shows_the_largest_error_and_the_one_nearest_to_its_tolerance() -> None:
    facts = RegionInfo("region", "dnnl", None, 3)
    card = RegionCard(facts, 1, native=True, errors=RegionErrors(4.6e-06, 2.1e-07, 3.0e-07))
    assert str(card).endswith(
        "3 operators, largest error 4.6e-06, nearest to its tolerance 2.1e-07 of 3.0e-07"
    )
    unknown = RegionCard(facts, 1)
    assert "error" not in str(unknown)
    assert len(card.cells()) == len(unknown.cells()) == len(HEAD)
    assert "<td>4.6e-06</td><td>2.1e-07 of 3.0e-07</td>" in plain(
        Cards([card, unknown])._repr_html_()
    )


@pytest.mark.native
def test_card_has_flops_rate_share_of_peak_and_bytes() -> None:
    exe = build(dense("dnnl"))
    exe(X)
    with exe.profiling():
        exe(X)
    (card,) = exe.cards()
    assert (card.facts.flops, card.facts.bytes, card.native) == (DENSE_FLOPS, 2 * 64 * 64 * 4, True)
    assert card.calls == 2 and card.time_us is not None and card.gflops is not None
    np.testing.assert_allclose(card.gflops, DENSE_FLOPS / card.time_us / 1e3)
    assert card.share_of_peak == card.gflops * 1e9 / machine_peak().flops_per_second
    assert f"{DENSE_FLOPS:,} FLOP" in str(card) and "GFLOP/s" in str(card)
    assert exe.cards().host == Cost(flops=2 * 64 * 64, calls=2)


def test_peak_is_measured_once() -> None:
    assert machine_peak() is machine_peak()
    assert machine_peak().flops_per_second > 1e9


@pytest.mark.native
def test_region_is_compared_with_the_peak_of_its_dtype() -> None:
    x = relay.var("x", shape=(64, 64), dtype="uint8")
    begin = compiler_begin(x, "dnnl")
    weight = compiler_begin(relay.const(np.ones((64, 64), np.int8)), "dnnl")
    values = [np.int32(0), np.int32(0), np.float32(1), np.float32(1)]
    numbers = [compiler_begin(relay.const(value), "dnnl") for value in values]
    product = qnn.op.dense(begin, weight, *numbers, units=64)
    mod = PartitionGraph()(infer_module(IRModule.from_expr(compiler_end(product, "dnnl"))))
    exe = build(mod)
    with exe.profiling():
        exe(np.ones((64, 64), np.uint8))
    (card,) = exe.cards()
    assert card.facts.dtype == "uint8" and card.gflops is not None
    peak = machine_peak("uint8")
    assert card.share_of_peak == card.gflops * 1e9 / peak.flops_per_second
    assert peak is machine_peak("int8") and peak.numbers in ("int8", "float32")
    assert machine_peak("int64") is machine_peak()


def test_virtual_machine_counts_the_calls_of_other_back_ends() -> None:
    exe = build(dense(), backends={"mine": in_numpy})
    for _ in range(3):
        exe(X)
    with exe.profiling():
        exe(X)
    (card,) = exe.cards()
    assert (card.calls, card.native) == (4, False)
    assert card.call_us is not None and card.call_us > 0
    exe.assert_offloaded()


@pytest.mark.parametrize(("taken", "calls"), [(True, 3), (False, 0)])
def test_only_calls_in_the_taken_branch_are_counted(taken: bool, calls: int) -> None:
    mod = dense()
    x, choice = relay.var("x", shape=(64, 64)), relay.var("choice", shape=(), dtype="bool")
    (gv,) = (g for g in mod.get_global_vars() if g.name_hint != "main")
    mod["main"] = Function([choice, x], relay.If(choice, relay.Call(gv, [x]), nn.relu(x)))
    exe = build(infer_module(mod), backends={"mine": in_numpy})
    for _ in range(3):
        exe(np.bool_(taken), X)
    (card,) = exe.cards()
    assert card.calls == calls
    if not taken:
        with pytest.raises(OffloadError, match="has not run yet"):
            exe.assert_offloaded()


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"calls": 100}, "reports 0 calls, but 1 were counted"),
        (
            {"ops": [{"name": "all", "impl": "warp", "time_us": 9e9}]},
            "mine reports that its kernels took 9,000,000,000 us, but the whole call took",
        ),
    ],
)
def test_invented_statistics_are_reported_as_contradictions(
    said: dict[str, Any], message: str
) -> None:
    exe = liar(said)
    with exe.profiling():
        exe(X)
    (card,) = exe.cards()
    assert any(message in text for text in card.contradictions), card.contradictions
    assert message in exe.cards()._repr_html_()
    with pytest.raises(OffloadError, match=r"reports 0 calls|kernels took"):
        exe.assert_offloaded()


@pytest.mark.native
def test_native_calls_before_the_program_ran_are_not_counted() -> None:
    """A back end may run its region during compilation, which is not a run of the program."""

    def eager(function: Function, symbol: str) -> Any:
        region = get_backend("dnnl")(function, symbol)
        for _ in range(5):
            region(X)
        return region

    exe = build(dense("dnnl"), backends={"dnnl": eager})
    assert [card.calls for card in exe.cards()] == [0]
    with pytest.raises(OffloadError, match="has not run yet"):
        exe.assert_offloaded()
    exe(X)
    assert [card.calls for card in exe.cards()] == [1]


def test_too_few_native_calls_are_reported_without_profiling() -> None:
    exe = liar({"calls": 1})
    exe(X)
    exe.assert_offloaded()
    exe(X)
    with pytest.raises(OffloadError, match="reports 1 calls, but 2 were counted"):
        exe.assert_offloaded()


@pytest.mark.parametrize(("rate", "caught"), [(1e5, True), (1e15, False)])
def test_impossible_speed_is_reported_as_a_contradiction(
    rate: float, caught: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A region returns zeros at once; its speed is compared with the given peak."""
    monkeypatch.setattr(meter, "machine_peak", lambda: Peak(rate, "a test"))
    zeros = PythonRegion(np.zeros_like)
    exe = build(dense(), backends={"mine": lambda f, symbol: zeros.bind(f, symbol)})
    with exe.profiling():
        exe(X)
    (card,) = exe.cards()
    assert any("cannot have computed" in text for text in card.contradictions) == caught


def test_statistics_that_raise_are_reported_as_a_contradiction() -> None:
    class Silent(Liar):
        def stats(self) -> dict[str, Any]:
            raise KeyError("no statistics today")

    exe = build(dense(), backends={"mine": lambda f, symbol: Silent(f, symbol, {})})
    with exe.profiling():
        exe(X)
    (card,) = exe.cards()
    assert card.calls == 1 and "no statistics today" in str(card)
    with pytest.raises(OffloadError, match="its statistics cannot be read: KeyError"):
        exe.assert_offloaded()


def test_unverified_statistics_of_a_back_end_are_labelled() -> None:
    exe = liar({"ops": [{"name": "all", "impl": "tensor core"}]})
    exe(X)
    (card,) = exe.cards()
    assert "mine says: all: tensor core" in str(card)
    assert card.cells()[HEAD.index("kernels")] == "1 (as it reports)"


def test_assert_offloaded_checks_required_regions_and_flops() -> None:
    exe = build(dense(), backends={"mine": in_numpy})
    exe(X)
    exe.assert_offloaded(regions=1, min_flops=DENSE_FLOPS, min_share=0.98)
    with pytest.raises(OffloadError, match="expected 2 offloaded regions, found 1"):
        exe.assert_offloaded(regions=2)
    with pytest.raises(OffloadError, match=f"found {DENSE_FLOPS:,}"):
        exe.assert_offloaded(min_flops=DENSE_FLOPS + 1)
    with pytest.raises(OffloadError, match=r"at least 99.9% of the FLOP to be offloaded, found 98"):
        exe.assert_offloaded(min_share=0.999)
    with pytest.raises(ArgumentError, match="a share from 0 to 1, found 98"):
        exe.assert_offloaded(min_share=98)


@pytest.mark.native
@pytest.mark.parametrize("compiler", ["dnnl", "ccompiler"])
def test_loaded_library_has_cards(compiler: str, tmp_path: Path) -> None:
    x = relay.var("x", shape=(2, 3))
    body = compiler_end(nn.relu(compiler_begin(x, compiler)), compiler)
    mod = PartitionGraph()(infer_module(IRModule.from_expr(body + relay.const(np.float32(1)))))
    exe = build(mod)
    exe.export_library(tmp_path / "m.so")
    library = load_library(tmp_path / "m.so")
    (card,) = library.cards()
    assert card.facts == exe.cards()[0].facts and card.calls == 0
    with pytest.raises(OffloadError, match="has not run yet"):
        library.assert_offloaded()
    value = np.ones((2, 3), np.float32)
    library(value)
    with library.profiling():
        library(value)
    (card,) = library.cards()
    assert (card.calls, card.native) == (2, compiler == "dnnl") and card.time_us
    library.assert_offloaded(regions=1, min_share=0.4)


def test_card_of_an_operation_counts_reorders_and_formats_its_time() -> None:
    once = OpCard("nn.conv2d_0", "jit", reorders=1, time_us=524_564.0)
    assert str(once) == "nn.conv2d_0: jit; 1 reorder; 524,564 us"
    assert "; 2 reorders; " in str(replace(once, reorders=2))
