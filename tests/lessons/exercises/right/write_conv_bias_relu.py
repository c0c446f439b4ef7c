"""Other right answers to "write-conv-bias-relu"."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.relay.patterns import is_constant, is_op, wildcard

NAME = "edu.conv2d_bias_relu"


def constants():
    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    conv_bias = is_op("add")(conv, is_constant())
    return [(NAME, is_op("nn.relu")(conv_bias))]


def with_a_check():
    def complete(call):
        return any(isinstance(arg, relay.Constant) for arg in call.args[0].args)

    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    summed = is_op("add")(conv, wildcard()) | is_op("add")(wildcard(), conv)
    return [(NAME, is_op("nn.relu")(summed), complete)]


def both_forms_of_bias():
    conv = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"kernel_size": [3, 3]})
    bias = wildcard()
    return ((NAME, is_op("nn.relu")(is_op("add")(conv, bias) | is_op("nn.bias_add")(conv, bias))),)


RIGHT = (constants, with_a_check, both_forms_of_bias, constants())
