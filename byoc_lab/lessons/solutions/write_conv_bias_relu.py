"""Answers to "write-conv-bias-relu"."""

from __future__ import annotations

from byoc_lab.relay.patterns import is_op, wildcard

NAME = "edu.conv2d_bias_relu"


def answer():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [(NAME, is_op("nn.relu")(is_op("add")(conv, wildcard())))]


# Typical mistakes


def pattern_alone():
    return answer()[0][1]


def other_name():
    return [("conv2d_bias_relu", answer()[0][1])]


def bias_add():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [(NAME, is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard())))]


def bias_may_be_absent():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [(NAME, is_op("nn.relu")(conv.optional(lambda x: is_op("add")(x, wildcard()))))]


def without_relu():
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [(NAME, is_op("add")(conv, wildcard()))]


WRONG = {
    "kind": pattern_alone,
    "name": other_name,
    "missed": bias_add,
    "too-much": bias_may_be_absent,
    "other-operators": without_relu,
}
