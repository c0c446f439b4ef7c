"""CombineParallelDense gives TVM 0.16's modules, and correct axes to the operators after the
products."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.passes import CombineParallelDense
from byoc_lab.relay import Expr, IRModule
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.typing.infer import infer_module
from tests.compat.passes.simplify.parallel import TOLERANCES, check_combined
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, random_inputs

test_golden = golden_test("CombineParallelDense")


def module(body: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(body))


@pytest.mark.parametrize("case", ["dense", "joined_dense", "moved_dense"])
def test_values_stay_and_events_cover_the_changes(case: str) -> None:
    check_combined(case, CombineParallelDense(2, to_batch=False))


@pytest.mark.parametrize("case", ["dense", "joined_dense"])
def test_values_stay_if_products_are_combined_to_a_batch(case: str) -> None:
    check_combined(case, CombineParallelDense(2))


FOLLOWERS = {
    "expand_dims-0": lambda y, n: relay.expand_dims(y, axis=0),
    "expand_dims-1": lambda y, n: relay.expand_dims(y, axis=1),
    "expand_dims-2": lambda y, n: relay.expand_dims(y, axis=2),
    "expand_dims-last": lambda y, n: relay.expand_dims(y, axis=-1),
    "expand_dims-add": lambda y, n: relay.expand_dims(y, axis=2) + relay.var(f"b{n}", shape=(5, 1)),
    "expand_dims-scalar": lambda y, n: relay.expand_dims(y, axis=2) * relay.const(2.0 + n),
    "wide-add": lambda y, n: relay.add(y, relay.var(f"b{n}", shape=(2, 1, 5))),
    "repeat": lambda y, n: relay.repeat(y, repeats=2, axis=0),
    "repeat-units": lambda y, n: relay.repeat(y, repeats=2, axis=-1),
    "tile": lambda y, n: relay.tile(y, reps=(2, 2)),
    "tile-wide": lambda y, n: relay.tile(y, reps=(2, 1, 1)),
    "broadcast_to": lambda y, n: relay.broadcast_to(y, (2, 3, 5)),
    "trilu": lambda y, n: relay.trilu(y, 0, upper=True),
}


@pytest.mark.parametrize("to_batch", [True, False])
@pytest.mark.parametrize("name", FOLLOWERS)
def test_operators_after_the_products_that_move_axes_are_adapted_or_left(
    name: str, to_batch: bool
) -> None:
    """TVM 0.16 makes most of them ill-typed."""
    x = relay.var("x", shape=(3, 4))
    layers = [relay.nn.dense(x, relay.var(f"w{n}", shape=(5, 4))) for n in (0, 1)]
    mod = module(relay.Tuple([FOLLOWERS[name](y, n) for n, y in enumerate(layers)]))
    after = CombineParallelDense(2, to_batch)(mod)
    assert list_op_freqs(after).get("nn.dense", 0) == (0 if to_batch else 1)
    assert_same_values(mod, after, random_inputs(mod), **TOLERANCES)
