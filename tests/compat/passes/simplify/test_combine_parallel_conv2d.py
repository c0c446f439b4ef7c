"""CombineParallelConv2D gives TVM 0.16's modules, except for modules on which TVM does not
terminate."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.compat.passes import CombineParallelConv2D
from byoc_lab.relay import Expr, IRModule
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.typing.infer import infer_module
from tests.compat.passes.simplify.parallel import TOLERANCES, check_combined
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, random_inputs

test_golden = golden_test("CombineParallelConv2D")


def module(body: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(body))


def test_values_stay_and_events_cover_the_changes() -> None:
    check_combined("convolutions", CombineParallelConv2D(2))


def _convolution(x: Expr, n: int) -> Expr:
    weight = relay.var(f"w{n}", shape=(2, 4, 1, 1))
    return relay.nn.conv2d(x, weight, channels=2, kernel_size=(1, 1))


def test_branches_that_depend_on_each_other_are_not_combined() -> None:
    """TVM's recursion does not terminate on this module."""
    x = relay.var("x", shape=(1, 4, 3, 3))
    first = relay.add(_convolution(x, 1), relay.var("b", shape=(2, 1, 1)))
    mean = relay.mean(first, axis=(0, 2, 3), keepdims=True)
    second = relay.add(_convolution(x, 2), relay.squeeze(mean, axis=(0,)))
    mod = module(relay.Tuple([first, second]))
    left = CombineParallelConv2D(2)(mod)
    assert list_op_freqs(left)["nn.conv2d"] == 2
    assert_same_values(mod, left, random_inputs(mod), **TOLERANCES)


def test_only_one_of_two_mutually_dependent_groups_is_combined() -> None:
    """The first group's second weight comes from the other group, and the other group's data
    from the first."""
    x = relay.var("x", shape=(1, 4, 3, 3))
    mixed = relay.add(x, relay.mean(_convolution(x, 1)))
    c, d = _convolution(mixed, 3), _convolution(mixed, 4)
    weight = relay.add(relay.var("w2", shape=(2, 4, 1, 1)), relay.mean(c))
    b = relay.nn.conv2d(x, weight, channels=2, kernel_size=(1, 1))
    mod = module(relay.Tuple([b, d]))
    combined = CombineParallelConv2D(2)(mod)
    assert list_op_freqs(mod)["nn.conv2d"] == 4
    assert list_op_freqs(combined)["nn.conv2d"] == 3
    assert_same_values(mod, combined, random_inputs(mod), **TOLERANCES)


def test_fewer_branches_than_the_minimum_are_not_combined() -> None:
    x = relay.var("x", shape=(1, 4, 3, 3))
    mod = module(relay.Tuple([_convolution(x, 1), _convolution(x, 2)]))
    assert CombineParallelConv2D()(mod) is mod
