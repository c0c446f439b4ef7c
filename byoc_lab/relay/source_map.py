"""The texts that a module was read from. Source: `tvm.ir.SourceMap`."""

from __future__ import annotations

from byoc_lab.relay.lexer import Source
from byoc_lab.relay.span import SourceName


class SourceMap:
    """Texts by name: `source_map[span.source_name].source` is what a span counts in."""

    def __init__(self) -> None:
        self.source_map: dict[SourceName, Source] = {}

    def add(self, name: str, content: str) -> None:
        """Keep a text under `name`."""
        self.source_map[SourceName(name)] = Source(content, name)

    def copy(self) -> SourceMap:
        twin = SourceMap()
        twin.source_map = dict(self.source_map)
        return twin
