"""The exercise on prediction: how many functions does a partition have?"""

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
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.relay.ir.module import IRModule

HOST = ("exp", "negative")


class PredictTheFunctions(Exercise):
    """Read a module, and predict the number of functions in its partition.

    Students trace annotation, merging and partitioning by hand. A program that counts is also a
    right answer; it is then run on other modules.
    """

    name = "predict-the-functions"
    title = "Predict the number of functions"
    statement = """\
The library `edu` computes `nn.relu`, `tanh`, `sigmoid`, `add` and `nn.conv2d`; everything
else belongs to the host. The module goes through AnnotateTarget, MergeCompilerRegions and
PartitionGraph. How many functions does the result have, `@main` included?

Read `print(task.start())`, predict, and set `answer` to the number. Then look:
`byoc_lab.trace(mod, ["InferType", AnnotateTarget("edu"), ...])`. If you would rather write a
program that predicts, make `answer` a function of the module; it is tried on other modules too.
"""
    stub = "answer = 0  # or a function of the module that returns the number\n"
    mistakes = {
        "kind": "The answer is an integer, or a function of the module that returns one.",
        "without-main": "You have counted the regions. @main is a function of the module as well.",
        "no-merge": "You have counted a function for each operator. MergeCompilerRegions joins "
        "neighbours before the partition.",
        "one-region": "You have put all that the library computes in one region. Is there "
        "anything of the host between?",
        "operators": "That is the number of all operators; the host's stay in @main.",
        "off": "Walk through the module from its input, and start a new region each time that the "
        "library takes over from the host.",
    }
    hints = (
        "Adjacent regions of one compiler are merged if the result stays convex.",
        "Draw the module. Colour what the library computes. Each connected piece becomes a "
        "function; then count @main.",
    )

    def question(self, seed: int = 0) -> IRModule:
        library()
        random = np.random.RandomState(seed)
        value = relay.var("x", shape=(2, 4))
        for number in range(2 + seed % 3):
            for _ in range(2 + int(random.randint(2))):
                value = (relay.tanh if random.rand() < 0.5 else relay.nn.relu)(value)
            for _ in range(1 + (number == 0)):
                value = getattr(relay, HOST[int(random.randint(2))])(value)
        return module_of(relay.nn.relu(relay.tanh(value)))

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if isinstance(reply, bool) or not isinstance(reply, (int, np.integer)):
            return Mistake("kind", f"expected an integer, found {type(reply).__name__}")
        mod = self.question(seed)
        right, unmerged = _functions(mod, merge=True), _functions(mod, merge=False)
        operators = sum(isinstance(n, relay.Call) for n in relay.ir.visit.post_order(mod["main"]))
        if reply == right:
            return None
        kinds = {operators: "operators", 2: "one-region", unmerged: "no-merge"}
        kinds[right - 1] = "without-main"
        return Mistake(kinds.get(int(reply), "off"), f"{reply} is not the number of functions", mod)


def _functions(mod: IRModule, merge: bool) -> int:
    steps: list[Pass] = [InferType(), AnnotateTarget(library())]
    if merge:
        steps.append(MergeCompilerRegions())
    return len(Sequential([*steps, PartitionGraph()])(mod).functions)
