"""The exercise on a diamond: regions must be convex."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import ModuleExercise
from byoc_lab.lessons.tools import LIBRARY_OPERATORS, library, module_of
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.relay.ir.module import IRModule


class AnnotateDiamond(ModuleExercise):
    """A value has two paths, one of them through the host.

    Students learn why one region cannot always contain all operators that a library supports: a
    region that waits for the host, which waits for the region, can never run. Two annotations are
    right.
    """

    name = "annotate-diamond"
    title = "Annotate a diamond convexly"
    minutes = 15
    statement = """\
A value takes two paths, which meet again in an `add`. The library `edu` computes `tanh`,
`nn.relu`, `sigmoid` and `add`; the host computes `exp`, which is on one of the two paths.

Write `answer(mod)`. It returns the module with everything that the library computes in exactly
**two** regions of `edu`, and `exp` in none. A region must be convex: no path may leave it and come
back. There is more than one right answer.
"""
    stub = """\
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


def answer(mod):
    def change(call):
        return call

    return change_calls(mod, change)
"""
    mistakes = {
        "no-region": (
            "Nothing is annotated yet. Begin with the operators before the two paths separate."
        ),
        "BYL007": "One path leaves the region to exp and comes back: exp waits for the region, and "
        "the region waits for exp. Where can you cut?",
        "unsupported-inside": "exp is inside a region, and the library has no exp. It needs an end "
        "before it and a begin after it.",
        "left-out": "An operator that the library computes is in no region yet.",
        "too-many": "You have cut where no cut is needed: a value that goes from one region "
        "directly into the next one could stay inside.",
        "network": "The network has changed. Annotations are all that may be added.",
        "BYL001": "A value enters a region without a begin: each value that comes from outside "
        "needs one, the result of exp too.",
    }
    hints = (
        "Write down what each operator waits for. What exp needs must be ready before exp; what "
        "needs exp must be in a region that starts after it.",
        "One region ends before exp, the other begins after it. The operators on the other path "
        "may be in either; a value used by both paths has an end only where it leaves.",
    )

    def plain(self, seed: int = 0) -> IRModule:
        library()
        first, side = (relay.tanh, relay.sigmoid)[:: 1 if seed % 2 else -1]
        value = first(relay.var("x", shape=(2, 3 + seed % 5)))
        way = side(value)
        for _ in range(seed % 3):
            way = relay.nn.relu(way)
        return module_of(relay.add(way, relay.exp(value)))

    def judge(self, seed: int, reply: object) -> Mistake | None:
        plain = self.plain(seed)
        inside = [op for op in structure.operators_of(plain["main"]) if op in LIBRARY_OPERATORS]
        return structure.first(structure.annotated_freely(reply, plain, inside, 2, seed))
