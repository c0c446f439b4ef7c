"""DynamicToStatic, CanonicalizeCast, FlattenAtrousConv: the numbers stay, the events tell how.

That the results are TVM's is in the golden files of these names.
"""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab as tvm
import byoc_lab.compat
from byoc_lab import relay
from byoc_lab.compat.passes import CanonicalizeCast, FlattenAtrousConv
from byoc_lab.passes import Pass
from byoc_lab.relay import Call, Expr, IRModule, assert_structural_equal
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import DynamicToStatic, InferType
from tests.parity import cases

CASES: dict[str, Pass] = {
    "shapes": DynamicToStatic(),
    "casts": CanonicalizeCast(),
    "pieces": FlattenAtrousConv(),
}


def inputs(mod: IRModule) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    types = {p.name_hint: p.checked_type for p in mod["main"].params}
    found = {n: random.uniform(1, 9, t.concrete_shape).astype(t.dtype) for n, t in types.items()}
    if "s" in found:  # a shape of 24 elements
        found["s"] = np.array([4, 6])
    return found


def values(mod: IRModule, data: dict[str, np.ndarray]) -> list[np.ndarray]:
    found = evaluate(mod, data).value
    return list(found) if isinstance(found, (tuple, list)) else [found]


@pytest.mark.parametrize("name", CASES)
def test_the_numbers_stay_and_the_events_tell_how(name: str) -> None:
    whole = cases.load(f"tidying.{name}", tvm, relay, np)
    changed = 0
    for gv, function in whole.functions.items():
        mod = infer_module(IRModule.from_expr(function))
        trace = tvm.trace(mod, [CASES[name]])
        assert trace.error is None
        (stage,) = trace
        assert stage.after is not None
        data = inputs(mod)
        for found, wanted in zip(values(stage.after, data), values(mod, data), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-5, err_msg=gv.name_hint)
        again = infer_module(stage.state_after(len(stage.events)))
        assert_structural_equal(again, stage.after)
        assert bool(stage.events) == stage.changed
        changed += stage.changed
    assert changed


def test_what_is_known_is_static() -> None:
    static = DynamicToStatic()(cases.load("tidying.shapes", tvm, relay, np))
    left = {
        gv.name_hint
        for gv, function in static.functions.items()
        if any(isinstance(n, Call) and n.op_name.startswith("dyn.") for n in post_order(function))
    }
    assert left == {"unknown", "expand_dims"}  # the latter TVM leaves, too


def _atrous(paddings: list, crops: list, value: float = 0, **options: object) -> IRModule:
    x, w = relay.var("x", shape=(1, 5, 5, 4)), relay.var("w", shape=(3, 3, 4, 2))
    y = relay.nn.space_to_batch_nd(x, [2, 2], paddings, value)
    y = relay.nn.conv2d(
        y, w, kernel_size=(3, 3), channels=2, data_layout="NHWC", kernel_layout="HWIO", **options
    )
    body: Expr = relay.nn.batch_to_space_nd(y, [2, 2], crops)
    return InferType()(IRModule.from_expr(relay.Function([x, w], body)))


def test_the_padding_is_that_of_the_pieces() -> None:
    """TVM takes the one that keeps the size, whatever the pieces had: (1, 1, 1, 2) for 5 x 5."""
    mod = _atrous([[0, 1], [0, 1]], [[0, 1], [0, 1]])
    flat = FlattenAtrousConv()(mod)
    assert "nn.space_to_batch_nd" not in list_op_freqs(flat)
    data = inputs(mod)
    for found, wanted in zip(values(flat, data), values(mod, data), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "mod",
    [
        _atrous([[2, 3], [2, 3]], [[0, 0], [0, 0]], strides=(2, 2)),
        _atrous([[2, 3], [2, 3]], [[0, 1], [0, 1]], value=1.0),
        _atrous([[2, 3], [2, 3]], [[3, 0], [0, 1]]),
    ],
    ids=["strides", "another number", "cropped further"],
)
def test_other_convolutions_of_pieces_are_left(mod: IRModule) -> None:
    assert FlattenAtrousConv()(mod) is mod
