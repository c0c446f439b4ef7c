"""The exercise on a reversed add: a check that works for both orders of operands."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.tables import Sample, TableExercise
from byoc_lab.lessons.tools import conv, module_of

NAME = "edu.conv2d_bias"


class CommutativeBias(TableExercise):
    """The pattern matches add in both orders; a check of operand 1 accepts only one.

    Students learn that `add` in a pattern is commutative, and that a check sees the operands in the
    order of the module.
    """

    name = "commutative-bias"
    title = "Make a check commutative-safe"
    statement = """\
In a pattern, `add` matches its operands in both orders: `add(conv, bias)` and `add(bias, conv)`.
The check below treats operand 1 as the bias, and so is right for only one order.

Write `answer()`. It returns the table with a check that is right for both: the entry
`edu.conv2d_bias` matches exactly where the operand that is not the conv2d has the shape
(channels, 1, 1).
"""
    stub = """\
from byoc_lab.relay.patterns import is_op, wildcard


def accepts(call):
    conv, bias = call.args
    channels = conv.checked_type.concrete_shape[1]
    return tuple(bias.checked_type.concrete_shape) == (channels, 1, 1)


def answer():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [("edu.conv2d_bias", is_op("add")(conv, wildcard()), accepts)]
"""
    mistakes = {
        "missed": "add(bias, conv) is a match too, and there the bias is operand 0.",
        "too-much": "The check accepts something that is not a bias: compare the whole shape with "
        "(channels, 1, 1).",
        "check-raised": "The check raises an error for one of the modules. What are operand 0 and "
        "operand 1 in add(bias, conv)?",
        "name": "The name of the entry differs from the one in the statement.",
        "kind": "A table is a list of entries (name, pattern, check).",
        "other-operators": "The match has other operators than conv2d and add.",
    }
    hints = (
        "Find out first which of the two operands is the conv2d; the other one is the bias.",
        "An operand may be a variable, a constant or a call. Ask whether it is a call of "
        "nn.conv2d before you look further.",
    )

    def samples(self, seed: int) -> list[Sample]:
        size = 5 + seed % 4
        x = relay.var("x", shape=(1, 3, size, size))
        bias = relay.var("b", shape=(4, 1, 1))
        same = relay.var("same", shape=(1, 4, size, size))
        column = relay.var("column", shape=(4, size, 1))
        single = relay.var("single", shape=(1, 1, 1))
        one = ((NAME, ("nn.conv2d", "add")),)

        def added(other: relay.Expr, reverse: bool) -> Sample:
            operands = [conv(x, "w", 4), other]
            out = relay.tanh(relay.add(*operands[:: -1 if reverse else 1]))
            return module_of(out), one if other is bias else ()

        return [added(v, r) for r in (False, True) for v in (bias, same, column, single)]
