"""The base class of exercises whose answer is a pattern table, judged by its matches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

Composite = tuple[str, tuple[str, ...]]
"""The name of a composite function, and its operators in the order of evaluation."""
Sample = tuple[IRModule, tuple[Composite, ...]]
"""A module, and the composites that the right table creates in it."""


class TableExercise(Exercise):
    """An exercise whose answer is a pattern table, or a function without parameters that returns
    it.

    MergeComposite runs with the table on modules that depend on the seed; the resulting composites
    are compared. Keys of mistakes: "kind", "raised", "check-raised", "name", "missed", "too-much",
    "other-operators", "network".
    """

    stub = "def answer():\n    return []  # (name, pattern) or (name, pattern, check)\n"
    errors = {r"^PassError: entry ": "kind", r"^PredicateError: ": "check-raised"}
    shown = "for mod in task.start():\n    print(mod.astext(show_types=False))"

    @abstractmethod
    def samples(self, seed: int) -> Sequence[Sample]:
        """The modules in the variant of a seed, each with the expected composites."""

    def question(self, seed: int = 0) -> list[IRModule]:
        return [mod for mod, _ in self.samples(seed)]

    def table(self, answer: Any, seed_question: Sequence[IRModule]) -> Any:
        """The pattern table of an answer."""
        return answer() if self.is_function(answer) else answer

    def varies(self, answer: Any) -> bool:
        return True

    def respond(self, answer: Any, question: Any) -> Any:
        table = self.table(answer, question)
        if not isinstance(table, (list, tuple)):
            return type(table).__name__
        return [MergeComposite(list(table))(mod) for mod in question]

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        samples = self.samples(seed)
        if not isinstance(reply, (list, tuple)) or len(reply) != len(samples):
            found = reply if isinstance(reply, str) else type(reply).__name__
            return Mistake("kind", f"expected a list of (name, pattern), found {found}")
        for found, (mod, expected) in zip(reply, samples, strict=True):
            mistake = self.compared(found, mod, expected) or structure.other_numbers(
                found, mod, seed
            )
            if mistake is not None:
                return mistake
        return None

    def compared(self, found: Any, mod: IRModule, expected: Sequence[Composite]) -> Mistake | None:
        """The first mistake in the composites of one module, compared with the expected ones."""
        if (wrong := structure.wrong_kind(found) or structure.wrong_types(found)) is not None:
            return wrong
        have, want = composites_of(found), sorted(expected)
        if have == want:
            return None
        if {name for name, _ in have} - {name for name, _ in want} and len(have) == len(want):
            key = "name"
        elif len(have) < len(want):
            key = "missed"
        elif len(have) > len(want):
            key = "too-much"
        else:
            key = "other-operators"
        return Mistake(key, f"expected {_listed(want)}; found {_listed(have)}", found)


def composites_of(mod: IRModule, name: str = "main") -> list[Composite]:
    """The composite functions inside a global function, sorted."""
    return sorted(
        (str(node.attrs["Composite"]), tuple(structure.operators_of(node)))
        for node in post_order(mod[name])
        if isinstance(node, Function) and node.attrs and "Composite" in node.attrs
    )


def _listed(composites: Sequence[Composite]) -> str:
    if not composites:
        return "no match"
    return "; ".join(f"{name} of {', '.join(operators)}" for name, operators in composites)
