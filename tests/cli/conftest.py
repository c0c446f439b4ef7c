"""Fixtures of the tests of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of a Relay file that a test writes."""
    return tmp_path / "net.relay"
