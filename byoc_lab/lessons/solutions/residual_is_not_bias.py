"""Answers to "residual-is-not-bias"."""

from __future__ import annotations

from byoc_lab.relay import Call, Constant
from byoc_lab.relay.patterns import is_op, wildcard


def is_conv(value):
    return isinstance(value, Call) and value.is_op("nn.conv2d")


def accepts(call):
    left, right = call.args[0].args
    conv, bias = (left, right) if is_conv(left) else (right, left)
    shape = tuple(bias.checked_type.concrete_shape)
    channels = conv.checked_type.concrete_shape[1]
    return shape in ((channels, 1, 1), (1, channels, 1, 1))


def table(accepts, name="edu.conv2d_bias_relu"):
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [(name, is_op("nn.relu")(is_op("add")(conv, wildcard())), accepts)]


def answer():
    return table(accepts)


# Typical mistakes


def everything():
    return table(lambda call: True)


def constants_only():
    return table(lambda call: accepts(call) and isinstance(call.args[0].args[1], Constant))


def check_of_the_add():
    return table(lambda call: call.args[1].checked_type.concrete_shape == (4, 1, 1))


def other_name():
    return table(accepts, "edu.conv2d_add_relu")


def a_function():
    return accepts


def without_relu():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [("edu.conv2d_bias_relu", is_op("add")(conv, wildcard()))]


WRONG = {
    "too-much": everything,
    "missed": constants_only,
    "check-raised": check_of_the_add,
    "name": other_name,
    "kind": a_function,
    "other-operators": without_relu,
}
