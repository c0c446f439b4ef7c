"""SimplifyFCTranspose gives TVM 0.16's modules; transposes of weights move into the parameters."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat.passes import SimplifyFCTranspose
from byoc_lab.compat.passes.simplify.simplify_fc_transpose import search_fc_transpose
from byoc_lab.errors import PassError
from byoc_lab.relay import Expr, IRModule
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate
from tests.parity.golden import golden_test
from tests.passes.checks import replayed

test_golden = golden_test("SimplifyFCTranspose")


def module(body: Expr) -> IRModule:
    return infer_module(IRModule.from_expr(body))


def test_transposed_weights_become_transposed_parameters() -> None:
    shapes = {"x": (1, 4), "w": (4, 5), "v": (5, 3)}
    x, w, v = (relay.var(name, shape=shape) for name, shape in shapes.items())
    hidden = relay.nn.relu(relay.nn.dense(x, relay.transpose(w, [1, 0])))
    body = relay.Tuple([relay.nn.dense(hidden, relay.transpose(v)), relay.exp(v)])
    mod = module(body)
    assert sorted(search_fc_transpose(mod["main"])) == ["v", "w"]
    after = replayed(mod, SimplifyFCTranspose(["w", "v"]))
    # In TVM's order: remaining parameters in the order of their use, then the new parameters.
    assert [p.name_hint for p in after["main"].params] == ["x", "v", "w.T", "v.T"]
    random = np.random.default_rng(0)
    values = {name: random.random(shape, "float32") for name, shape in shapes.items()}
    wanted = evaluate(mod, values).outputs
    turned = {"x": values["x"], "v": values["v"], "w.T": values["w"].T, "v.T": values["v"].T}
    for got, want in zip(evaluate(after, turned).outputs, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6)
    with pytest.raises(PassError, match=r"%v is transposed for nn\.dense"):
        SimplifyFCTranspose(["w"])(mod)


def test_transpose_with_identity_axes_stays() -> None:
    x, w = relay.var("x", shape=(4, 4)), relay.var("w", shape=(4, 4))
    mod = module(relay.nn.dense(x, relay.transpose(w, [0, 1])))
    assert search_fc_transpose(mod["main"]) == []
    assert SimplifyFCTranspose([])(mod) is mod
