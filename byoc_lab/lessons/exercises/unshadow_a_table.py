"""The exercise on a shadowed pattern: the order of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons.tables import Composite, Sample, TableExercise
from byoc_lab.lessons.tools import conv, module_of
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard

KERNELS = {
    "edu.conv2d": ("nn.conv2d",),
    "edu.conv2d_relu": ("nn.conv2d", "nn.relu"),
    "edu.conv2d_bias": ("nn.conv2d", "add"),
    "edu.conv2d_bias_relu": ("nn.conv2d", "add", "nn.relu"),
}
"""Each kernel of the library, and the operators that it computes."""


class UnshadowATable(TableExercise):
    """An earlier entry matches calls that a later, larger entry needs.

    Students learn that MergeComposite tries the entries in order. Several orders are right.
    """

    name = "unshadow-a-table"
    title = "Unshadow a pattern table"
    statement = """\
The table has four entries, and some of them never match: an earlier entry matches some of the calls
that they need. Write `answer(table)`. It gets the entries (name, pattern) in a bad order, and
returns the same entries in an order in which each kernel is used whenever it matches. More than one
is right.
"""
    stub = "def answer(table):\n    return table\n"
    shown = 'names, modules = task.start()\nprint(*names, sep="\\n")'
    mistakes = {
        "shadowed": "A smaller pattern comes before a larger one that contains it, and takes its "
        "conv2d away.",
        "lost": "An entry is missing from your table. All four are to stay.",
        "doubled": "An entry is in your table more than once.",
        "changed": "An entry has another name than before. Only the order is to change.",
        "kind": "answer(table) returns a list of entries (name, pattern).",
        "compared": "Each entry is a pair: sort them by something that you compute from the name.",
    }
    errors = {**TableExercise.errors, "not supported between": "compared"}
    hints = (
        "MergeComposite goes through the table from the start; calls that an entry has matched "
        "are not available to later entries.",
        "Compare two entries at a time: if one pattern is a part of another one, which must "
        "come first?",
    )

    def samples(self, seed: int) -> list[Sample]:
        size = 5 + seed % 3
        x, bias = relay.var("x", shape=(1, 3, size, size)), relay.var("b", shape=(4, 1, 1))
        made: list[Sample] = []
        for name, operators in KERNELS.items():
            out = conv(x, "w", 4)
            if "add" in operators:
                out = relay.add(out, bias)
            if "nn.relu" in operators:
                out = relay.nn.relu(out)
            made.append((module_of(relay.tanh(out)), ((name, operators),)))
        return made

    def order(self, seed: int) -> list[str]:
        """The initial, bad order of a seed; the plain conv2d is never last."""
        names = list(KERNELS)
        order = [str(n) for n in np.random.RandomState(seed).permutation(names[1:])]
        return [names[0], *order]

    def question(self, seed: int = 0) -> list[Any]:
        return [self.order(seed), super().question(seed)]

    def respond(self, answer: Any, question: Any) -> Any:
        names, modules = question
        given = [(name, _pattern(KERNELS[name])) for name in names]
        table = answer(given) if self.is_function(answer) else answer
        if not isinstance(table, (list, tuple)):
            return type(table).__name__
        merged = super().respond(list(table), modules)
        return [[str(entry[0]) for entry in table], merged]

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, (list, tuple)) or len(reply) != 2:
            found = reply if isinstance(reply, str) else type(reply).__name__
            return Mistake("kind", f"expected a list of (name, pattern), found {found}")
        names, modules = reply
        if not isinstance(names, (list, tuple)):
            return Mistake("kind", "expected a list of (name, pattern)")
        if unknown := [name for name in names if name not in KERNELS]:
            return Mistake("changed", f"the names {unknown} are not those of the table")
        if lost := sorted(KERNELS.keys() - set(names)):
            return Mistake("lost", f"the table has lost {', '.join(lost)}")
        if len(names) != len(KERNELS):
            return Mistake("doubled", f"the table has {len(names)} entries, expected 4")
        return super().judge(seed, modules)

    def compared(self, found: Any, mod: IRModule, expected: Sequence[Composite]) -> Mistake | None:
        mistake = super().compared(found, mod, expected)
        if mistake is None or mistake.key == "kind":
            return mistake
        return Mistake("shadowed", mistake.message, mistake.picture)


def _pattern(operators: Sequence[str]) -> Any:
    pattern = is_op("nn.conv2d")(wildcard(), wildcard())
    for operator in operators[1:]:
        operands = [pattern, wildcard()] if operator == "add" else [pattern]
        pattern = is_op(operator)(*operands)
    return pattern
