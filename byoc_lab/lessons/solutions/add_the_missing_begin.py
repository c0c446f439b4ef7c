"""Answers to "add-the-missing-begin"."""

from __future__ import annotations

from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


def from_a_region(call):
    data = call.args[0]
    return call.is_op("nn.conv2d") and data.is_op("annotation.compiler_end")


def answer(mod):
    def change(call):
        if not from_a_region(call):
            return call
        data, weight = call.args
        return Call(call.op, [compiler_begin(data, "dnnl"), weight], call.attrs)

    return change_calls(mod, change)


# Typical mistakes


def unchanged(mod):
    return mod


def other_compiler(mod):
    def change(call):
        if not from_a_region(call):
            return call
        data, weight = call.args
        return Call(call.op, [compiler_begin(data, "other"), weight], call.attrs)

    return change_calls(mod, change)


def begin_and_end(mod):
    def change(call):
        if not from_a_region(call):
            return call
        data, weight = call.args
        data = compiler_end(compiler_begin(data, "dnnl"), "dnnl")
        return Call(call.op, [compiler_begin(data, "dnnl"), weight], call.attrs)

    return change_calls(mod, change)


def joined(mod):
    def change(call):
        if not from_a_region(call):
            return call
        data, weight = call.args
        return Call(call.op, [data.args[0], weight], call.attrs)

    return change_calls(mod, change)


def without_annotations(mod):
    return change_calls(
        mod, lambda call: call.args[0] if call.op.name.startswith("annotation.") else call
    )


def without_relu(mod):
    return change_calls(answer(mod), lambda c: c.args[0] if c.is_op("nn.relu") else c)


WRONG = {
    "BYL001": unchanged,
    "BYL006": other_compiler,
    "too-many": begin_and_end,
    "too-few": joined,
    "no-region": without_annotations,
    "network": without_relu,
}
