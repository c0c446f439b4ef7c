"""Other right answers to "commutative-bias"."""

from __future__ import annotations

from byoc_lab.lessons.solutions.commutative_bias import table
from byoc_lab.relay.patterns import is_op, wildcard


def any_operand():
    def one_of_them(call):
        shapes = [tuple(int(n) for n in arg.checked_type.shape) for arg in call.args]
        return (call.checked_type.concrete_shape[1], 1, 1) in shapes

    return table(one_of_them)


def two_checks():
    def bias_at(call, place):
        shape = call.args[place].checked_type.concrete_shape
        return len(shape) == 3 and shape[0] == 4 and shape[1] == shape[2] == 1

    return table(lambda call: bias_at(call, 0) or bias_at(call, 1))


def by_the_pattern():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [("edu.conv2d_bias", is_op("add")(conv, wildcard().has_shape((4, 1, 1))))]


RIGHT = (any_operand, two_checks, by_the_pattern)
