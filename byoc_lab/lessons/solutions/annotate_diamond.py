"""Answers to "annotate-diamond"."""

from __future__ import annotations

from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call, Var
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


def answer(mod):
    def change(call):
        name = call.op.name
        if isinstance(call.args[0], Var):  # the first operator
            return Call(call.op, [compiler_begin(call.args[0], "edu")], call.attrs)
        if name == "exp":
            return Call(call.op, [compiler_end(call.args[0], "edu")], call.attrs)
        if name == "add":  # a separate region, after exp
            way, host = call.args
            ended = compiler_begin(compiler_end(way, "edu"), "edu")
            return compiler_end(Call(call.op, [ended, compiler_begin(host, "edu")]), "edu")
        return call

    return change_calls(mod, change)


# Typical mistakes


def unchanged(mod):
    return mod


def _wrapped(mod, inside):
    """Annotate each operator named in `inside` as a separate region."""

    def change(call):
        if call.op.name not in inside:
            return call
        begins = [compiler_begin(arg, "edu") for arg in call.args]
        return compiler_end(Call(call.op, begins, call.attrs), "edu")

    return change_calls(mod, change)


SUPPORTED = ("tanh", "sigmoid", "nn.relu", "add")


def each_alone(mod):
    return _wrapped(mod, SUPPORTED)


def with_exp(mod):
    return _wrapped(mod, (*SUPPORTED, "exp"))


def only_the_first(mod):
    return _wrapped(mod, ("tanh", "sigmoid"))


def all_in_one(mod):
    def change(call):
        if isinstance(call.args[0], Var):
            return Call(call.op, [compiler_begin(call.args[0], "edu")], call.attrs)
        if call.is_op("exp"):
            return Call(call.op, [compiler_end(call.args[0], "edu")], call.attrs)
        if call.is_op("add"):
            way, host = call.args
            return compiler_end(Call(call.op, [way, compiler_begin(host, "edu")]), "edu")
        return call

    return change_calls(mod, change)


def without_exp(mod):
    return change_calls(mod, lambda call: call.args[0] if call.is_op("exp") else call)


def no_begin_after_exp(mod):
    def change(call):
        if not call.is_op("add"):
            return call
        way, host = (arg.args[0] for arg in call.args)
        return Call(call.op, [compiler_begin(way, "edu"), host])

    return change_calls(answer(mod), change)


WRONG = {
    "no-region": unchanged,
    "too-many": each_alone,
    "unsupported-inside": with_exp,
    "left-out": only_the_first,
    "BYL007": all_in_one,
    "network": without_exp,
    "BYL001": no_begin_after_exp,
}
