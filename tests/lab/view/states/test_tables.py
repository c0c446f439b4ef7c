"""Result tables: the worst row first, each row with the node that it refers to."""

from __future__ import annotations

import json
from math import inf
from typing import Any

import pytest

import byoc_lab
from byoc_lab.lab.checking.bisected import Bisection, Checked
from byoc_lab.lab.checking.call_sites import CallSite, called, calls_of, site_of
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.states.node_ids import NodeIds
from byoc_lab.lab.view.states.overlays import overlays_of
from byoc_lab.lab.view.states.tables import MAX_ROWS, tables_of
from byoc_lab.run.metering.cards import Cards
from byoc_lab.run.metering.op_cards import OpCard

from .test_overlays import card, ids_of, network, texts


@pytest.fixture(scope="module")
def shown() -> tuple[Any, Any, NodeIds, dict[str, str]]:
    mod = network()
    trace = byoc_lab.trace(mod, "dnnl")
    state, ids = ids_of(trace)
    return mod, trace, NodeIds(trace, ids), texts(state)


def symbols(trace: Any) -> list[str]:
    return [gv.name_hint for gv, f in trace.result.functions.items() if "Compiler" in f.attrs]


def comparison(name: str, share: float, site: CallSite | None = None) -> Comparison:
    error = inf if share == inf else share
    return Comparison(name, error, 1.0, 1.0, (0,), wrong=int(share > 1), call_site=site)


def sites(trace: Any, symbol: str) -> list[CallSite]:
    return [CallSite(symbol, n, called(c)) for n, c in enumerate(calls_of(trace.result[symbol]))]


def firsts(table: dict[str, Any]) -> list[str]:
    return [row["cells"][0] for row in table["rows"]]


def test_validate_table_begins_with_the_largest_share(shown: Any) -> None:
    _, trace, node_ids, lines = shown
    first, second = symbols(trace)
    conv, *_, composite = sites(trace, first)
    report = Report(
        (comparison(f"@{first}", 0.5), comparison(f"@{second}", 3.0)),
        (comparison("output", 0.1),),
        (comparison(f"@{first} step 0", 0.2, composite), comparison("conv", inf, conv)),
    )
    (table,) = tables_of(node_ids, report)
    assert firsts(table) == ["conv", f"@{second}", f"@{first}", f"@{first} step 0", "output"]
    assert [row["wrong"] for row in table["rows"]] == [True, True, False, False, False]
    assert [row["cells"][1] for row in table["rows"]][:3] == ["∞", "300.0%", "50.0%"]
    wrong, region, _, _, output = table["rows"]
    assert "nn.conv2d(" in lines[wrong["node"]] and lines[region["node"]].startswith("def @")
    assert output["node"] is None and output["stage"] is None
    assert table["summary"] == "NOT VALID: 2 of the comparisons"


def test_errors_of_operators_are_at_their_nodes(shown: Any) -> None:
    _, trace, node_ids, lines = shown
    first, _ = symbols(trace)
    conv, *_, composite = sites(trace, first)
    operators = (
        comparison("a", 0.2, composite), comparison("b", 4.0, conv), comparison("c", 1.5, conv)
    )  # fmt: skip
    report = Report((comparison(f"@{first}", inf),), (), operators)
    found = overlays_of(trace, node_ids.ids, [report])
    values = found["numbers"]["error"]["values"]
    (of_conv,) = [v for i, v in values.items() if "nn.conv2d(" in lines.get(i, "")]
    assert of_conv == 4.0, "the largest of several"
    assert 0.2 in values.values() and len(values) == 3
    json.dumps(found, allow_nan=False)


def test_bisect_table_names_the_stage_and_the_operator(shown: Any) -> None:
    _, trace, node_ids, lines = shown
    last = trace.stages[-1]
    site = sites(trace, symbols(trace)[0])[0]
    checked = (
        Checked("MergeComposite", 0.1, True, 6),
        Checked(last.name, 7.0, False, last.index),
        Checked("a kernel", 0.4, True, call_site=site),
    )
    found = Bisection(last.name, site.function, None, 3, 3, index=last.index, call_site=site,
                      checked=checked)  # fmt: skip
    (table,) = tables_of(node_ids, found)
    assert firsts(table) == [
        "after stage 10, PartitionGraph",
        "a kernel",
        "after stage 7, MergeComposite",
    ]
    culprit, kernel, merged = table["rows"]
    assert culprit["cells"][-1] == "the first that differs" and culprit["stage"] == 9
    assert "nn.conv2d(" in lines[culprit["node"]] and kernel["node"] == culprit["node"]
    assert (merged["node"], merged["stage"]) == (None, 6)


def test_coverage_table_begins_with_the_host(shown: Any) -> None:
    mod, _, node_ids, lines = shown
    (table,) = tables_of(node_ids, byoc_lab.coverage(mod, "dnnl"))
    host, *regions = table["rows"]
    assert host["cells"][:2] == ["host", "nn.batch_flatten"]
    assert "nn.batch_flatten(" in lines[host["node"]]
    assert [row["cells"][2] for row in regions] == ["1,536", "18,944"], "the least work first"
    assert all(lines[row["node"]].startswith("def @") for row in regions)


def test_explain_table_has_the_suggested_change(shown: Any) -> None:
    mod, _, node_ids, lines = shown
    (table,) = tables_of(node_ids, byoc_lab.explain(mod, "dnnl"))
    (row,) = table["rows"]
    assert row["cells"][0] == "nn.batch_flatten" and "OffloadDataMovement" in row["cells"][4]
    assert "nn.batch_flatten(" in lines[row["node"]]


def test_cards_table_begins_with_the_slowest_kernel(shown: Any) -> None:
    _, trace, node_ids, lines = shown
    first, second = symbols(trace)
    cards = Cards([
        card(first, (OpCard("nn.conv2d_0", "jit", ("relu",), time_us=2.0),)),
        card(second, (OpCard("nn.dense_0", "gemm", time_us=30.0),)),
    ])  # fmt: skip
    (table,) = tables_of(node_ids, cards)
    assert firsts(table) == [f"@{second}", "nn.dense_0", f"@{first}", "nn.conv2d_0 + relu"]
    dense = table["rows"][1]
    assert dense["cells"][1] == "30 µs" and "nn.dense(" in lines[dense["node"]]


def test_long_tables_omit_their_best_rows(shown: Any) -> None:
    _, _, node_ids, _ = shown
    many = tuple(comparison(f"output {n}", n / 1000) for n in range(MAX_ROWS + 5))
    (table,) = tables_of(node_ids, Report((), many))
    assert len(table["rows"]) == MAX_ROWS and table["left_out"] == 5
    assert firsts(table)[0] == f"output {MAX_ROWS + 4}"


def test_call_site_that_does_not_fit_has_no_node(shown: Any) -> None:
    _, trace, node_ids, _ = shown
    site = sites(trace, symbols(trace)[0])[0]
    assert node_ids.at(site) and node_ids.at(site._replace(name="nn.dense")) is None
    assert node_ids.at(site._replace(number=99)) is None
    assert node_ids.at(site._replace(function="nobody")) is None
    function = trace.result[site.function]
    assert site_of(site.function, function, next(calls_of(function))) == site
    assert site_of("main", trace.result["main"], next(calls_of(function))) is None
