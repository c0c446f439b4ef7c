"""The exercise on a wrong region: find the region whose results are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tools import library, module_of
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.typing.infer import infer_module

REGIONS = 4


class FindTheWrongRegion(Exercise):
    """One of four regions has a planted fault; everything after it is wrong, too.

    Students learn to compare at each boundary, and that the first difference is the cause.
    """

    name = "find-the-wrong-region"
    title = "Find the wrong region"
    minutes = 15
    statement = """\
`task.start()` gives two partitioned modules of one network: the right one, and one in which exactly
one region computes wrong results. The fault depends on the seed.

Write `answer(right, wrong)`. It returns the name of the region with the fault, a str such as
`"tvmgen_default_edu_main_0"`. `byoc_lab.evaluate(mod, inputs)` runs a module on arrays by name;
`byoc_lab.diff` and `byoc_lab.structural_equal` compare. If you find it by hand, set `answer` to the
name.
"""
    stub = 'def answer(right, wrong):\n    return ""\n'
    shown = "right, wrong = task.start()\nright"
    mistakes = {
        "kind": "The answer is the name of a global function, a str.",
        "unknown": "There is no region of this name in the modules.",
        "main": "@main only calls the regions; the fault is in one of these.",
        "after": "That region has the same code in both modules, but gets wrong inputs. Go towards "
        "the input of the network.",
        "before": "That region is right, and so is its result. Go towards the result of the "
        "network.",
    }
    hints = (
        "Follow one input through both modules, and compare the results of each region.",
        "The region with the fault is the one whose inputs agree and whose result does not; or "
        "compare the functions of the two modules themselves.",
    )

    def question(self, seed: int = 0) -> list[IRModule]:
        right = self._right(seed)
        wrong = right.copy()
        name = self._name(right, seed)
        wrong[name] = rebuild(right[name], _fault)
        return [right, infer_module(wrong)]

    def respond(self, answer: Any, question: Any) -> Any:
        return answer(*question) if self.is_function(answer) else answer

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, str):
            return Mistake("kind", f"expected a name, found {type(reply).__name__}")
        right, wrong = self.question(seed)
        names, name = _regions(right), self._name(right, seed)
        reply = reply.removeprefix("@")
        if reply == name:
            return None
        if reply == "main":
            return Mistake("main", "@main itself has no fault", wrong)
        if reply not in names:
            return Mistake("unknown", f"no region is named {reply!r}", wrong)
        if names.index(reply) > names.index(name):
            return Mistake("after", f"{reply} computes its result correctly from its inputs", wrong)
        return Mistake("before", f"{reply} computes the same in both modules", wrong)

    def _name(self, mod: IRModule, seed: int) -> str:
        return _regions(mod)[1 + seed % (REGIONS - 2)]

    def _right(self, seed: int) -> IRModule:
        random = np.random.RandomState(seed)
        x = value = relay.var("x", shape=(2, 3))
        for _ in range(REGIONS):
            value = relay.add((relay.tanh, relay.sigmoid)[int(random.randint(2))](value), x)
            value = relay.exp(value)
        steps = [InferType(), AnnotateTarget(library()), MergeCompilerRegions(), PartitionGraph()]
        return Sequential(steps)(module_of(value))


def _regions(mod: IRModule) -> list[str]:
    """The names of the regions, in the order of their calls in @main."""
    calls = [n for n in relay.ir.visit.post_order(mod["main"]) if isinstance(n, Call)]
    return [c.op.name_hint for c in calls if isinstance(c.op, relay.GlobalVar)]


def _fault(pre: Expr, post: Expr) -> Expr:
    if isinstance(post, Call) and isinstance(post.op, Op) and post.op.name in ("tanh", "sigmoid"):
        return relay.nn.relu(post.args[0])
    return post
