"""`coverage`: totals equal an independent count, causes equal those of `explain`, and changes
have their stated effect."""

from __future__ import annotations

import json

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.backends.dnnl import native as extension
from byoc_lab.errors import ArgumentError, OffloadError, PartitionError, UnknownNameError
from byoc_lab.lab.checking.coverage import WHY_TOTALS_DIFFER, Coverage
from byoc_lab.lab.checking.coverage_changes import setup_of, work_of
from byoc_lab.lab.checking.covering import coverage
from byoc_lab.lab.explaining import explain
from byoc_lab.lab.tracing.recorder import as_pass
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.decorators import module_pass
from byoc_lab.relay import nn
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.testing import mobilenet
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import OpCard, RegionCard, RegionInfo, build
from tests.lab.view.samples import network
from tests.plain_cells import plain

RELU_FLOPS, CONV_FLOPS = 8 * 16 * 16, 2 * 8 * 16 * 16 * 8 * 9


def chain() -> IRModule:
    """A chain of conv, relu, erf and relu; DNNL has no erf."""
    x = relay.var("x", shape=(1, 8, 16, 16))
    weight = relay.const(np.ones((8, 8, 3, 3), np.float32))
    conv = nn.conv2d(x, weight, padding=(1, 1), channels=8, kernel_size=(3, 3))
    return IRModule.from_expr(nn.relu(relay.erf(nn.relu(conv))))


@pytest.fixture
def shadowed():
    """A back end whose table lists the pattern of one operator before the pattern of two."""
    relu = is_op("nn.relu")(wildcard())
    both = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    backends.register("shadow", patterns=[("shadow.relu", relu), ("shadow.conv_relu", both)])
    yield "shadow"
    backends.unregister("shadow")


def one(mod: IRModule, *arguments: object) -> Coverage:
    found = coverage(mod, *arguments)  # type: ignore[arg-type]
    assert isinstance(found, Coverage)
    return found


def test_coverage_counts_operators_flops_and_bytes() -> None:
    found = one(chain(), "dnnl")
    first, last = found.regions
    assert (first.operators, first.flops) == (2, CONV_FLOPS + RELU_FLOPS)
    assert (last.operators, last.flops) == (1, RELU_FLOPS)
    assert first.bytes == last.bytes == 2 * 4 * 8 * 16 * 16
    totals = found.totals
    assert (totals.offloaded, totals.operators, totals.regions, totals.smallest) == (3, 4, 2, 1)
    assert totals.offloaded_flops == CONV_FLOPS + 2 * RELU_FLOPS and totals.unknown == 0
    assert totals.bytes == 4 * 4 * 8 * 16 * 16
    assert 0.97 < totals.share < 1


@pytest.mark.native
def test_coverage_and_cards_report_the_same_offloaded_share() -> None:
    found = one(chain(), "dnnl")
    program = build(found.result)
    assert program.cards().offloaded_share == found.totals.share
    assert program.host_operators == found.totals.operators - found.totals.offloaded


def test_coverage_and_explain_give_equal_causes() -> None:
    mod = chain()
    explained = byoc_lab.explain(mod, "dnnl").by_cause
    found = one(mod, "dnnl")
    assert {g.cause: g.calls for g in found.host} == {c: len(es) for c, es in explained.items()}
    text = str(found)
    assert "1 erf" in text and "3 of 4 operators" in text
    assert "<td>sub-pattern</td>" in plain(found._repr_html_())


def test_calls_with_different_reasons_are_in_different_groups_with_one_count_per_cause() -> None:
    """erf and sinh are both no-pattern for ccompiler; each group names its own operator."""
    x = relay.var("x", shape=(4,))
    mod = relay.IRModule.from_expr(relay.add(relay.sinh(relay.erf(relay.erf(x))), x))
    found = one(mod, "ccompiler")
    assert {(g.cause, *g.names) for g in found.host} == {
        ("no-pattern", "erf"),
        ("no-pattern", "sinh"),
    }
    assert all(f"neither {name}" in g.reason for g in found.host for name in g.names)
    *_, causes = coverage(mod, ["ccompiler", "dnnl"]).rows()  # type: ignore[union-attr]
    assert causes[1] == "3 no-pattern"


def test_flops_of_calls_with_unknown_shapes_are_reported_as_unknown() -> None:
    mod = relay.fromtext(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(?, 4), float32], %y: Tensor[(3, 4), float32]) "
        "{ (sin(%x), sin(%y)) }"
    )
    found = coverage(mod, "dnnl")
    assert found.host[0].unknown == 1 and found.as_dict()["host"][0]["unknown"] == 1
    assert "2 calls (2 sin), 12 + unknown FLOP before the passes" in str(found)
    assert "<td>12 + unknown</td>" in plain(found._repr_html_())


