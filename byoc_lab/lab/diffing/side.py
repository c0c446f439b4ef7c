"""`Side`: one module of a diff, with the properties that all diffs of the module share."""

from __future__ import annotations

from functools import cached_property

from byoc_lab.lab.diffing.flow import Flow
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_both
from byoc_lab.relay.text.printer_lines import Line


class Side:
    """An unchanging module: its dataflow and its lines."""

    def __init__(self, module: IRModule):
        self.module = module

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.module)

    def lines(self, show_types: bool) -> list[Line]:
        """The lines of its text without header and metadata, with type comments if `show_types`."""
        typed, untyped = self._printed
        return typed if show_types else untyped

    @cached_property
    def _printed(self) -> tuple[list[Line], list[Line]]:
        return print_both(self.module)
