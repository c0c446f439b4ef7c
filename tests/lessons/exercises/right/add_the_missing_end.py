"""Other right answers to "add-the-missing-end"."""

from __future__ import annotations

import re

from byoc_lab import relay
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.op.annotation.regions import compiler_end


def after_the_last_relu(mod):
    body = mod["main"].body  # the operator on the host
    ended = Call(body.op, [compiler_end(body.args[0], "edu")], body.attrs)
    return relay.IRModule.from_expr(relay.Function(mod["main"].params, ended))


def as_text(mod):
    text = mod.astext(show_types=False)
    end = r'\1(annotation.compiler_end(\2, compiler="edu"))'
    return relay.parse(re.sub(r"\b(exp|erf|sqrt)\((%\d+)\)", end, text))


def what_the_library_lacks(mod):
    def change(call):
        supported = ("nn.conv2d", "nn.relu", "annotation.compiler_begin")
        if call.op.name in supported:
            return call
        return Call(call.op, [compiler_end(arg, "edu") for arg in call.args], call.attrs)

    return change_calls(mod, change)


RIGHT = (after_the_last_relu, as_text, what_the_library_lacks)
