"""Answers to "find-the-wrong-region"."""

from __future__ import annotations

import byoc_lab
from byoc_lab.relay import Call, GlobalVar
from byoc_lab.relay.ir.visit import post_order


def regions(mod):
    calls = [node for node in post_order(mod["main"]) if isinstance(node, Call)]
    return [call.op.name_hint for call in calls if isinstance(call.op, GlobalVar)]


def answer(right, wrong):
    for name in regions(right):
        if not byoc_lab.structural_equal(right[name], wrong[name]):
            return name


# Typical mistakes


def all_of_them(right, wrong):
    return regions(wrong)


def guessed(right, wrong):
    return "region_1"


def main_itself(right, wrong):
    return "main"


def the_last(right, wrong):
    return regions(wrong)[-1]


def the_first(right, wrong):
    return regions(wrong)[0]


WRONG = {
    "kind": all_of_them,
    "unknown": guessed,
    "main": main_itself,
    "after": the_last,
    "before": the_first,
}
