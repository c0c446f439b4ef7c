"""The exercise on the order of passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import ByocLabError, counted
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tables import composites_of
from byoc_lab.lessons.tools import conv, library, module_of, numbers
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes import make_pass
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, PassContext, Sequential
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard

NAMES = (
    "SimplifyInference", "FoldConstant", "FoldScaleAxis", "MergeComposite", "AnnotateTarget",
    "MergeCompilerRegions", "PartitionGraph",
)  # fmt: skip
REGION = ("nn.conv2d", "add", "nn.relu")


class OrderThePasses(Exercise):
    """Put seven passes into an order that leaves no part of the batch norm in @main.

    Students learn what each pass requires from earlier passes. Several orders are right.
    """

    name = "order-the-passes"
    title = "Order the passes"
    minutes = 15
    statement = """\
The module has $blocks of conv2d, batch norm and relu with constant weights. The library `edu` has a
kernel for conv2d, add and relu together, and MergeComposite gets its pattern. Seven passes, in the
right order, make one composite of each block, put every composite in a region of `edu`, and leave
no operator to the host: the scale of the batch norm ends in the weights, its shift becomes the
bias. Blocks that follow each other may share a region.

`answer(names)` gets the names of the passes, shuffled, and returns them in the order in which they
are to run, as a list. Each pass must run, and may run more than once. All run with opt_level 3. If
you find the order by hand, set `answer` to the list.
"""
    stub = "def answer(names):\n    return names\n"
    shown = "names, mod = task.start()\nprint(names)\nmod"
    mistakes = {
        "kind": "The answer is a list of names, all of them str.",
        "unknown": "There is no such pass here: use the names that you are given.",
        "left-out": "A pass of the list does not run at all. Each has something to do.",
        "no-region": "There is no region: PartitionGraph only cuts out annotated operators.",
        "host": "Operators are left in @main. Which pass would have removed them, and when did it "
        "run? FoldScaleAxis needs the multiply that SimplifyInference makes.",
        "no-composite": "The operators are in the region one by one: annotated calls are no longer "
        "next to each other, so a pattern that comes after finds nothing.",
        "refused": "A pass refuses the result of the pass before it. Read its message.",
    }
    hints = (
        "Begin with the pass that decomposes the batch norm; then move and fold constants; the "
        "four passes of BYOC come last.",
        "Among the four, composites come before annotations, and the cut comes last. Check with "
        "byoc_lab.trace what each pass changes.",
    )

    def words(self, seed: int) -> Mapping[str, str]:
        return {"blocks": counted(_blocks(seed), "block")}

    def names(self, seed: int) -> list[str]:
        """The shuffled names, with PartitionGraph before AnnotateTarget."""
        names = [str(name) for name in np.random.RandomState(seed).permutation(NAMES)]
        names.remove("PartitionGraph")
        return ["PartitionGraph", *names]

    def module(self, seed: int) -> IRModule:
        """The module in the variant of a seed."""
        random = np.random.RandomState(seed)
        out: relay.Expr = relay.var("x", shape=(1, 3, 6, 6))
        for _ in range(_blocks(seed)):
            out = conv(out, numbers(random, 3, 3, 3, 3), 3)
            out = relay.nn.batch_norm(out, *(numbers(random, 3) for _ in range(4)))[0]
            out = relay.nn.relu(out)
        return module_of(out)

    def question(self, seed: int = 0) -> list[Any]:
        return [self.names(seed), self.module(seed)]

    def respond(self, answer: Any, question: Any) -> Any:
        names, mod = question
        order = answer(list(names)) if self.is_function(answer) else answer
        if not isinstance(order, (list, tuple)):
            return type(order).__name__
        if other := [type(name).__name__ for name in order if not isinstance(name, str)]:
            return f"a {type(order).__name__} with {other[0]}"
        if any(name not in NAMES for name in order):
            return [list(order), None]
        try:
            with PassContext(opt_level=3):
                return [list(order), Sequential([InferType(), *map(_pass, order)])(mod)]
        except ByocLabError as error:
            return [list(order), f"{type(error).__name__}: {error}"]

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, (list, tuple)) or len(reply) != 2 or not _names(reply[0]):
            found = reply if isinstance(reply, str) else type(reply).__name__
            return Mistake("kind", f"expected a list of names, found {found}")
        order, found = reply
        if unknown := sorted(set(order) - set(NAMES)):
            return Mistake("unknown", f"these are none of the passes: {', '.join(unknown)}")
        if missing := sorted(set(NAMES) - set(order)):
            return Mistake("left-out", f"these passes do not run: {', '.join(missing)}")
        if isinstance(found, str):
            return Mistake("refused", f"in this order, a pass raises {found}")
        if (wrong := structure.wrong_kind(found) or structure.wrong_types(found)) is not None:
            return wrong
        regions = structure.regions_of(found)
        if not regions:
            return Mistake("no-region", "the result has no region", found)
        host = structure.operators_of(found["main"])
        if host:
            return Mistake("host", f"in @main there are still {', '.join(host)}", found)
        inside = sorted(op for _, operators in regions for op in operators)
        wanted = sorted(REGION * _blocks(seed))
        if inside != wanted:
            return Mistake("host", f"the regions have {inside}, expected {wanted}", found)
        made = sum(len(composites_of(found, gv.name_hint)) for gv in found.functions)
        if made != _blocks(seed):
            told = f"expected {counted(_blocks(seed), 'composite')}, found {made}"
            return Mistake("no-composite", told, found)
        return structure.other_numbers(found, self.module(seed), seed)


def _blocks(seed: int) -> int:
    return 1 + seed % 2


def _names(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)


def _pass(name: str) -> Pass:
    if name == "MergeComposite":
        matched = is_op("nn.conv2d")(wildcard(), wildcard())
        root = is_op("nn.relu")(is_op("add")(matched, wildcard()))
        return MergeComposite([("edu.conv2d_bias_relu", root)])
    if name == "AnnotateTarget":
        return AnnotateTarget(library())
    return make_pass(name)
