"""Fixtures for tests of explanations."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from byoc_lab import backends
from tests.lab.explaining.pieces import NPU


@pytest.fixture
def back_end() -> Iterator[None]:
    """Removes the patterns of the tests' back end after a test."""
    yield
    backends.register(NPU)
