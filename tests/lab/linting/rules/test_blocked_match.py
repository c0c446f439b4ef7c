"""Lint rule BYL031 blocked-match: samples, and the named parameters."""

from __future__ import annotations

import numpy as np

from byoc_lab import IRModule, lint, relay
from byoc_lab.lab.linting.rules.blocked_match import BlockedMatch
from byoc_lab.passes import AnnotateTarget, InferType, MergeComposite, PassContext
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.patterns import is_constant, is_op, is_tuple_get_item, wildcard
from tests.lab.linting.samples import RuleChecks


class TestBlockedMatch(RuleChecks):
    rule = BlockedMatch

    def test_message_names_all_parameters_to_bind(self) -> None:
        """A scale that is folded into a weight must be bound, too."""
        shapes = {"x": (1, 4, 8, 8), "w": (4, 4, 3, 3), "s": (4, 1, 1)}
        x, w, s = (relay.var(name, shape=shape) for name, shape in shapes.items())
        net = relay.Function([x, w, s], relay.multiply(relay.nn.conv2d(x, w), s))
        table = [("npu.conv", is_op("nn.conv2d")(wildcard(), is_constant()))]
        passes = ["FoldScaleAxis", "FoldConstant", MergeComposite(table), AnnotateTarget("npu")]
        values = {name: np.ones(shape, "float32") for name, shape in shapes.items()}
        for bound, missing in (((), "%w, %s"), (("w",), "%s"), (("w", "s"), None)):
            given = bind_params_by_name(net, {name: values[name] for name in bound})
            mod = InferType()(IRModule.from_expr(given))
            with PassContext(opt_level=3):
                found = lint(mod, passes).by_code("BYL031")
            messages = [f.message for f in found]
            assert len(messages) == (missing is not None)
            if missing is not None:
                assert f"({missing})" in messages[0] and "1 x npu.conv more" in messages[0]

    def test_user_outside_the_match_that_is_not_a_call_is_described(self) -> None:
        x = relay.var("x", shape=(2, 4))
        halves = relay.split(x, 2, axis=1)
        pattern = is_op("nn.relu")(is_tuple_get_item(is_op("split")(wildcard()), 1))
        net = relay.Function([x], relay.Tuple([relay.nn.relu(halves[1]), halves[0]]))
        mod = InferType()(IRModule.from_expr(net))
        passes = [MergeComposite([("npu.relu", pattern)]), AnnotateTarget("npu")]
        (found,) = lint(mod, passes).by_code("BYL031")
        assert "except that field 0 of split, outside of the match, uses" in found.message
