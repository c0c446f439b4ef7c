"""Answers to "halve-the-bytes"."""

from __future__ import annotations

from byoc_lab import transform
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


def answer(mod):
    return transform.MergeCompilerRegions()(mod)


# Typical mistakes


def unchanged(mod):
    return mod


def without_annotations(mod):
    return change_calls(mod, lambda call: call.args[0] if is_annotation(call) else call)


def only_relu(mod):
    def change(call):
        if not call.is_op("nn.relu"):
            return call
        return compiler_end(Call(call.op, [compiler_begin(call.args[0], "edu")]), "edu")

    return change_calls(without_annotations(mod), change)


def exp_as_well(mod):
    def change(call):
        begins = [compiler_begin(arg, "edu") for arg in call.args]
        return compiler_end(Call(call.op, begins, call.attrs), "edu")

    return change_calls(without_annotations(mod), change)


def without_exp(mod):
    return answer(change_calls(mod, lambda call: call.args[0] if call.is_op("exp") else call))


def not_returned(mod):
    answer(mod)


WRONG = {
    "bytes": unchanged,
    "no-region": without_annotations,
    "left-out": only_relu,
    "unsupported-inside": exp_as_well,
    "network": without_exp,
    "none": not_returned,
}
