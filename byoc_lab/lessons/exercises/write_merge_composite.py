"""The exercise on writing MergeComposite."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import enumerated
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tables import composites_of
from byoc_lab.lessons.tools import module_of
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Expr, Function, bind
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.typing.infer import infer_module

GRAPHS = 4
THE_PASS = "MergeComposite"
"""The reply of an answer that calls the pass itself, or hides its calls."""


def two_values(call: Any) -> bool:
    """The check of the first entry: relu of a sum of two different values."""
    left, right = call.args[0].args
    return left is not right


def table() -> list[tuple[Any, ...]]:
    """Entries with and without a check; the first matches calls that the second also could
    match."""
    added = is_op("add")(wildcard(), wildcard())
    return [
        ("edu.add_relu", is_op("nn.relu")(added), two_values),
        ("edu.tanh_relu", is_op("nn.relu")(is_op("tanh")(wildcard()))),
        ("edu.add", added),
    ]


class WriteMergeComposite(Exercise):
    """The pass itself, compared with the real one on random graphs.

    A right answer gives modules that are structurally equal to those of MergeComposite, except for
    the order of a composite's parameters and its attributes other than the name. It may use
    `partition` of the pattern language, or do everything itself.
    """

    name = "write-merge-composite"
    title = "Write MergeComposite yourself"
    minutes = 30
    statement = """\
Write `answer(mod, table)`, which does what `MergeComposite(table)` does to `@main` of a typed
module, without calling MergeComposite. The table has entries (name, pattern) or (name, pattern,
check), tried in their order; each match goes into a function with the attribute `Composite=name`,
which is called in its place, unless `check(root of the match)` is false. The result is compared
with the real pass on random graphs; the order of a function's parameters, and attributes other than
`Composite`, do not matter.

