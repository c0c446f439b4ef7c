"""The report of `validate`: comparisons, notes and the overall result."""

from __future__ import annotations

import json
import warnings
from typing import NoReturn

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import BuildError, ValidationError
from byoc_lab.lab.checking.comparison import QUANTILES, compare
from byoc_lab.lab.checking.report import Report, worst_of
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import build
from tests.plain_cells import plain


def clipped() -> IRModule:
    x = relay.var("x", shape=(2, 3))
    return infer_module(IRModule.from_expr(Function([x], relay.clip(nn.relu(x), 1.0, 6.0))))


def refusing(function: Function, symbol: str) -> NoReturn:
    raise BuildError("no kernel today")


def test_region_that_fell_back_is_listed() -> None:
    after = byoc_lab.trace(clipped(), "dnnl").result
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exe = build(after, backends={"dnnl": refusing}, fallback=True)
    report = byoc_lab.validate(clipped(), exe)
    assert report.ok and not report.regions and len(report.fallbacks) == 1
    assert "fell back: @tvmgen_default_dnnl_main_0 of dnnl ran on llvm: " in str(report)
    assert "no kernel today" in report._repr_html_()
    assert "no kernel today" in json.loads(report.to_json())["fallbacks"][0]


def test_a_report_without_comparisons_is_not_valid() -> None:
    report = Report((), (), inputs=("given",), missed=("outputs were not compared: R.print",))
    assert not report.ok and not report.wrong
    assert str(report).startswith("nothing was compared\n")
    with pytest.raises(ValidationError, match="outputs were not compared: "):
        report.check()


def test_report_in_which_no_element_was_compared_is_not_valid() -> None:
    zeros, free = np.zeros(2000), np.full(2000, np.inf)
    output = compare("output", zeros, np.full(2000, np.nan), free, ["nan"])
    report = Report((), (output,))
    assert not report.ok and not report.wrong
    assert str(report).startswith(
        "nothing was compared\n  output: 2,000 elements not compared (nan); 2,000 of these are "
    )
    with pytest.raises(ValidationError):
        report.check()
    region = compare("@r", np.zeros(2), np.zeros(2), np.ones(2))
    assert str(Report((region,), (output,))).startswith("valid regions; the outputs were not")


def test_report_with_only_regions_says_that_outputs_were_not_compared() -> None:
    right = compare("@r", np.zeros(2), np.zeros(2), np.ones(2))
    report = Report((right,), ())
    assert report.ok
    assert str(report).startswith("valid regions; the outputs were not compared\n")


def test_validation_reports_branches_that_no_input_exercised() -> None:
    exe = build(clipped())
    few = byoc_lab.validate(clipped(), exe, [np.float32([[1, 2, 3], [4, 5, 5.5]])])
    assert "not exercised: nn.relu: no input gave a negative element (1 of 1 call)" in str(few)
    assert "not exercised: clip: no input gave an element above 6 (1 of 1 call)" in str(few)
    sets = byoc_lab.validate(clipped(), exe)
    # inputs reach both ends of the clip and both sides of relu
    assert not sets.missed and len(sets.inputs) == 3


def test_worst_element_has_index_ulps_and_quantiles() -> None:
    wanted = np.float64([[1, 2, 4], [8, 16, 32]])
    got = wanted.astype(np.float32)
    got[1, 0] = np.nextafter(np.float32(8), np.float32(9))
    found = compare("output", got, wanted, 1e-6 * np.abs(wanted))
    assert found.place == (1, 0) and found.ulps == pytest.approx(1)
    assert found.quantiles[0] == 0 and found.quantiles[-1] == pytest.approx(found.share)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beyond = compare("output", np.float32([np.inf]), np.float64([1e39]), 1e33)
    assert np.isnan(beyond.ulps)
    report = Report((), (found,))
    page, facts = plain(report._repr_html_()), json.loads(report.to_json())["outputs"][0]
    assert "<th>share at 50, 90, 99 %</th>" in page and "<td>[1, 0]</td>" in page
    assert facts["place"] == [1, 0] and len(facts["quantiles"]) == 4


def test_worst_of_several_input_sets_counts_wrong_elements_of_all() -> None:
    first = compare("x", np.float32([1, 2.5]), np.float64([1, 2]), 0.1)
    second = compare("x", np.float32([1.2, np.nan]), np.float64([1, 2]), 0.1)
    (worst,) = worst_of([first, second])
    assert (worst.wrong, worst.nans, worst.size) == (3, 1, 4) and worst.place == (1,)


def test_wrong_output_is_attributed_to_a_pass_or_to_the_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The reference also computes the module after the pipeline, which decides."""
    x = relay.var("x", shape=(4,))
    net = IRModule.from_expr(relay.clip(x, -1.0, 1.0))
    other = IRModule.from_expr(relay.clip(x, -1.0, 0.5))
    inputs = [np.float32([-3, 0, 0.75, 3])]
    by_a_pass = byoc_lab.validate(net, build(other), inputs)
    assert by_a_pass.host_is_wrong is False and "a pass changed the network" in str(by_a_pass)
    exe = build(net)
    run = exe.run
    monkeypatch.setattr(exe, "run", lambda inputs: [array + 1 for array in run(inputs)])
    by_the_host = byoc_lab.validate(net, exe, inputs)
    assert by_the_host.host_is_wrong and "the code of the host is wrong" in str(by_the_host)
    assert "a pass changed" not in str(by_the_host) and "each region" not in str(by_the_host)


@pytest.mark.parametrize("bounds", [(1.0, -1.0), (3.0, 2.0), (0.0, 0.0)])
def test_clip_to_an_empty_interval_returns_the_maximum(bounds: tuple[float, float]) -> None:
    x = relay.var("x", shape=(4,))
    net = IRModule.from_expr(relay.clip(x, *bounds))
    values = [np.float32([-3, 0, 0.75, 3])]
    for target in ("dnnl", "ccompiler"):
        exe = build(byoc_lab.trace(net, target).result)
        assert byoc_lab.validate(net, exe, values).check().missed == ()
        assert np.array_equal(exe.run(values)[0], np.full(4, bounds[1], "float32"))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 97, 1000])
def test_quantiles_equal_numpy_quantiles(size: int) -> None:
    draw = np.random.default_rng(size)
    error = draw.random(size) * 10.0 ** draw.integers(-30, 30, size)
    error[: size // 4] = np.inf
    found = compare("x", error, np.zeros(size), np.ones(size))
    wanted = np.quantile(np.minimum(error, 1e300), QUANTILES)
    assert found.quantiles == tuple(float(q) for q in wanted)
