"""Pickles and deep copies of nodes, types and modules."""

from __future__ import annotations

import copy
import pickle

import numpy as np
from hypothesis import given

from byoc_lab import relay
from byoc_lab.relay.ir.pickling import dump, load
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from tests import strategies

DEPTH = 20_000


def deep() -> relay.Function:
    x = relay.var("x", shape=(4,))
    body = x
    for _ in range(DEPTH):
        body = relay.add(body, body)
    return relay.Function([x], body)


def test_pickled_deep_chain_keeps_sharing_and_types() -> None:
    mod = infer_module(relay.IRModule.from_expr(deep()))
    again = pickle.loads(pickle.dumps(mod))
    body = again["main"].body
    assert body.checked_type == relay.TensorType((4,), "float32")
    assert body.args[0] is body.args[1]
    assert sum(1 for _ in post_order(again["main"])) == sum(1 for _ in post_order(mod["main"]))


@given(strategies.modules())
def test_unpickled_module_is_structurally_equal(mod: relay.IRModule) -> None:
    typed = infer_module(mod)
    again = pickle.loads(pickle.dumps(typed))
    relay.assert_structural_equal(again, typed)
    assert [f.checked_type for f in again.functions.values()] == [
        f.checked_type for f in typed.functions.values()
    ]


def test_deep_copy_shares_no_node_with_the_original() -> None:
    x = relay.var("x", shape=(2,))
    function = relay.Function([x], relay.nn.relu(x) + relay.const(np.ones(2, np.float32)))
    copied = copy.deepcopy(function)
    relay.assert_structural_equal(copied, function)
    nodes = {id(n) for n in post_order(function) if not isinstance(n, relay.Op)}
    assert not nodes & {id(n) for n in post_order(copied) if not isinstance(n, relay.Op)}


def test_nodes_shared_by_modules_are_pickled_once() -> None:
    weight = relay.const(np.zeros(100_000, np.float32))
    x = relay.var("x", shape=(100_000,))
    one, two = relay.Function([x], x + weight), relay.Function([x], x * weight)
    data = dump([one, two], [one, two])
    assert len(data) < 1.2 * weight.numpy().nbytes
    first, second = load(data)
    assert first.params[0] is second.params[0]
    assert first.body.args[1] is second.body.args[1]
