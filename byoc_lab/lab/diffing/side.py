"""`Side`: one module of a diff, with the properties that all diffs of the module share."""

from __future__ import annotations

from functools import cached_property

from byoc_lab.lab.diffing.flow import Flow
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import print_lines
from byoc_lab.relay.text.printer_lines import Line


class Side:
    """A module that no longer changes: its dataflow and its lines."""

    def __init__(self, module: IRModule):
        self.module = module
        self._lines: dict[bool, list[Line]] = {}

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.module)

    def lines(self, show_types: bool) -> list[Line]:
        """The lines of its text without a header and metadata, with type comments if
        `show_types`."""
        if show_types not in self._lines:
            self._lines[show_types] = print_lines(
                self.module, show_meta_data=False, show_types=show_types, header=False
            )
        return self._lines[show_types]
