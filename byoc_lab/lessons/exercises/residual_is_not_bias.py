"""The exercise on a residual that a pattern matches as a bias."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.tables import Sample, TableExercise
from byoc_lab.lessons.tools import conv, module_of

NAME = "edu.conv2d_bias_relu"


class ResidualIsNotBias(TableExercise):
    """A skip connection is also an add, but a kernel with a bias computes it wrongly.

    Students write the check missing in apache/tvm issue 12314: a bias is recognized by its shape,
    not by being a constant.
    """

    name = "residual-is-not-bias"
    title = "A residual is not a bias"
    statement = """\
In a residual network, `nn.relu(add(nn.conv2d(...), skip))` adds a whole image; the library `edu`
can only add one number for each channel. Write `answer()`. It returns a table with the entry
`edu.conv2d_bias_relu`, whose check accepts every bias and no residual.

A bias has the shape (channels, 1, 1) or (1, channels, 1, 1), as a constant or as a parameter.
"""
    stub = """\
from byoc_lab.relay.patterns import is_op, wildcard


def accepts(call):  # call is the root of the match: nn.relu
    return True


def answer():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [("edu.conv2d_bias_relu", is_op("nn.relu")(is_op("add")(conv, wildcard())), accepts)]
"""
    mistakes = {
        "too-much": "A residual is accepted. Print the shapes of both operands of add: how many "
        "numbers has a bias?",
        "missed": "A bias is refused. It may be a parameter as well as a constant, of rank 3 or 4, "
        "and in an add it may be either operand.",
        "check-raised": "The check gets the root of the match, which is nn.relu; the add is its "
        "operand.",
        "name": "The name of the entry differs from the one in the statement.",
        "kind": "A table is a list of entries (name, pattern, check).",
        "other-operators": "The match must have conv2d, add and relu.",
    }
    hints = (
        "A bias has one number for each channel; where the image has one channel and one pixel, "
        "the two cannot be told apart, and need not be.",
        "Leave out the leading 1 of the shape, if there is one; what remains is to be compared.",
    )

    def samples(self, seed: int) -> list[Sample]:
        size = 5 + seed % 4
        x = relay.var("x", shape=(1, 4, size, size))
        one = ((NAME, ("nn.conv2d", "add", "nn.relu")),)

        def added(other: relay.Expr, bias: bool, reverse: bool = False) -> Sample:
            operands = [conv(x, "w", 4), other]
            return (
                module_of(relay.nn.relu(relay.add(*operands[:: -1 if reverse else 1]))),
                one if bias else (),
            )

        parameter = relay.var("b", shape=(4, 1, 1))
        random = relay.const([[[0.5]], [[1.0]], [[2.0]], [[float(seed)]]])
        return [
            added(parameter, True),
            added(relay.var("b", shape=(1, 4, 1, 1)), True),
            added(random, True),
            added(x, False),
            added(relay.var("s", shape=(4, size, size)), False),
            added(relay.tanh(x), False, reverse=True),
            added(parameter, True, reverse=True),
        ]
