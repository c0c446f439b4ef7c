"""Answers to "write-merge-composite"."""

from __future__ import annotations

from byoc_lab import transform
from byoc_lab.relay import Call, Function, GlobalVar, IRModule
from byoc_lab.relay.ir.visit import rebuild
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


def backwards(mod, table):
    return merged(mod, table[::-1])


def by_the_pass(mod, table):
    return transform.MergeComposite(table)(mod)


def a_function(mod, table):
    return merged(mod, table)["main"]


def nothing(mod, table):
    merged(mod, table)


def without_prefix(mod, table):
    return merged(mod, [(name.partition(".")[2], *rest) for name, *rest in table])


def two_of_them(mod, table):
    return merged(mod, table[:2])


def global_composites(mod, table):
    main, composites = merged(mod, table)["main"], dict[GlobalVar, Function]()

    def move(pre, post):
        if not (isinstance(post, Call) and isinstance(post.op, Function)):
            return post
        name = GlobalVar(f"composite_{len(composites)}")
        composites[name] = post.op
        return Call(name, post.args)

    body = rebuild(main, move)
    return IRModule({**composites, GlobalVar("main"): body})


def with_swapped_operands(mod, table):
    def swap(pre, post):
        if isinstance(post, Call) and isinstance(post.op, Function):
            return Call(post.op, post.args[::-1])
        return post

    return IRModule.from_expr(rebuild(merged(mod, table)["main"], swap))


def always_a_check(mod, table):
    return merged(mod, [(name, pattern, check) for name, pattern, check in table])


WRONG = {
    "no-composite": without_attribute,
    "check-ignored": without_checks,
    "missed": two_of_them,
    "name": without_prefix,
    "global": global_composites,
    "rest": with_swapped_operands,
    "order": backwards,
    "the-pass": by_the_pass,
    "kind": a_function,
    "none": nothing,
    "unpacked": always_a_check,
}
