"""The exercise on a multiply that a batch norm leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import counted
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tools import conv, module_of, numbers
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.relay.ir.module import IRModule


class RemoveTheLeftoverMultiply(Exercise):
    """A decomposed batch norm leaves a multiply after the conv2d, until it is folded into the
    weights.

    The passes for this exist, but must run with opt_level 3.
    """

    name = "remove-the-leftover-multiply"
    title = "Remove the leftover multiply"
    statement = """\
The module has $blocks of conv2d, batch norm and relu with constant weights. Decomposed, the batch
norm becomes a multiply and an add; the library has no multiply.

Write `answer(mod)`. It returns a module that computes the same with conv2d, add and relu only, one
of each for each block. `byoc_lab.transform` has the passes.
"""
    stub = """\
import byoc_lab
from byoc_lab import transform


def answer(mod):
    return transform.SimplifyInference()(mod)
"""
    mistakes = {
        "batch-norm": "The batch norm is still there. Which pass decomposes it?",
        "multiply": "A multiply is left after the conv2d: its scale belongs into the weights. A "
        "pass folds it there, if the context's opt_level is high enough for it.",
        "numbers": "The multiply is gone, but its factor, too: the result differs.",
        "lost": "An operator is missing that the result needs.",
        "none": "Passes return a new module: do not forget to return it.",
    }
    hints = (
        "There are three steps: decompose the batch norm, move the scale, fold the constants.",
        "A pass with an opt_level above that of the PassContext is skipped in a Sequential "
        "without a message. byoc_lab.trace shows what ran.",
    )

    def words(self, seed: int) -> Mapping[str, str]:
        return {"blocks": counted(_blocks(seed), "block")}

    def question(self, seed: int = 0) -> IRModule:
        random = np.random.RandomState(seed)
        out: relay.Expr = relay.var("x", shape=(1, 3, 6, 6))
        for _ in range(_blocks(seed)):
            out = conv(out, numbers(random, 3, 3, 3, 3), 3)
            out = relay.nn.batch_norm(out, *(numbers(random, 3) for _ in range(4)))[0]
            out = relay.nn.relu(out)
        return module_of(out)

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if (wrong := structure.wrong_kind(reply) or structure.wrong_types(reply)) is not None:
            return wrong
        plain = self.question(seed)
        numbers_differ = structure.other_numbers(reply, plain, seed)
        found = sorted(structure.operators_of(reply["main"]))
        wanted = sorted(("nn.conv2d", "add", "nn.relu") * _blocks(seed))
        listed = f"expected {', '.join(wanted)}; found {', '.join(found)}"
        if "nn.batch_norm" in found:
            return Mistake("batch-norm", listed, reply)
        if numbers_differ is not None and sorted({*found}) != sorted({*wanted}):
            return Mistake("lost", listed, reply)
        if numbers_differ is not None:
            return numbers_differ
        if found == wanted:
            return None
        return Mistake("multiply", listed, reply)


def _blocks(seed: int) -> int:
    return 1 + seed % 2