def test_call_of_a_function_has_no_flops_of_its_own() -> None:
    inner = chain()["main"]
    data = relay.var("data", shape=(1, 8, 16, 16))
    mod = IRModule.from_expr(relay.Function([data], relay.Call(inner, [data])))
    found = one(mod, "dnnl")
    assert found.totals.flops == one(chain(), "dnnl").totals.flops
    host = found.totals.flops - found.totals.offloaded_flops
    assert sum(group.flops for group in found.host) == host > 0


def test_better_order_of_patterns_is_among_the_changes(shadowed: str) -> None:
    found = one(chain(), shadowed)
    assert found.totals.offloaded == 2 and found.tried is None
    best = found.changes[0]
    assert best.what == "the pattern table in reverse order"
    assert best.totals is not None and best.totals.offloaded == 3
    assert f"with a change that was tried\n    {best}" in str(found)


def test_missing_passes_are_suggested() -> None:
    x = relay.var("x", shape=(1, 8, 4, 4))
    stats = [relay.const(np.ones(8, np.float32)) for _ in range(4)]
    mod = IRModule.from_expr(nn.relu(nn.batch_norm(x, *stats)[0]))
    found = one(mod, "ccompiler")
    what = [
        c.what for c in found.changes if c.totals and c.totals.offloaded > found.totals.offloaded
    ]
    assert what == ["SimplifyInference, FoldConstant and FoldScaleAxis before it"]


def test_change_that_folds_scales_states_its_opt_level() -> None:
    stats = [relay.const(np.ones(8, np.float32)) for _ in range(4)]
    data = relay.var("x", shape=(1, 8, 4, 4))
    weight = relay.const(np.ones((8, 8, 1, 1), np.float32))
    mod = IRModule.from_expr(nn.relu(nn.batch_norm(nn.conv2d(data, weight), *stats)[0]))
    folded = is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())
    passes = [
        MergeComposite([("dnnl.folded", folded)]), AnnotateTarget("dnnl"), PartitionGraph(),
    ]  # fmt: skip
    (best, *_) = one(mod, "dnnl", passes).changes
    before = "SimplifyInference, FoldConstant and FoldScaleAxis before it"
    assert best.what == f"{before}, under PassContext(opt_level=3)"
    assert best.totals is not None and best.totals.offloaded == 3


def test_suggested_change_gives_the_stated_totals() -> None:
    found = one(chain(), "dnnl")
    (small,) = [c for c in found.changes if c.what == "regions of at least 3 operators"]
    assert small.totals is not None
    assert (small.totals.regions, small.totals.offloaded, small.totals.bytes) == (0, 0, 0)


@pytest.mark.parametrize("name", ["dnnl", "shadow"])
def test_totals_of_changes_equal_the_totals_of_complete_runs(name: str, shadowed: str) -> None:
    """A run with a change reuses the stages before the change, and moves of entries without a
    match are not tried."""
    mod = chain()
    found = one(mod, name)
    setup = setup_of(mod, name, None)
    merge_at, merge = setup.first(MergeComposite) or (0, MergeComposite([]))
    table = list(merge.table)
    totals_of = {
        f"the pattern {entry[0]} first": MergeComposite([entry, *table[:n], *table[n + 1 :]])
        for n, entry in enumerate(table)
    }
    totals_of["the pattern table in reverse order"] = MergeComposite(table[::-1])
    wanted = set()
    for made in totals_of.values():
        with setup.context:
            result = as_pass(setup.replacing(merge_at, made).passes, None)(setup.mod)
        wanted.add(work_of(infer_module(result), name, setup.mod).totals)
    wanted.discard(found.totals)
    got = {c.totals for c in found.changes if c.what in totals_of}
    assert got <= wanted <= {c.totals for c in found.changes}


def test_change_that_makes_the_pipeline_fail_is_reported() -> None:
    @module_pass(opt_level=0, name="NeedsRegions")
    def needs_regions(mod: IRModule, ctx: object) -> IRModule:
        if len(mod.functions) < 2:
            raise PartitionError("no region at all")
        return mod

    table = backends.registry.get("dnnl").patterns()
    passes = [MergeComposite(table), AnnotateTarget("dnnl"), PartitionGraph(), needs_regions]
    failed = [c for c in one(chain(), "dnnl", passes).changes if c.totals is None]
    assert "without AnnotateTarget (pass 1)" in [c.what for c in failed]
    assert all("no region at all" in str(c) for c in failed)


def test_two_back_ends_are_compared_in_columns() -> None:
    found = coverage(chain(), ["dnnl", "ccompiler"])
    head, operators, *_ = found.rows()  # type: ignore[union-attr]
    assert head == ("", "dnnl", "ccompiler")
    assert operators == ("operators offloaded", "3 of 4", "2 of 4")
    as_json = json.loads(found.to_json())
    assert [b["backend"] for b in as_json["backends"]] == ["dnnl", "ccompiler"]
    assert "ccompiler" in str(found) and "<th>dnnl</th>" in plain(found._repr_html_())
    assert WHY_TOTALS_DIFFER not in str(found), "both have 4 operators"


