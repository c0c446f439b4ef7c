"""The exercise on a first pattern: conv2d, bias and relu."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons import tools
from byoc_lab.lessons.tables import Sample, TableExercise
from byoc_lab.lessons.tools import module_of, numbers

NAME = "edu.conv2d_bias_relu"


class WriteConvBiasRelu(TableExercise):
    """A pattern of exactly three operators.

    Students learn that a pattern is an expression with wildcards, and that a table is also judged
    by what it does not match.
    """

    name = "write-conv-bias-relu"
    title = "Write conv2d + bias + relu"
    statement = """\
The library `edu` has one kernel for `nn.relu(add(nn.conv2d(data, weight), bias))`, where `weight`
and `bias` are constants. Write `answer()`. It returns a pattern table with one entry for it, named
`edu.conv2d_bias_relu`.

The kernel needs all three operators: a graph without the bias or without the relu must not match.
`is_op`, `wildcard` and `is_constant` make patterns.
"""
    stub = """\
from byoc_lab.relay.patterns import is_constant, is_op, wildcard


def answer():
    pattern = is_op("nn.conv2d")(wildcard(), wildcard())
    return [("edu.conv2d_bias_relu", pattern)]
"""
    mistakes = {
        "kind": "A table is a list of entries (name, pattern), also when it has one entry.",
        "name": "The name of the entry differs from the one in the statement.",
        "missed": "Your pattern misses what it should match. Which operator adds the bias in the "
        "module: print it.",
        "too-much": "Your pattern also matches where an operator is missing. Which of its parts "
        "matches anything, or may be absent?",
        "other-operators": "Something matches, but not all three operators: is relu at the root?",
    }
    hints = (
        "Write the expression from the inside out, with wildcard() for what may be anything.",
        "is_op(name) gives something to call with the patterns of its operands. The last operator "
        "of the kernel is the root of the pattern.",
    )

    def samples(self, seed: int) -> list[Sample]:
        size = 6 + seed % 4
        x = relay.var("x", shape=(1, 3, size, size))
        random = np.random.RandomState(seed)

        def conv(data: relay.Expr) -> relay.Expr:
            return tools.conv(data, numbers(random, 3, 3, 3, 3), 3)

        bias = numbers(random, 3, 1, 1)
        relu, one = relay.nn.relu, (NAME, ("nn.conv2d", "add", "nn.relu"))
        block = relu(relay.add(conv(x), bias))
        for _ in range(seed % 2):
            block = relu(relay.add(conv(block), bias))
        return [
            (module_of(relay.tanh(block)), (one,) * (1 + seed % 2)),
            (module_of(relu(conv(x))), ()),
            (module_of(relu(relay.add(relay.tanh(x), bias))), ()),
            (module_of(relay.tanh(relay.add(conv(x), bias))), ()),
        ]