`pattern.match(expr)` says whether a pattern matches, and `byoc_lab.relay.patterns` has what
rewrites with patterns.
"""
    stub = "def answer(mod, table):\n    return mod\n"
    shown = "task.start()[0]"
    mistakes = {
        "no-composite": "No function has the attribute Composite, by which back ends find it.",
        "check-ignored": "A composite is a match that the check of its entry refuses; a check gets "
        "the root of the match.",
        "missed": "The real pass finds more: are all entries tried, and all calls?",
        "order": "Some calls are in a composite of another entry: the entries are tried one after "
        "the other, each over the whole function, in the order of the table.",
        "name": "The attribute Composite is the name of an entry, as it is in the table.",
        "global": "A composite is a function of the module. MergeComposite puts it into @main, "
        "where it is called.",
        "rest": "Without its composites, the function is no longer the one that you were given: "
        "compare the operators, and the operands of each call.",
        "the-pass": "Your answer calls the pass that it must replace. What does that pass do?",
        "kind": "The answer returns a module with a function main, nothing else.",
        "none": "The answer returns nothing.",
        "unpacked": "An entry has two or three parts: unpack it so that both work.",
    }
    errors = {"values to unpack": "unpacked"}
    hints = (
        "Work through the table; the result of one entry is the input of the next one.",
        "The pattern language has a function that puts matches into functions and takes the "
        "attributes of these and a check. Its result is a function; what holds functions?",
    )
    only_functions = True
    replaces = (MergeComposite.run_function,)

    def graphs(self, seed: int) -> list[IRModule]:
        """Random graphs from a seed, with shared values."""
        random = np.random.RandomState(seed)
        made = []
        for _ in range(GRAPHS):
            values: list[relay.Expr] = [relay.var(n, shape=(2, 3)) for n in "xy"]
            values += [relay.nn.relu(relay.add(values[0], values[0]))]
            values += [relay.nn.relu(relay.tanh(values[-1]))]
            for _ in range(10):
                a, b = (values[int(random.randint(len(values)))] for _ in range(2))
                which = int(random.randint(3))
                value = (relay.add(a, b), relay.tanh(a), relay.nn.relu(a))[which]
                values.append(value)
            made.append(module_of(relay.nn.relu(relay.add(values[-1], values[-2]))))
        return made

    def question(self, seed: int = 0) -> list[IRModule]:
        return self.graphs(seed)

    def respond(self, answer: Any, question: Any) -> Any:
        with _noticing_the_pass() as used:
            made = [answer(mod, table()) for mod in question]
        return THE_PASS if used else made

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        graphs = self.graphs(seed)
        if isinstance(reply, str) and reply == THE_PASS:
            told = "your answer calls MergeComposite, which you are to write, or sys.setprofile"
            return Mistake("the-pass", told)
        if not isinstance(reply, (list, tuple)) or len(reply) != len(graphs):
            return Mistake("kind", "expected a module of each graph")
        for found, mod in zip(reply, graphs, strict=True):
            if (wrong := structure.wrong_kind(found) or structure.wrong_types(found)) is not None:
                return wrong
            wanted = MergeComposite(table())(mod)
            if not structural_equal(_normal(found), _normal(wanted)):
                return _difference(found, wanted, mod)
        return None


@contextmanager
def _noticing_the_pass() -> Iterator[list[str]]:
    """Records the functions on which MergeComposite runs inside the context, even if its module is
    imported again or recreated from its source; and `sys.setprofile`, if the answer replaces the
    profiler."""
    used: list[str] = []
    code = MergeComposite.run_function.__code__

    def seen(frame: FrameType, event: str, argument: object) -> None:
        called = frame.f_code
        same = (called.co_names, called.co_code) == (code.co_names, code.co_code)
        if event == "call" and same:
            used.append(called.co_name)

    before, of_threads = sys.getprofile(), threading.getprofile()
    sys.setprofile(seen)
    threading.setprofile(seen)  # for threads that the answer starts
    try:
        yield used
        if sys.getprofile() is not seen:
            used.append("setprofile")
    finally:
        # not a profiler in C, such as cProfile
        sys.setprofile(before if callable(before) else None)
        threading.setprofile(of_threads)


def _normal(mod: IRModule) -> Expr:
    """@main in a normal form: composites have only their name as attribute, and their parameters
    are in the order of their use."""

    def change(pre: Expr, post: Expr) -> Expr:
        if not (isinstance(post, Call) and isinstance(post.op, Function)):
            return post
        function = post.op
        given = dict(zip(function.params, post.args, strict=True))
        params = [node for node in post_order(function.body) if node in given]
        attrs = {k: v for k, v in (function.attrs or {}).items() if k == "Composite"}
        normal = Function(params, function.body, attrs=attrs)
        return Call(normal, [given[each] for each in params])

    normal = mod.copy()
    normal["main"] = rebuild(mod["main"], change)
    return infer_module(normal)["main"]


def _without_composites(mod: IRModule) -> Expr:
    def change(pre: Expr, post: Expr) -> Expr:
        if not (isinstance(post, Call) and isinstance(post.op, Function)):
            return post
        return bind(post.op.body, dict(zip(post.op.params, post.args, strict=True)))

    return rebuild(mod["main"], change)


def _difference(found: IRModule, wanted: IRModule, mod: IRModule) -> Mistake:
    have, want = (Counter(name for name, _ in composites_of(each)) for each in (found, wanted))
    told = f"expected {sorted(want.elements())}, found {sorted(have.elements())}"
    if outside := [gv for gv, each in found.functions.items() if "Composite" in (each.attrs or {})]:
        names = enumerated(f"@{gv.name_hint}" for gv in outside)
        return Mistake("global", f"composites are functions of the module: {names}", found)
    if not have:
        return Mistake("no-composite", told, found)
    if unknown := sorted(have.keys() - {name for name, *_ in table()}):
        return Mistake("name", f"no entry is named {enumerated(map(repr, unknown))}", found)
    if not structural_equal(_without_composites(found), mod["main"]):
        return Mistake("rest", "without composites, the function differs from the given one", found)
    bodies = [
        (node.attrs["Composite"], node.body)
        for node in post_order(found["main"])
        if isinstance(node, Function) and "Composite" in (node.attrs or {})
    ]
    for name, pattern, *checks in table():
        matches = [body for key, body in bodies if key == name and pattern.match(body)]
        if not all(check(body) for check in checks for body in matches):
            return Mistake("check-ignored", f"the check of {name} refuses a match; {told}", found)
    if have == want:
        told = f"{told}; but they do not contain the same calls"
    return Mistake("missed" if have < want else "order", told, found)
