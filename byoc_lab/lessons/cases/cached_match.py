"""The case of a cached match that MergeComposite reused."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, patterns_say
from byoc_lab.lessons.cases.networks import typed
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.text.parser import parse
from byoc_lab.run.reference import evaluate


class CachedMatch(DumpCase):
    """MergeComposite takes a network for its pattern, and an operator of the network is lost.

    The pattern is `mul(relu, clip(relu))`, the network `mul(relu, clip(add(relu, x)))`. The matcher
    of April 2020 met relu a second time in the pattern, as the argument of clip. It reused the
    cached match of relu without checking the argument of clip in the network, which is an add. The
    composite function lacks the add, and the numbers are wrong. The pattern matcher that replaced
    it in May 2020 checks both.
    """

    name = "cached-match"
    title = "A cached match drops an operator, and the numbers are wrong"
    reference = (
        "apache/tvm pull request 5552, "
        '"[BYOC, MergeComposite] Add additional check before re-using the cached match", May 2020'
    )
    link = "https://github.com/apache/tvm/pull/5552"
    era = "until May 2020"
    fix = "Use a matcher that compares a node again for each place of the pattern (all later ones)."
    cause = "never"
    recorded = """
def @main(%x: Tensor[(4), float32]) {
  %2 = fn (%p: Tensor[(4), float32], Composite="mychip.relu_clip_mul") {
    %0 = nn.relu(%p);
    %1 = clip(%0, a_min=0f, a_max=6f);
    multiply(%0, %1)
  };
  %2(%x)
}
"""

    def program(self) -> IRModule:
        """The input module of the pass."""
        x = relay.var("x", shape=(4,))
        positive = relay.nn.relu(x)
        return typed(relay.multiply(positive, relay.clip(relay.add(positive, x), 0.0, 6.0)))

    def shown(self) -> Symptom:
        x = np.linspace(-1, 2, 4, dtype="float32")
        found, wanted = (
            evaluate(m, {"x": x}).value for m in (parse(self.recorded), self.program())
        )
        worst = float(np.abs(found - wanted).max())
        assert worst > 0
        return Symptom(f"the result is off by up to {worst:g}", parse(self.recorded))

    def diagnosis(self) -> ExpectedDiagnosis:
        return patterns_say(_table(), self.program())

    def today(self) -> str:
        merged = MergeComposite(_table())(self.program())
        made = [
            n
            for n in post_order(merged["main"])
            if isinstance(n, Call) and isinstance(n.op, Function)
        ]
        return f"MergeComposite makes {len(made)} composites of it"


def _table() -> list[tuple[Any, ...]]:
    positive = is_op("nn.relu")(wildcard())
    return [("mychip.relu_clip_mul", is_op("multiply")(positive, is_op("clip")(positive)))]
