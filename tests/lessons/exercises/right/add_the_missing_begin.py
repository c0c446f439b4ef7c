"""Other right answers to "add-the-missing-begin"."""

from __future__ import annotations

import re

from byoc_lab import relay
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.op.annotation.regions import compiler_begin


def every_argument(mod):
    def change(call):
        if call.is_op("annotation.compiler_begin") or call.is_op("annotation.compiler_end"):
            return call
        args = [
            compiler_begin(arg, "dnnl")
            if isinstance(arg, Call) and arg.is_op("annotation.compiler_end")
            else arg
            for arg in call.args
        ]
        return Call(call.op, args, call.attrs)

    return change_calls(mod, change)


def as_text(mod):
    text = mod.astext()
    ends = re.findall(r"(%\d+) = annotation.compiler_end", text)
    for end in ends:
        begun = f'nn.conv2d(annotation.compiler_begin({end}, compiler="dnnl"), '
        text = text.replace(f"nn.conv2d({end}, ", begun)
    return relay.parse(text)


class AddBegins(relay.ExprMutator):
    def visit_call(self, call):
        new = super().visit_call(call)
        if not (new.is_op("nn.conv2d") and new.args[0].is_op("annotation.compiler_end")):
            return new
        begin = relay.op.annotation.compiler_begin(new.args[0], "dnnl")
        return relay.Call(new.op, [begin, *new.args[1:]], new.attrs, new.type_args)


def with_a_mutator(mod):
    return relay.IRModule.from_expr(AddBegins().visit(mod["main"]))


RIGHT = (every_argument, as_text, with_a_mutator)
