"""Groups of a picture: an operator together with the element-wise operators after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byoc_lab import relay
from byoc_lab.lab.view.drawing.groups import MAX_LOOSE, grouped
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.relay import nn
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.ir.foreign import foreign_op
from byoc_lab.relay.op import OpPattern, define_op
from byoc_lab.relay.op.framework.registry import identity

DEFINED = define_op("test.follower", "data", identity, pattern=OpPattern.ELEMWISE)


def chains(following: Callable[[relay.Expr], relay.Expr]) -> list[list[str]]:
    """The operators in each group of a chain in a large picture."""
    x: relay.Expr = relay.var("x", shape=(8, 8))
    for n in range(MAX_LOOSE):
        x = following(nn.dense(x, relay.var(f"w{n}", shape=(8, 8))))
    groups = grouped(picture_of(x)).groups()
    return [[box.title for box in group.members] for group in groups if group.kind == "chain"]


@pytest.mark.parametrize(
    ("following", "name"),
    [
        (relay.sigmoid, "sigmoid"),
        (lambda x: relay.add(x, relay.const(1.0)), "add"),
        (lambda x: relay.Call(DEFINED, [x]), "test.follower"),
        (lambda x: relay.Call(foreign_op("relax.nn.relu"), [x], DictAttrs({})), "nn.relu"),
    ],
    ids=["function", "with a constant", "a user-defined operator", "of Relax"],
)
def test_elementwise_operator_is_grouped_with_the_operator_before_it(
    following: Callable[[relay.Expr], relay.Expr], name: str
) -> None:
    found = chains(following)
    assert len(found) == MAX_LOOSE
    assert all(group == ["nn.dense", name] for group in found)


@pytest.mark.parametrize("following", [nn.softmax, relay.transpose, relay.cumsum])
def test_operator_that_reads_other_elements_is_not_grouped(
    following: Callable[[relay.Expr], relay.Expr],
) -> None:
    assert chains(following) == []
