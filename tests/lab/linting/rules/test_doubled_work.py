"""Lint rule BYL033 doubled-work: its samples, and counts that agree with explain and coverage."""

from __future__ import annotations

import pytest

from byoc_lab import backends, coverage, explain, lint, relay, trace
from byoc_lab.compat.passes.simplify.eliminate_common_subexpr import EliminateCommonSubexpr
from byoc_lab.lab.linting.rules.doubled_work import DoubledWork
from byoc_lab.passes import InferType
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.analysis.costs import call_flops
from byoc_lab.relay.analysis.recomputed import operators_again
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.pieces import CONV, CONV_ADD, NPU, bias, conv, entry, gated, x
from tests.lab.linting.samples import RuleChecks

GATE = entry("gate", is_op("multiply")(CONV_ADD, wildcard()))


class TestDoubledWork(RuleChecks):
    rule = DoubledWork


def partitioned(table: list[tuple[object, ...]], body: relay.Expr) -> tuple[IRModule, IRModule]:
    backends.register(NPU, patterns=table)
    mod = IRModule.from_expr(body)
    return mod, trace(mod, NPU).result


def test_explain_coverage_and_lint_count_the_same_operators() -> None:
    mod, after = partitioned([GATE], gated())
    (finding,) = [f for f in lint(after) if f.code == "BYL033"]
    assert "2 operators (1 nn.conv2d, 1 add)" in finding.message
    assert finding.message.startswith(f"@main and {NPU}.gate in @tvmgen_default_{NPU}_main_0 each")
    again = [e for e in explain(mod, NPU) if e.cause == "computed-twice"]
    assert [e.name for e in again] == ["nn.conv2d", "add"]
    assert all("2 operators (1 nn.conv2d, 1 add)" in e.reason for e in again)
    found = coverage(mod, NPU)
    assert found.totals.again == 2
    assert "2 operators computed a second time" in str(found)
    told = explain(mod, NPU)
    assert (found.totals.operators, found.totals.offloaded) == (len(told), len(told.offloaded))
    (doubled,) = [group for group in found.host if group.cause == "computed-twice"]
    assert found.totals.again_flops == doubled.flops
    assert found.totals.flops == sum(call_flops(e.typed) or 0 for e in told)
    backends.register(NPU)


@pytest.mark.parametrize("calls", [1, 3])
def test_doubled_work_in_a_function_is_said_to_be_in_each_of_its_calls(calls: int) -> None:
    chained = "".join(f"  %{n + 1} = @helper(%{n});\n" for n in range(2, 2 + calls))
    mod = relay.parse(
        "def @helper(%p: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {\n"
        "  %0 = tanh(%p);\n  %1 = sigmoid(%0);\n  multiply(%0, %1)\n}\n"
        "def @main(%x: Tensor[(2, 3), float32]) {\n  %2 = nn.relu(%x);\n"
        f"{chained}  nn.relu(%{2 + calls})\n}}"
    )
    pattern = is_op("multiply")(is_op("tanh")(wildcard()), wildcard())
    backends.register(NPU, patterns=[entry("tanh", pattern)])
    (finding,) = lint(trace(mod, NPU).result).by_code("BYL033")
    (again,) = (e.reason for e in explain(mod, NPU) if e.cause == "computed-twice")
    told = ", in each call of @helper, which is called at 3 places"
    assert ([told in text for text in (finding.message, again)]) == [calls > 1] * 2
    assert ("called several times: @helper" in str(coverage(mod, NPU))) == (calls > 1)
    backends.register(NPU)


@pytest.mark.parametrize(("patterns", "offloaded"), [(["nn.relu"], 2), (["nn.relu", "sigmoid"], 4)])
def test_coverage_counts_each_of_several_equal_calls_of_the_module(
    patterns: list[str], offloaded: int
) -> None:
    data = x()
    body = nn.relu(relay.tanh(data)) * relay.sigmoid(relay.tanh(data))
    table = [entry(name, is_op(name)(is_op("tanh")(wildcard()))) for name in patterns]
    mod, _ = partitioned(table, body)
    found = coverage(mod, NPU)
    assert (found.totals.operators, found.totals.offloaded, found.totals.again) == (5, offloaded, 0)
    assert all(c.totals.again == 0 for c in found.changes if c.totals)
    backends.register(NPU)


def test_coverage_counts_only_copies_of_equal_calls_as_repeated() -> None:
    data = x()
    first, second = bias(conv(data)), bias(conv(data))
    body = first * relay.sigmoid(first) + relay.exp(second)
    mod, after = partitioned([GATE], body)
    assert str(after).count("nn.conv2d(") == 3
    found = coverage(mod, NPU)
    assert (found.totals.operators, found.totals.again) == (8, 2)
    backends.register(NPU)


