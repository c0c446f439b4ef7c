"""Answers to "remove-the-leftover-multiply"."""

from __future__ import annotations

import byoc_lab
from byoc_lab import transform
from byoc_lab.lessons.tools import change_calls


def answer(mod):
    steps = [transform.SimplifyInference(), transform.FoldScaleAxis(), transform.FoldConstant()]
    with byoc_lab.PassContext(opt_level=3):
        return byoc_lab.Sequential(steps)(mod)


# Typical mistakes


def unchanged(mod):
    return mod


def low_level(mod):
    steps = [transform.SimplifyInference(), transform.FoldScaleAxis(), transform.FoldConstant()]
    with byoc_lab.PassContext(opt_level=2):
        return byoc_lab.Sequential(steps)(mod)


def deleted(mod):
    simple = transform.FoldConstant()(transform.SimplifyInference()(mod))
    return change_calls(simple, lambda call: call.args[0] if call.is_op("multiply") else call)


def without_relu(mod):
    return change_calls(answer(mod), lambda c: c.args[0] if c.is_op("add") else c)


def not_returned(mod):
    answer(mod)


WRONG = {
    "batch-norm": unchanged,
    "multiply": low_level,
    "numbers": deleted,
    "lost": without_relu,
    "none": not_returned,
}
