"""The exercise on a missing begin."""

from __future__ import annotations

from collections.abc import Mapping

from byoc_lab.errors import counted
from byoc_lab.lessons.cases.nested_partition import annotate, network
from byoc_lab.lessons.exercises.base import ModuleExercise
from byoc_lab.lessons.structure import RegionShape
from byoc_lab.relay.ir.module import IRModule

BLOCK = ("nn.conv2d", "nn.batch_norm", "nn.relu")


class AddTheMissingBegin(ModuleExercise):
    """The first exercise: an edge between two regions has an end but no begin.

    Students learn that an end marks where a value leaves a region, not where it enters the next
    one. It is the bug of the case "nested-partition".
    """

    name = "add-the-missing-begin"
    title = "Add the missing begin"
    statement = """\
The module is a chain of $blocks of conv2d, batch norm and relu; variants differ in the number of
blocks. Each block is to become one region of `dnnl`, but the partition fails: a value that comes
from one region enters the next one without a `compiler_begin`.

Write `answer(mod)`. It returns the module with a begin of `dnnl` on every value that enters a
region, and with nothing else changed. `byoc_lab.lint(mod)` shows where to look;
`compiler_begin(value, "dnnl")` makes a begin, and `change_calls(mod, change)` calls `change(call)`
for each call and replaces the call by the result.
"""
    stub = """\
from byoc_lab.lessons.tools import change_calls
from byoc_lab.relay import Call
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


def answer(mod):
    def change(call):
        return call  # another call with the same call.op and call.attrs, and other call.args?

    return change_calls(mod, change)
"""
    mistakes = {
        "BYL001": "Run byoc_lab.lint on your result: it names the call and the argument that "
        "still enters the region without a begin.",
        "BYL006": (
            "The begin on one operand of the call names a different compiler than the other begins."
        ),
        "too-many": (
            "A begin with an end directly around the same value makes a region without operators. "
            "The value needs a begin only."
        ),
        "too-few": "You have joined two blocks. The end of the block before has to stay.",
        "no-region": "All the annotations are gone. Keep those that were there.",
        "network": "An operator was lost or added on the way. Change the arguments of a call only.",
    }
    hints = (
        "A value crosses into a region through a begin and out of it through an end. Between two "
        "regions there are both, one after the other.",
        "Find the conv2d calls whose first argument is a compiler_end. What should be there?",
    )

    def _blocks(self, seed: int) -> int:
        return 2 + seed % 3

    def words(self, seed: int) -> Mapping[str, str]:
        return {"blocks": counted(self._blocks(seed), "block")}

    def plain(self, seed: int = 0) -> IRModule:
        return network(blocks=self._blocks(seed), size=16)

    def start(self, seed: int = 0) -> IRModule:
        return annotate(self.plain(seed), begins_on_conv_data=False)

    def regions_of(self, seed: int) -> tuple[RegionShape, ...]:
        return (("dnnl", BLOCK),) * self._blocks(seed)
