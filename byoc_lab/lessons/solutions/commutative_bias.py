"""Answers to "commutative-bias"."""

from __future__ import annotations

from byoc_lab.relay import Call
from byoc_lab.relay.patterns import is_op, wildcard


def is_conv(value):
    return isinstance(value, Call) and value.is_op("nn.conv2d")


def accepts(call):
    left, right = call.args
    conv, bias = (left, right) if is_conv(left) else (right, left)
    channels = conv.checked_type.concrete_shape[1]
    return tuple(bias.checked_type.concrete_shape) == (channels, 1, 1)


def table(accepts, name="edu.conv2d_bias"):
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [(name, is_op("add")(conv, wildcard()), accepts)]


def answer():
    return table(accepts)


# Typical mistakes


def as_it_was():
    return table(lambda call: tuple(call.args[1].checked_type.concrete_shape) == (4, 1, 1))


def everything():
    return table(lambda call: True)


def attributes_of_a_variable():
    return table(lambda call: call.args[0].attrs.channels == call.args[1].attrs.channels)


def other_name():
    return table(accepts, "conv2d_bias")


def one_entry():
    return "edu.conv2d_bias"


def with_more():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    root = is_op("tanh")(is_op("add")(conv, wildcard()))
    return [("edu.conv2d_bias", root, lambda call: accepts(call.args[0]))]


WRONG = {
    "missed": as_it_was,
    "too-much": everything,
    "check-raised": attributes_of_a_variable,
    "name": other_name,
    "kind": one_entry,
    "other-operators": with_more,
}
