"""Two changes that offload a call together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from byoc_lab import backends, explain, relay
from byoc_lab.lab.explaining import Explanation
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.patterns import is_constant, is_op, wildcard
from byoc_lab.transform import FoldExplicitPadding
from tests.lab.explaining.pieces import (
    CONV,
    CONV_RELU,
    NPU,
    batch_norm,
    conv,
    entry,
    left_is_conv,
    steps,
    two_users,
    weight,
    x,
)
from tests.lab.explaining.random_tables import TARGET, otherwise_partitioned

SIMPLIFY = "run SimplifyInference before MergeComposite"
FOLD = "run SimplifyInference, FoldConstant and FoldScaleAxis before MergeComposite"
LEVEL_3 = "under PassContext(opt_level=3)"
CONV_BIAS_RELU = is_op("nn.relu")(is_op("add")(CONV, is_constant()))
NHWC = is_op("nn.relu")(CONV.has_attr({"data_layout": "NHWC"}))
LAYOUT = "run ConvertLayout({'nn.conv2d': ['NHWC', 'default']}) before MergeComposite"


def conv_dropout_relu(data: relay.Expr | None = None) -> relay.Expr:
    return nn.relu(nn.dropout(conv(data)))


def between_tanhs(count: int) -> relay.Expr:
    """A module large enough that changes are first tried on a part of it."""
    value: relay.Expr = x()
    for _ in range(count):
        value = relay.tanh(value)
    value = conv_dropout_relu(value)
    for _ in range(count):
        value = relay.tanh(value)
    return value


CASES: dict[str, tuple[list[Any], Callable[[], relay.Expr], str]] = {
    "passes and an order of entries": (
        [entry("conv", CONV), entry("all", CONV_BIAS_RELU)],
        lambda: nn.relu(batch_norm(conv())),
        f"{FOLD}, {LEVEL_3}; and move {NPU}.all before {NPU}.conv in the pattern table",
    ),
    "two passes": (
        [entry("nhwc", NHWC)], conv_dropout_relu, f"{SIMPLIFY}; and {LAYOUT}, {LEVEL_3}",
    ),
    "two passes in a large module": (
        [entry("nhwc", NHWC)], lambda: between_tanhs(30), f"{SIMPLIFY}; and {LAYOUT}, {LEVEL_3}",
    ),
    "a copy and an order of entries": (
        [entry("conv", CONV), entry("conv_relu", CONV_RELU)],
        two_users,
        f"compute nn.conv2d (%0) a second time for its users outside of the match; "
        f"and move {NPU}.conv_relu before {NPU}.conv in the pattern table",
    ),
    "a pass and the order of operands": (
        [entry("all", CONV_BIAS_RELU, lambda root: left_is_conv(root.args[0]))],
        lambda: nn.relu(nn.dropout(relay.add(weight(4, 1, 1), conv()))),
        f"{SIMPLIFY}; and swap the operands of add (%1)",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    backends.register(NPU)
    yield
    backends.register(NPU)


def the_relu(body: relay.Expr, table: list[Any]) -> Explanation:
    found = explain(IRModule.from_expr(body), NPU, pipeline=steps(table=table)())
    (one,) = [e for e in found if e.name == "nn.relu"]
    return one


@pytest.mark.parametrize("case", CASES)
def test_two_changes_that_help_only_together_are_proposed(case: str) -> None:
    table, body, words = CASES[case]
    change = the_relu(body(), table).change
    assert change is not None and change.what == f"together: {words}"
    assert change.region and change.keeps_numbers
    home = change.outcome.homes[change.outcome.place(change.call).inside[0]]
    assert home.region == change.region
    before, then = change.offloaded
    assert then == sum(change.offloads(c) for c in change.calls) > before


def test_second_change_that_suffices_without_the_first_is_proposed_alone() -> None:
    """Only the diagnosis after the first change leads to the second change."""
    case = otherwise_partitioned(362)
    backends.register(TARGET, supports=case.supports)
    first, *_ = (e for e in explain(case.mod, TARGET, pipeline=case.passes()) if e.cause == "order")
    assert first.change is not None
    assert first.change.what == f"call the pattern '{TARGET}.1', not 'odd.1'"
    backends.register(TARGET)


def test_no_pair_of_changes_is_searched_if_no_pattern_has_the_operator() -> None:
    found = explain(
        IRModule.from_expr(relay.erf(conv(x()) + weight(4, 1, 1))),
        NPU,
        pipeline=steps(table=[entry("conv", CONV)])(),
    )
    changes = {e.name: e.change for e in found}
    assert changes["erf"] is None and changes["add"] is None


def test_pass_in_a_sequence_runs_only_at_its_own_level() -> None:
    """FoldScaleAxis folds nothing at level 2."""
    table = [entry("all", CONV_BIAS_RELU)]
    one = the_relu(nn.relu(batch_norm(conv())), table)
    assert one.cause == "needs-pass"
    assert one.change is not None and one.change.what == f"{FOLD}, {LEVEL_3}"


def test_pass_and_pattern_change_that_help_only_together_are_proposed() -> None:
    """The pass does not increase the number of matching parts; it only changes the mismatch."""
    biased = is_op("nn.relu")(is_op("nn.bias_add")(CONV, is_constant()))
    change = the_relu(nn.relu(batch_norm(conv())), [entry("all", biased)]).change
    assert change is not None
    first, second = change.what.removeprefix("together: ").split("; and ")
    assert first == f"{FOLD}, {LEVEL_3}"
    assert second.startswith(f"in the pattern {NPU}.all, accept add in place of nn.bias_add")


def test_leaving_out_the_pass_that_removed_an_operand_is_proposed() -> None:
    padded = is_op("nn.conv2d")(is_op("nn.pad")(wildcard(), wildcard()), wildcard())
    body = nn.conv2d(nn.pad(x(), ((0, 0), (0, 0), (1, 1), (1, 1))), weight(4, 4, 3, 3))
    pipeline = steps(FoldExplicitPadding(), table=[entry("padded", padded)])()
    (one,) = explain(IRModule.from_expr(body), NPU, pipeline=pipeline).of("nn.conv2d")
    assert one.change is not None
    assert one.change.what == "leave FoldExplicitPadding out of the pipeline"