def test_different_totals_of_back_ends_are_explained() -> None:
    found = coverage(network(), ["dnnl", "ccompiler"])
    assert len({c.totals.operators for c in found}) == 2  # type: ignore[union-attr]
    assert WHY_TOTALS_DIFFER in str(found) and WHY_TOTALS_DIFFER in found._repr_html_()


def test_json_has_totals_and_changes() -> None:
    found = one(chain(), "dnnl")
    plain = json.loads(found.to_json())
    assert plain["changes"] is None and plain["totals"]["share"] == found.totals.share
    assert len(found.changes) == len(json.loads(found.to_json())["changes"])


@pytest.mark.slow
@pytest.mark.parametrize("names", ["dnnl", ["dnnl", "ccompiler"]])
def test_coverage_figures_are_drawn(names: object) -> None:
    drawn = coverage(mobilenet.get_workload()[0], names).plot()  # type: ignore[arg-type]
    assert len(drawn.axes) == 1 + (1 if names == "dnnl" else 2)
    drawn.canvas.draw()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, "dnnl"), ArgumentError, "a module and the name of a back end"),
        ((chain(), 3), ArgumentError, "the name of a back end, or a list of names, found int 3"),
        ((chain(), []), ArgumentError, "a list of names, found list"),
        ((chain(), "dnl"), UnknownNameError, "'dnnl'"),
        ((backends.partition(chain(), "dnnl"), "dnnl"), ArgumentError, "is a region already"),
    ],
)
def test_wrong_arguments_raise_errors_that_name_them(
    arguments: tuple, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        coverage(*arguments)


def test_coverage_of_a_failing_pipeline_raises_its_error() -> None:
    @module_pass(opt_level=0, name="Fails")
    def fails(mod: IRModule, ctx: object) -> IRModule:
        raise PartitionError("not today")

    with pytest.raises(OffloadError, match="nothing is offloaded: not today"):
        coverage(chain(), "dnnl", [fails])


def card_of(impl: str, backend: str = "dnnl", native: bool = True) -> RegionCard:
    """A card for the first region of `chain`, with the given kernel implementation."""
    (first, *_) = one(chain(), "dnnl").regions
    ops = (OpCard("nn.conv2d_0", "jit:avx2"), OpCard("nn.relu_1", impl))
    facts = RegionInfo(first.symbol, backend, None, 2)
    return RegionCard(facts, calls=1, native=native, ops=ops)


def with_card(card: RegionCard) -> Coverage:
    found = coverage(chain(), "dnnl", cards=[card])
    assert isinstance(found, Coverage)
    return found


def test_region_whose_kernel_is_plain_loops_gives_a_warning() -> None:
    found = with_card(card_of("ref:any"))
    (warning,) = found.warnings
    assert warning.startswith(f"@{found.regions[0].symbol}: offloaded, probably slower than the ")
    assert warning.endswith("runs plain loops for nn.relu_1 (ref:any)")
    assert warning in str(found) and "nn.relu_1 (ref:any)" in found._repr_html_()
    said = json.loads(found.to_json())["regions"]
    assert f"@{said[0]['symbol']}: {said[0]['warning']}" == warning and not said[1]["warning"]


@pytest.mark.parametrize(
    ("impl", "backend", "native"),
    [("jit:uni", "dnnl", True), ("ref:any", "other", True), ("ref:any", "dnnl", False)],
)
def test_region_without_plain_loops_gives_no_warning(impl: str, backend: str, native: bool) -> None:
    found = with_card(card_of(impl, backend, native))
    assert found.warnings == []
    assert str(found) == str(one(chain(), "dnnl"))


def test_explanation_of_calls_in_a_slow_region_has_the_warning() -> None:
    card = card_of("ref:any")
    said = [e.reason for e in explain(chain(), "dnnl", cards=[card])]
    assert [card.warning in reason for reason in said] == [True, True, False, False]
    assert [e.reason for e in explain(chain(), "dnnl", cards=[card_of("jit:uni")])] == [
        e.reason for e in explain(chain(), "dnnl")
    ]


@pytest.mark.native
def test_cards_of_a_run_name_the_loaded_library() -> None:
    found = one(chain(), "dnnl")
    exe = build(found.result)
    cards = exe.cards()
    assert {card.library for card in cards} == {extension.library()}
    assert str(cards).endswith(f"\nloaded: {extension.library()}")
    assert str(found.with_cards(cards)) == str(found)


@pytest.mark.parametrize("calls", [1, 2])
def test_function_with_several_calls_is_said_to_count_once(calls: int) -> None:
    value = "%x"
    for _ in range(calls):
        value = f"@block({value})"
    mod = relay.parse(
        '#[version = "0.0.5"]\ndef @block(%x: Tensor[(4), float32]) { tanh(erf(%x)) }\n'
        f"def @main(%x: Tensor[(4), float32]) {{ {value} }}"
    )
    found = coverage(mod, "ccompiler")
    assert found.totals.operators == 2
    note = "; counted once, although called several times: @block"
    assert (note in found.heading) == (calls > 1)
