"""Answers to "write-merge-composite"."""

from __future__ import annotations

from byoc_lab import transform
from byoc_lab.relay import IRModule
from byoc_lab.relay.patterns import partition
from byoc_lab.relay.typing.infer import infer_module


def merged(mod, table, attribute="Composite"):
    function = mod["main"]
    for name, pattern, *check in table:
        accepts = check[0] if check else lambda root: True
        function = partition(pattern, function, {attribute: name}, accepts)
        function = infer_module(IRModule.from_expr(function))["main"]
    return IRModule.from_expr(function)


def answer(mod, table):
    return merged(mod, table)


# Typical mistakes


def without_attribute(mod, table):
    return merged(mod, table, "Name")


def without_checks(mod, table):
    return merged(mod, [entry[:2] for entry in table])


def first_entry_only(mod, table):
    return merged(mod, table[:1])


def backwards(mod, table):
    return merged(mod, table[::-1])


def by_the_pass(mod, table):
    return transform.MergeComposite(table)(mod)


def a_function(mod, table):
    return merged(mod, table)["main"]


def nothing(mod, table):
    merged(mod, table)


def always_a_check(mod, table):
    return merged(mod, [(name, pattern, check) for name, pattern, check in table])


WRONG = {
    "no-composite": without_attribute,
    "check-ignored": without_checks,
    "missed": first_entry_only,
    "order": backwards,
    "the-pass": by_the_pass,
    "kind": a_function,
    "none": nothing,
    "unpacked": always_a_check,
}
