"""Groups of explanations: one reason is stated once, and a change states the number of calls
that it offloads."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from byoc_lab import backends, coverage, relay
from byoc_lab.backends import Refused
from byoc_lab.lab.explaining import explain, explain_patterns
from byoc_lab.relay import Call, IRModule, nn
from byoc_lab.relay.patterns import is_constant, is_op, wildcard
from tests.lab.explaining.pieces import (
    CONV_ADD,
    NPU,
    conv,
    entry,
    gated,
    left_is_conv,
    two_users,
    weight,
    x,
)
from tests.plain_cells import plain


@pytest.fixture(autouse=True)
def back_end() -> Iterator[None]:
    yield
    backends.register(NPU)


def test_calls_of_one_partial_match_are_one_group() -> None:
    backends.register(NPU, patterns=[entry("conv_bias", CONV_ADD, lambda root: Refused("slow"))])
    found = explain(IRModule.from_expr(relay.add(conv(), weight(4, 1, 1))), NPU)
    assert len(found) == 2 and [len(g) for g in found.groups] == [2]
    text = str(found)
    assert text.count("slow") == 1
    assert "2 calls of nn.conv2d and add not offloaded: check (%0, result of @main)" in text
    assert plain(found._repr_html_()).count("slow") == 1
    assert coverage(IRModule.from_expr(relay.add(conv(), weight(4, 1, 1))), NPU).host[0].calls == 2


def test_operators_with_different_reasons_are_separate_groups() -> None:
    backends.register(NPU)
    found = explain(IRModule.from_expr(relay.sin(relay.cos(x()))), NPU)
    assert len(found.groups) == 2


def test_text_of_a_group_states_that_the_host_and_a_region_compute_it() -> None:
    gate = is_op("multiply")(CONV_ADD, wildcard())
    backends.register(NPU, patterns=[entry("gate", gate)])
    text = str(explain(IRModule.from_expr(gated()), NPU))
    assert "2 calls of nn.conv2d and add also on the host: computed-twice (%0, %1)" in text


def test_change_of_a_group_binds_the_parameters_of_all_its_calls() -> None:
    node = x()
    for n in range(3):
        names = (f"{name}{n}" for name in ("gamma", "beta", "mean", "var"))
        node = nn.batch_norm(node, *(relay.var(name, shape=(4,)) for name in names))[0]
        node = relay.sin(node)
    found = explain(IRModule.from_expr(node), "dnnl")
    group = next(g for g in found.groups if g[0].cause == "unbound-constant")
    assert len(group) == 3 and group.offloads == 3
    assert "bind %gamma0, %beta0, %mean0, %var0, %gamma1 and 7 more parameters" in str(found)
    assert "gamma1" not in str(group[0].change)


def test_calls_with_unknown_sizes_suggest_to_give_the_sizes() -> None:
    def network(batch: relay.Any | int, height: relay.Any | int = 8) -> IRModule:
        data = relay.var("data", shape=(batch, 3, height, 8))
        taps = relay.const(np.ones((4, 3, 3, 3), np.float32))
        return IRModule.from_expr(nn.relu(nn.conv2d(data, taps)))

    def has_known_shape(root: Call) -> bool | Refused:
        ty = root.checked_type
        return ty.is_static or Refused(f"the result must have a known shape, found {ty}")

    both = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), is_constant()))
    backends.register(NPU, patterns=[entry("conv_relu", both, has_known_shape)])
    found = explain(network(relay.Any()), NPU)
    assert [e.cause for e in found] == ["check", "check"]
    for one in found:
        assert str(one.change).startswith("give the batch, the first length of the inputs")
        assert one.change is not None and one.change.offloaded == (0, 2)
    for batch in (1, relay.Any()):
        for one in explain(network(batch, relay.Any()), NPU):
            words = "give the inputs known dimension sizes; tried with data=1,3,224,8 ("
            assert one.change is not None and str(one.change).startswith(words)
            assert one.change.offloaded == (0, 2)


def test_change_of_a_group_states_how_many_calls_it_offloads() -> None:
    backends.register(NPU, patterns=[entry("conv_bias", CONV_ADD, left_is_conv)])
    value = conv()
    for _ in range(2):
        value = nn.conv2d(relay.add(weight(4, 1, 1), value), weight(4, 4, 3, 3), padding=(1, 1))
    found = explain(IRModule.from_expr(relay.add(weight(4, 1, 1), value)), NPU)
    (group,) = found.groups
    assert len(group) == 6 and group[0].change is not None
    with_change = explain(group[0].change.setup.mod, NPU)
    now = sum(e.offloaded for e in with_change)
    assert f"(offloads {now} of these 6)" in str(found)
    assert found.as_dict()["groups"][0]["offloads"] == now == 2


def test_change_that_offloads_the_whole_group_states_no_number() -> None:
    backends.register(NPU, patterns=[entry("conv_relu", is_op("nn.relu")(is_op("nn.conv2d")(
        wildcard(), wildcard()
    )))])  # fmt: skip
    text = str(explain(IRModule.from_expr(two_users()), NPU))
    assert "second time" in text and "of these" not in text


def test_numpy_warnings_are_not_shown() -> None:
    zero = relay.const(np.zeros(4, "float32"))
    huge = relay.const(np.full(4, 1e30, "float32"))
    body = relay.Tuple([
        relay.add(x(1, 4), relay.divide(huge, zero)),
        relay.add(x(1, 4), relay.cast(relay.log(zero), "int32").astype("float32")),
        nn.relu(relay.multiply(x(1, 4), relay.exp(huge))),
    ])  # fmt: skip
    table = [entry("add", is_op("add")(wildcard(), is_constant()), lambda root: False)]
    backends.register(NPU, patterns=table)
    mod = IRModule.from_expr(body)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (explain(mod, NPU), coverage(mod, NPU), explain_patterns(table, mod)):
            assert str(text)
        assert coverage(mod, NPU).changes is not None
