"""Answers to "let-program"."""

from __future__ import annotations

from byoc_lab import relay, transform
from byoc_lab.lessons.tools import change_calls

T = transform


def annotated(*first):
    steps = [T.InferType(), T.AnnotateTarget("edu"), T.MergeCompilerRegions(), T.InferType()]
    return T.Sequential([*first, *steps])


def answer(mod):
    return annotated(T.ToGraphNormalForm())(mod)


# Typical mistakes


def only_the_form(mod):
    return T.ToGraphNormalForm()(mod)


def as_in_2021(mod):
    steps = [T.InferType(), T.AnnotateTarget("edu", era="0.16"), T.InferType()]
    return T.Sequential(steps)(mod)


def not_merged(mod):
    return T.Sequential([T.ToGraphNormalForm(), T.InferType(), T.AnnotateTarget("edu")])(mod)


def still_with_let(mod):
    return annotated()(mod)


def without_exp(mod):
    graph = T.ToGraphNormalForm()(mod)
    return annotated()(change_calls(graph, lambda c: c.args[0] if c.is_op("exp") else c))


def exp_as_well(mod):
    def change(call):
        begins = [relay.op.annotation.compiler_begin(arg, "edu") for arg in call.args]
        return relay.op.annotation.compiler_end(relay.Call(call.op, begins, call.attrs), "edu")

    return change_calls(T.ToGraphNormalForm()(mod), change)


def only_the_first(mod):
    def change(call):
        if not call.is_op("tanh"):
            return call
        begins = [relay.op.annotation.compiler_begin(arg, "edu") for arg in call.args]
        return relay.op.annotation.compiler_end(relay.Call(call.op, begins, call.attrs), "edu")

    return change_calls(T.ToGraphNormalForm()(mod), change)


WRONG = {
    "no-region": only_the_form,
    "BYL004": as_in_2021,
    "too-many": still_with_let,
    "not-merged": not_merged,
    "unsupported-inside": exp_as_well,
    "left-out": only_the_first,
    "lost": without_exp,
}
