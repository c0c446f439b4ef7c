"""The importer of Relay text, which holds no parameters."""

from __future__ import annotations

from pathlib import Path

from byoc_lab.importers.registry import Params, register
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse_file


def load_relay_text(path: Path) -> tuple[IRModule, Params]:
    """The typed module whose Relay text a file holds."""
    return parse_file(path), {}


register((".relay", ".txt"), load_relay_text, "Relay text")
