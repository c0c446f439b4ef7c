"""The exercise on a program with `let`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tools import library
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Function, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module


class LetProgram(Exercise):
    """A program in A-normal form: every value has a name, and regions end at names.

    Annotated by TVM 0.16, its partition has free variables; in graph form it is one region.
    """

    name = "let-program"
    title = "Offload a program with let"
    minutes = 15
    statement = """\
The program binds every value with `let`. The library `edu` computes all operators except `exp`.

Write `answer(mod)`. It returns the module annotated for `edu`, so that PartitionGraph makes exactly
two regions, one before `exp` and one after it, with no variable left free. You may change the form
of the program, but not its results. `byoc_lab.transform` has passes that change the form.
"""
    stub = """\
from byoc_lab import transform


def answer(mod):
    steps = [transform.InferType(), transform.AnnotateTarget("edu"), transform.InferType()]
    return transform.Sequential(steps)(mod)
"""
    mistakes = {
        "no-region": "Nothing is annotated: annotate the program after you have changed its form.",
        "BYL004": "A begin is around the value of a let, and no end closes its region. In which "
        "form does a program have no let?",
        "too-many": "Each let ends a region, and your program has let.",
        "not-merged": "Regions that follow each other stay separate until a pass merges them.",
        "unsupported-inside": "exp is inside a region, and the library has no exp.",
        "left-out": "An operator that the library computes is in no region.",
        "lost": "The operators of the program have changed; only the form may.",
    }
    hints = (
        "A program can be written as a graph or as a list of let: the same computation. "
        "Which of the two do regions grow in?",
        "Three steps: to graph form, annotate, merge neighbouring regions.",
    )

    def question(self, seed: int = 0) -> IRModule:
        library()
        x = relay.var("x", shape=(2, 3 + seed % 4))
        names = ["tanh", "nn.relu", "exp", "sigmoid", "nn.relu"][: 4 + seed % 2]
        bound: list[tuple[Var, relay.Expr]] = []
        value: relay.Expr = x
        for number, name in enumerate(names):
            builder = relay.nn.relu if name == "nn.relu" else getattr(relay, name)
            bound.append((Var(f"v{number}"), builder(value)))
            value = bound[-1][0]
        body: relay.Expr = value
        for variable, bound_value in reversed(bound):
            body = Let(variable, bound_value, body)
        return infer_module(IRModule.from_expr(Function([x], body)))

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if (wrong := structure.wrong_kind(reply) or structure.wrong_types(reply)) is not None:
            return wrong
        if (wrong := structure.partitioned_already(reply)) is not None:
            return wrong
        plain = self.question(seed)
        operators = structure.operators_of(plain["main"])
        try:
            partitioned = PartitionGraph()(infer_module(reply))
        except ByocLabError as error:
            return structure.lint_findings(reply) or Mistake(
                "refused", f"PartitionGraph refuses the module: {error}", reply
            )
        found = Counter(structure.operators_of(reply["main"]))
        if found != (wanted := Counter(operators)):
            message = (
                f"expected {structure.with_times(wanted)}; found {structure.with_times(found)}"
            )
            return Mistake("lost", message, reply)
        inside = [name for name in operators if name != "exp"]
        mistake = structure.wrong_offload(reply, inside, 2)
        if mistake is not None and mistake.key == "too-many":
            lets = sum(isinstance(n, Let) for n in post_order(reply["main"]))
            key = "too-many" if lets else "not-merged"
            return Mistake(key, f"{mistake.message}; it has {lets} let", mistake.picture)
        return mistake or structure.other_numbers(partitioned, plain, seed)
