"""The exercise on a composite's name, which must start with the target and a dot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.tools import conv, library, module_of
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard


class FixTheName(Exercise):
    """A pattern matches, but nothing is offloaded, because AnnotateTarget reads the target from the
    name.

    It is the bug of apache/tvm issue 5261. Any kernel name after the dot is right.
    """

    name = "fix-the-name"
    title = "Fix the name without a dot"
    minutes = 5
    statement = """\
The entry `("$name", pattern)` of the library `edu` matches, and still
nothing of it is offloaded: AnnotateTarget("edu") does not see that the composite belongs to `edu`.

Set `answer` to a name with which it is offloaded. The kernel must keep a name, by which the code
generator finds it; you choose which. Or write a function: it gets a name such as this one, of any
operators, and returns a right name.
"""
    stub = 'answer = "$name"\n'
    mistakes = {
        "no-dot": "AnnotateTarget splits the name of a composite at a dot, and there is none.",
        "other-target": "What comes before the first dot is taken as the target. Which target is "
        "it here?",
        "case": "The names of targets are case-sensitive.",
        "no-kernel": "After the dot comes the name of the kernel, and here it is missing.",
        "kind": "A name is a str.",
    }
    hints = (
        "Look at the names in the pattern tables of other libraries: "
        "byoc_lab.backends.get('dnnl').patterns().",
        "A name is made of the library, a dot, and the kernel.",
    )

    def _kernel(self, seed: int) -> str:
        return ("conv2d_bias_sqrt", "conv2d_bias_exp", "conv2d_bias_abs")[seed % 3]

    def words(self, seed: int) -> Mapping[str, str]:
        return {"name": self.question(seed)}

    def question(self, seed: int = 0) -> str:
        return f"edu_{self._kernel(seed)}"

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        if not isinstance(reply, str):
            return Mistake("kind", f"expected a str, found {type(reply).__name__}")
        mod = _partitioned(reply, self._kernel(seed).rpartition("_")[2])
        target, dot, kernel = reply.partition(".")
        if not dot:
            return Mistake("no-dot", f"{reply!r} has no dot: nothing is offloaded", mod)
        if target != "edu":
            key = "case" if target.lower() == "edu" else "other-target"
            return Mistake(key, f"{reply!r} belongs to the target {target!r}, not 'edu'", mod)
        if not kernel.strip(". "):
            return Mistake("no-kernel", f"{reply!r} names no kernel", mod)
        if mod is None or not structure.regions_of(mod):
            return Mistake("other-target", f"with {reply!r} nothing is offloaded", mod)
        return None


def _partitioned(name: str, last: str) -> IRModule | None:
    """A partitioned module of the kernel, with the entry under that name; None if a pass refuses
    it."""
    root = is_op(last)(is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()))
    x, bias = relay.var("x", shape=(1, 3, 6, 6)), relay.var("b", shape=(3, 1, 1))
    mod = module_of(getattr(relay, last)(relay.add(conv(x, "w", 3), bias)))
    steps = [InferType(), MergeComposite([(name, root)]), InferType()]
    try:
        merged = Sequential(steps)(mod)
        # conv2d alone is offloaded, too, but only the composite counts here
        if not name.startswith(f"{library()}."):
            return merged
        return Sequential([AnnotateTarget(library()), PartitionGraph()])(merged)
    except ByocLabError:
        return None
