"""`rewrite`: arguments of callbacks, and the number of rounds."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.patterns import DFPatternCallback, is_op, rewrite, wildcard
from tests.relay.patterns.chains import X


class AbsOfAbs(DFPatternCallback):
    """abs(abs(x)) is abs(x)."""

    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.inner = wildcard()
        self.pattern = is_op("abs")(is_op("abs")(self.inner))
        self.seen: list[tuple] = []

    def callback(self, pre, post, node_map):
        self.seen.append((pre, post, node_map))
        return relay.abs(node_map[self.inner][0])


def abses(n: int) -> relay.Expr:
    value: relay.Expr = X
    for _ in range(n):
        value = relay.abs(value)
    return value


def test_rewrite_repeats_until_nothing_changes() -> None:
    assert structural_equal(AbsOfAbs().rewrite(abses(5)), abses(1), map_free_vars=True)


def test_rewrite_once_stops_after_the_first_round_that_changed_something() -> None:
    # Five: two pairs in the first round, so three remain.
    result = rewrite(AbsOfAbs(rewrite_once=True), abses(5))
    assert structural_equal(result, abses(3), map_free_vars=True)


def test_pre_is_the_original_and_post_has_rewritten_operands() -> None:
    callback = AbsOfAbs(rewrite_once=True)
    root = abses(4)
    callback.rewrite(root)
    (_, first_post, _), (pre, post, node_map) = callback.seen
    assert pre is root
    assert post is not pre
    assert structural_equal(node_map[callback.inner][0], relay.abs(X), map_free_vars=True)
    assert first_post.op.name == "abs"
    assert callback.pattern in node_map


def test_require_type_infers_the_type_of_pre() -> None:
    callback = AbsOfAbs(require_type=True)
    callback.rewrite(abses(2))
    assert all(pre.is_typed for pre, _, _ in callback.seen)


def test_callback_that_returns_post_changes_nothing() -> None:
    class Leave(AbsOfAbs):
        def callback(self, pre, post, node_map):
            return post

    root = abses(3)
    assert Leave().rewrite(root) is root


def test_several_callbacks_run_in_order() -> None:
    class ExpToAbs(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.x = wildcard()
            self.pattern = is_op("exp")(self.x)

        def callback(self, pre, post, node_map):
            return relay.abs(node_map[self.x][0])

    root = relay.exp(relay.abs(relay.exp(X)))
    result = rewrite([ExpToAbs(), AbsOfAbs()], root)
    assert structural_equal(result, abses(1), map_free_vars=True)


def test_callback_that_never_settles_raises_pass_error() -> None:
    class Grow(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__()
            self.pattern = is_op("abs")(wildcard())

        def callback(self, pre, post, node_map):
            return relay.abs(relay.exp(post.args[0]))

    with pytest.raises(PassError, match=r"100 rounds.*Grow"):
        Grow().rewrite(abses(1))


def test_match_with_an_inner_value_used_outside_is_not_rewritten() -> None:
    inner = relay.abs(X)
    root = relay.Tuple([relay.abs(inner), inner])
    assert AbsOfAbs().rewrite(root) is root


def test_callback_class_needs_a_callback_method() -> None:
    with pytest.raises(TypeError, match="abstract class Mine"):
        type("Mine", (DFPatternCallback,), {})()
