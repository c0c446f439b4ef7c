"""Other right answers to "residual-is-not-bias"."""

from __future__ import annotations

import numpy as np

from byoc_lab.lessons.solutions.residual_is_not_bias import table
from byoc_lab.relay.patterns import is_op, wildcard


def by_the_pattern():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    bias = wildcard().has_shape((4, 1, 1)) | wildcard().has_shape((1, 4, 1, 1))
    return [("edu.conv2d_bias_relu", is_op("nn.relu")(is_op("add")(conv, bias)))]


def without_leading_ones():
    def is_bias(value):
        shape = list(value.checked_type.concrete_shape)
        return (shape[1:] if len(shape) == 4 and shape[0] == 1 else shape)[1:] == [1, 1]

    return table(lambda call: any(is_bias(arg) for arg in call.args[0].args))


def by_size():
    def few(call):
        sizes = [np.prod(arg.checked_type.concrete_shape) for arg in call.args[0].args]
        return min(sizes) == call.checked_type.concrete_shape[1]

    return table(few)


RIGHT = (by_the_pattern, without_leading_ones, by_size)
