"""Answers to "predict-the-functions"."""

from __future__ import annotations

from byoc_lab.relay import Call
from byoc_lab.relay.ir.visit import post_order

LIBRARY = ("nn.relu", "tanh", "sigmoid", "add", "nn.conv2d")


def calls(mod):
    return [node for node in post_order(mod["main"]) if isinstance(node, Call)]


def answer(mod):
    """The modules are chains: a region begins where the library takes over."""
    inside = [call.op.name in LIBRARY for call in calls(mod)]
    pairs = zip([False, *inside], inside, strict=False)
    return 1 + sum(now and not before for before, now in pairs)


# Typical mistakes


def in_words(mod):
    return str(answer(mod))


def without_main(mod):
    return answer(mod) - 1


def each_operator(mod):
    return sum(call.op.name in LIBRARY for call in calls(mod)) + 1


def one_region(mod):
    return 2


def all_operators(mod):
    return len(calls(mod))


def twice(mod):
    return 100


WRONG = {
    "kind": in_words,
    "without-main": without_main,
    "no-merge": each_operator,
    "one-region": one_region,
    "operators": all_operators,
    "off": twice,
}
