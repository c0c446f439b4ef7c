"""The importer of Relay text; it returns no parameters."""

from __future__ import annotations

from pathlib import Path

from byoc_lab.importers.registry import Params, register
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse_file


def load_relay_text(path: Path) -> tuple[IRModule, Params]:
    """The module parsed from a file of Relay text, with inferred types."""
    return parse_file(path), {}


register((".relay", ".txt"), load_relay_text, "Relay text")
