"""Passes that apply callbacks of dataflow patterns until nothing changes."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.relay import Call, Expr, IRModule
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.patterns import DFPatternCallback, is_op, wildcard


class _Undo(DFPatternCallback):
    """negative(negative(x)) -> x"""

    reason = "two signs cancel"

    def __init__(self) -> None:
        super().__init__()
        self.pattern = is_op("negative")(is_op("negative")(wildcard()))

    def callback(self, pre: Expr, post: Expr, node_map: object) -> Expr:
        assert isinstance(post, Call) and isinstance(post.args[0], Call)
        return post.args[0].args[0]


class _Again(_Undo):
    def callback(self, pre: Expr, post: Expr, node_map: object) -> Expr:
        assert isinstance(post, Call)
        return relay.negative(post.args[0])


class Undo(PatternRewrite):
    """Removes pairs of signs that cancel."""

    def callbacks(self) -> list[DFPatternCallback]:
        return [_Undo()]


class Endless(PatternRewrite):
    """A callback whose result matches again."""

    def callbacks(self) -> list[DFPatternCallback]:
        return [_Again()]


def _negatives(count: int) -> IRModule:
    body: Expr = relay.var("x", shape=(2,))
    for _ in range(count):
        body = relay.negative(body)
    return IRModule.from_expr(body)


@pytest.mark.parametrize("count", [2, 3, 8, 9])
def test_callbacks_are_applied_until_nothing_changes(count: int) -> None:
    assert list_op_freqs(Undo()(_negatives(count))).get("negative", 0) == count % 2


def test_each_replacement_is_an_event_with_its_callback_s_reason() -> None:
    (stage,) = (s for s in byoc_lab.trace(_negatives(2), [Undo()]) if s.name == "Undo")
    assert [(e.rule, e.reason) for e in stage.events] == [("_Undo", "two signs cancel")]


def test_callbacks_that_always_match_again_are_refused() -> None:
    with pytest.raises(PassError, match=r"Endless did not settle within .* rounds; check"):
        Endless()(_negatives(2))


class _Halve(DFPatternCallback):
    """exp(x) -> log(x), with the type of `post`."""

    def __init__(self) -> None:
        super().__init__()
        self.data = wildcard()
        self.pattern = is_op("exp")(self.data)
        self.seen: list[object] = []

    def callback(self, pre: Expr, post: Expr, node_map: dict[object, list[Expr]]) -> Expr:
        (data,) = node_map[self.data]
        self.seen += [post.checked_type, data.checked_type]
        return relay.log(relay.abs(data))


def test_callback_sees_types_of_nodes_from_the_same_round() -> None:
    seen: list[object] = []

    class Halved(PatternRewrite):
        def callbacks(self) -> list[DFPatternCallback]:
            made = _Halve()
            made.seen = seen
            return [made]

    x, c = relay.var("x", shape=(2, 3)), relay.var("c", shape=(), dtype="bool")
    y = relay.var("y")
    inside = relay.Let(y, relay.exp(relay.exp(x)), relay.exp(relay.add(y, relay.exp(x))))
    body = relay.If(c, relay.exp(inside), relay.exp(relay.Tuple([x, inside]).fields[1]))
    mod = IRModule.from_expr(relay.Function([x, c], body))
    after = Halved()(mod)
    assert len(seen) == 12 and len({str(ty) for ty in seen}) == 1
    assert list_op_freqs(after) == {"log": 6, "abs": 6, "add": 1}
    assert all(f.is_typed for f in after.functions.values())


class _ToInt(DFPatternCallback):
    """Converts an operator to integers, and casts its operands if they are not converted yet."""

    def __init__(self) -> None:
        super().__init__()
        self.pattern = is_op("negative")(wildcard()) | is_op("add")(wildcard(), wildcard())

    def callback(self, pre: Expr, post: Expr, node_map: object) -> Expr:
        assert isinstance(post, Call)
        if pre.checked_type.dtype == "int32":
            return post
        args = [a if a.is_typed and a.checked_type.dtype == "int32" else relay.cast(a, "int32")
                for a in post.args]  # fmt: skip
        return Call(post.op, args, post.attrs)


class ToInt(PatternRewrite):
    """Converts negative and add to integers."""

    def callbacks(self) -> list[DFPatternCallback]:
        return [_ToInt()]


def test_callback_may_repair_nodes_from_the_same_round() -> None:
    x = relay.var("x", shape=(2,))
    body = relay.cast(relay.add(relay.negative(x), x), "float32")
    after = ToInt()(IRModule.from_expr(body))["main"].body
    assert isinstance(after, Call) and after.args[0].checked_type.dtype == "int32"
