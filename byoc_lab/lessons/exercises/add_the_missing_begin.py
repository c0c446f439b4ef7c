"""The exercise of the missing begin."""

from __future__ import annotations

from byoc_lab.lessons.cases.nested_partition import annotate, network
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.relay.ir.module import IRModule

BLOCK = ("nn.conv2d", "nn.batch_norm", "nn.relu")


class AddTheMissingBegin(Exercise):
    """The first exercise: one edge between two regions has an end but no begin.

    Students learn that an end says where a value leaves a region, and not where it enters the
    next. It is the trouble of the case "nested-partition".
    """

    name = "add-the-missing-begin"
    title = "Add the missing begin"
    statement = """\
The module is a chain of two blocks of conv2d, batch norm and relu. Each block is to become one
region of `dnnl`, but the partition fails: one value enters the second region without a
`compiler_begin`.

Return a module in which every value that enters a region has a begin of `dnnl`, and nothing else
has changed. `byoc_lab.lint(mod)` shows where to look; `compiler_begin(value, "dnnl")`, from
`byoc_lab.relay.op.annotation.regions`, makes a begin.
"""
    regions = (("dnnl", BLOCK), ("dnnl", BLOCK))

    def plain(self) -> IRModule:
        return network(blocks=2, size=16)

    def start(self) -> IRModule:
        return annotate(self.plain(), begins_on_conv_data=False)

    def solution(self) -> IRModule:
        return annotate(self.plain())
