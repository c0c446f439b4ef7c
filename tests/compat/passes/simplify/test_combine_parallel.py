"""Operators that read one value, combined: the numbers stay, and the events tell how.

That the results are TVM's is in the golden files (CombineParallel*).
"""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.compat.passes import (
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
)
from byoc_lab.passes import Pass
from byoc_lab.relay import Expr, IRModule, assert_structural_equal
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import InferType
from tests.parity import cases

CASES: dict[str, tuple[str, Pass]] = {
    "Conv2D": ("convolutions", CombineParallelConv2D(2)),
    "Dense": ("dense", CombineParallelDense(2)),
    "joined": ("dense", CombineParallelDense(2, to_batch=False)),
    "joined_dense": ("joined_dense", CombineParallelDense(2, to_batch=False)),
    "moved_dense": ("moved_dense", CombineParallelDense(2, to_batch=False)),
    "scalars": ("joined_dense", CombineParallelDense(2)),
    "BatchMatmul": ("products", CombineParallelBatchMatmul(2)),
}


def inputs(mod: IRModule) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    types = {p.name_hint: p.checked_type for p in mod["main"].params}
    return {n: random.uniform(-1, 1, t.concrete_shape).astype(t.dtype) for n, t in types.items()}


def module(body: Expr) -> IRModule:
    function = relay.Function(relay.analysis.free_vars(body), body)
    return InferType()(IRModule.from_expr(function))


def values(mod: IRModule, data: dict[str, np.ndarray]) -> list[np.ndarray]:
    found = evaluate(mod, data, dtype="float64").value
    return list(found) if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_stay_and_the_events_tell_how(name: str) -> None:
    case, run = CASES[name]
    whole = cases.load(f"parallel.{case}", tvm, relay, np)
    changed = 0
    for function in whole.functions.values():
        mod = infer_module(IRModule.from_expr(function))
        trace = tvm.trace(mod, [run], opt_level=4)
        assert trace.error is None
        (stage,) = trace
        assert stage.after is not None
        data = inputs(mod)
        for found, wanted in zip(values(stage.after, data), values(mod, data), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
        again = infer_module(stage.state_after(len(stage.events)))
        assert_structural_equal(again, stage.after)
        assert bool(stage.events) == stage.changed
        changed += stage.changed
    assert changed


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
def test_followers_that_move_or_change_axes_are_taken_along_or_left(
    name: str, to_batch: bool
) -> None:
    """TVM 0.16 makes an ill-typed module of most of them."""
    x = relay.var("x", shape=(3, 4))
    layers = [relay.nn.dense(x, relay.var(f"w{n}", shape=(5, 4))) for n in (0, 1)]
    mod = module(relay.Tuple([FOLLOWERS[name](y, n) for n, y in enumerate(layers)]))
    after = CombineParallelDense(2, to_batch)(mod)
    assert list_op_freqs(after).get("nn.dense", 0) == (0 if to_batch else 1)
    data = inputs(mod)
    for found, wanted in zip(values(after, data), values(mod, data), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def _convolution(x: Expr, n: int) -> Expr:
    weight = relay.var(f"w{n}", shape=(2, 4, 1, 1))
    return relay.nn.conv2d(x, weight, channels=2, kernel_size=(1, 1))


def test_branches_of_which_one_needs_the_other_are_left() -> None:
    """TVM's recursion never ends on it."""
    x = relay.var("x", shape=(1, 4, 3, 3))
    first = relay.add(_convolution(x, 1), relay.var("b", shape=(2, 1, 1)))
    mean = relay.mean(first, axis=(0, 2, 3), keepdims=True)
    second = relay.add(_convolution(x, 2), relay.squeeze(mean, axis=(0,)))
    mod = module(relay.Tuple([first, second]))
    left = CombineParallelConv2D(2)(mod)
    assert list_op_freqs(left)["nn.conv2d"] == 2
    data = inputs(mod)
    for found, wanted in zip(values(left, data), values(mod, data), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_groups_that_need_each_other_are_not_both_combined() -> None:
    """The first group's second weight comes from the other group, whose data from its first."""
    x = relay.var("x", shape=(1, 4, 3, 3))
    mixed = relay.add(x, relay.mean(_convolution(x, 1)))
    c, d = _convolution(mixed, 3), _convolution(mixed, 4)
    weight = relay.add(relay.var("w2", shape=(2, 4, 1, 1)), relay.mean(c))
    b = relay.nn.conv2d(x, weight, channels=2, kernel_size=(1, 1))
    mod = module(relay.Tuple([b, d]))
    combined = CombineParallelConv2D(2)(mod)
    assert list_op_freqs(mod)["nn.conv2d"] == 4
    assert list_op_freqs(combined)["nn.conv2d"] == 3
    data = inputs(mod)
    for found, wanted in zip(values(combined, data), values(mod, data), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_too_few_branches_are_left() -> None:
    x = relay.var("x", shape=(1, 4, 3, 3))
    mod = module(relay.Tuple([_convolution(x, 1), _convolution(x, 2)]))
    assert CombineParallelConv2D()(mod) is mod
