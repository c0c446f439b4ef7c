"""Answers to "add-the-missing-end"."""

from __future__ import annotations

from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.op.annotation.regions import compiler_end

HOST = ("exp", "erf", "sqrt")


def answer(mod):
    def change(call):
        if call.op.name not in HOST:
            return call
        return Call(call.op, [compiler_end(call.args[0], "edu")], call.attrs)

    return change_calls(mod, change)


# Typical mistakes


def unchanged(mod):
    return mod


def other_compiler(mod):
    def change(call):
        if call.op.name not in HOST:
            return call
        return Call(call.op, [compiler_end(call.args[0], "other")], call.attrs)

    return change_calls(mod, change)


def around_the_host(mod):
    return change_calls(
        mod, lambda call: compiler_end(call, "edu") if call.op.name in HOST else call
    )


def end_of_each(mod):
    return change_calls(
        answer(mod), lambda call: compiler_end(call, "edu") if call.is_op("nn.conv2d") else call
    )


def without_begins(mod):
    return change_calls(
        mod, lambda call: call.args[0] if call.is_op("annotation.compiler_begin") else call
    )


def without_host(mod):
    return change_calls(answer(mod), lambda call: call.args[0] if call.op.name in HOST else call)


WRONG = {
    "BYL002": unchanged,
    "BYL006": other_compiler,
    "other-regions": around_the_host,
    "BYL001": end_of_each,
    "no-region": without_begins,
    "network": without_host,
}