def test_operators_copied_into_two_regions_are_counted() -> None:
    table = [GATE, entry("sigmoid", is_op("sigmoid")(CONV_ADD))]
    mod, after = partitioned(table, gated())
    assert operators_again(after) == 2
    found = explain(mod, NPU)
    assert len(found.offloaded) == len(found) == 4
    for one in found[:2]:
        assert "computed 2 times, in @" in one.reason
        assert f"({NPU}.gate)" in one.reason and f"({NPU}.sigmoid)" in one.reason
    assert [f.code for f in lint(after)] == ["BYL033"]
    backends.register(NPU)


@pytest.mark.parametrize(
    ("other", "places"),
    [("npu.b", "npu.a in @region and npu.b in @region"), ("npu.a", "2 calls of npu.a in @region")],
)
def test_composites_in_one_region_are_named_separately(other: str, places: str) -> None:
    text = f"""
def @region(%p: Tensor[(2, 3), float32], Compiler="npu", Primitive=1, global_symbol="region") {{
  %0 = fn (%q: Tensor[(2, 3), float32], Composite="npu.a") {{ exp(tanh(%q)) }};
  %1 = fn (%r: Tensor[(2, 3), float32], Composite="{other}") {{ abs(tanh(%r)) }};
  add(%0(%p), %1(%p))
}}
def @main(%x: Tensor[(2, 3), float32]) {{ @region(%x) }}"""
    (finding,) = lint(relay.parse(text), rules=["BYL033"])
    assert finding.message.startswith(f"{places} each compute 1 operator (1 tanh)")


def test_composite_is_named_before_partitioning() -> None:
    mod, _ = partitioned([GATE], gated())
    merged = trace(mod, NPU)["MergeComposite"].after
    (finding,) = [f for f in lint(merged) if f.code == "BYL033"]
    assert finding.message.startswith(f"@main and {NPU}.gate each compute 2 operators")
    backends.register(NPU)


def test_equal_calls_of_the_network_itself_are_not_doubled() -> None:
    data = x()
    body = relay.Tuple([relay.tanh(data), relay.tanh(data), nn.relu(bias(conv(data)))])
    _, after = partitioned([entry("conv", CONV)], body)
    assert operators_again(after) == 0
    assert list(lint(after, rules=["BYL033"])) == []
    backends.register(NPU)


def test_values_are_followed_through_lets_tuples_and_regions_with_several_results() -> None:
    text = """
def @region(%p: Tensor[(2, 3), float32], Compiler="dnnl", Primitive=1, global_symbol="region")
    -> (Tensor[(2, 3), float32], Tensor[(2, 3), float32]) {{
  %0 = tanh(%p);
  (%0, exp(%0))
}}
def @main(%x: Tensor[(2, 3), float32]) {{
  let %a = abs(%x);
  let %t = (%a, %x);
  %1 = @region(%t.{field});
  add(exp(tanh(%a)), %1.1)
}}"""
    assert operators_again(relay.parse(text.format(field=0))) == 2
    assert operators_again(relay.parse(text.format(field=1))) == 0


def test_equal_values_of_the_module_suggest_to_compute_them_once() -> None:
    backends.register(NPU, supports=["nn.relu", "add"])
    data = x()
    body = relay.add(relay.tanh(nn.relu(data)), nn.relu(data))
    mod = InferType()(IRModule.from_expr(body))
    (found,) = lint(trace(mod, NPU).result).by_code("BYL033")
    assert found.what_to_do.startswith("if the module computes these values twice")
    once = EliminateCommonSubexpr()(mod)
    assert not lint(trace(once, NPU).result).by_code("BYL033")


def test_deep_network_has_no_finding() -> None:
    value: relay.Expr = x(2, 3)
    for _ in range(3000):
        value = relay.tanh(value)
    assert operators_again(IRModule.from_expr(value)) == 0


@pytest.mark.parametrize(
    ("body", "called"),
    [
        ("@r(%a)", "@r(%x)"),  # @r is recursive
        ("nn.relu(%a)", "@r(%x, %x)"),  # the call has too many arguments
        ("nn.relu(%a)", "@r()"),
    ],
)
def test_malformed_calls_of_regions_are_ignored(body: str, called: str) -> None:
    tensor = "Tensor[(4), float32]"
    attrs = 'Compiler="dnnl", Primitive=1, global_symbol="r"'
    text = (
        f'#[version = "0.0.5"]\ndef @r(%a: {tensor}, {attrs}) -> {tensor} {{\n  {body}\n}}\n'
        f"def @main(%x: {tensor}) {{\n  {called}\n}}"
    )
    assert not lint(relay.parse(text, infer=False)).by_code("BYL033")
