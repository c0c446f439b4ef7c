"""The exercise on region boundaries: reduce the bytes that cross them, with the same operators in
regions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons import structure
from byoc_lab.lessons.exercises.base import ModuleExercise
from byoc_lab.lessons.tools import LIBRARY_OPERATORS, library, module_of
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module


class HalveTheBytes(ModuleExercise):
    """With one operator per region, every value crosses a boundary twice.

    Students count the bytes, and find that merging regions reduces them.
    """

    name = "halve-the-bytes"
    title = "Halve the boundary bytes"
    statement = """\
In the module, each operator of the library `edu` is a separate region, and every value leaves one
region and enters the next one. The inputs and results of regions cross the boundary;
`boundary_bytes(mod)` counts them after the partition: $bytes bytes.

Write `answer(mod)`. It returns the module with at most half of these bytes, $most. All operators of
the library must still be in regions, and `exp` outside.
"""
    stub = """\
from byoc_lab import transform
from byoc_lab.lessons.exercises.halve_the_bytes import boundary_bytes


def answer(mod):
    return mod
"""
    mistakes = {
        "bytes": "Too many bytes cross the boundary: an end and a begin directly after it send a "
        "value out and in again.",
        "no-region": "Without regions nothing crosses, and nothing is offloaded either.",
        "left-out": "An operator that the library computes is no longer in a region.",
        "unsupported-inside": "exp is inside a region; the library has no exp.",
        "network": "The network has changed: only annotations may.",
        "none": "A pass returns a new module; return it.",
    }
    hints = (
        "Count the bytes of each region's inputs and result, and see which value is counted twice.",
        "Neighbouring regions can be one, as long as exp is not between them. A pass of BYOC "
        "does this.",
    )

    def words(self, seed: int) -> Mapping[str, str]:
        before = boundary_bytes(self.start(seed))
        return {"bytes": f"{before:,}", "most": f"{before // 2:,}"}

    def plain(self, seed: int = 0) -> IRModule:
        random = np.random.RandomState(seed)
        value: relay.Expr = relay.var("x", shape=(1, 8, 8, 8 + seed % 5))
        for number in range(3):
            for _ in range(4):
                builder = (relay.tanh, relay.sigmoid, relay.nn.relu)[int(random.randint(3))]
                value = builder(value)
            if number < 2:
                value = relay.exp(value)
        return module_of(value)

    def start(self, seed: int = 0) -> IRModule:
        steps = [InferType(), AnnotateTarget(library()), InferType()]
        return Sequential(steps)(self.plain(seed))

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        plain = self.plain(seed)
        for check in (
            lambda: structure.wrong_kind(reply),
            lambda: structure.wrong_types(reply),
            lambda: structure.wrong_network(reply, plain),
            lambda: structure.lint_findings(reply),
        ):
            if (mistake := check()) is not None:
                return mistake
        inside = [op for op in structure.operators_of(plain["main"]) if op in LIBRARY_OPERATORS]
        mistake = structure.wrong_offload(reply, inside, 3)
        if mistake is not None and mistake.key not in ("too-many", "too-few"):
            return mistake
        found, before = boundary_bytes(reply), boundary_bytes(self.start(seed))
        if found > before / 2:
            message = f"{found:,} bytes cross the boundary; at most {before // 2:,} are allowed"
            return Mistake("bytes", message, reply)
        return structure.wrong_numbers(reply, plain, seed)


def boundary_bytes(mod: IRModule) -> int:
    """The bytes of the inputs and results of the regions that PartitionGraph makes of a module.

    Raises PartitionError for annotations that it refuses.
    """
    partitioned = PartitionGraph()(infer_module(mod))
    types = [
        each
        for function in partitioned.functions.values()
        if "Compiler" in function.attrs
        for each in (*(p.checked_type for p in function.params), function.body.checked_type)
    ]
    return sum(prod(t.concrete_shape) * np.dtype(t.dtype).itemsize for t in types)
