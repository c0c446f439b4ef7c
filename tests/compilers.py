"""A mark for tests that compile C."""

from __future__ import annotations

import shutil

import pytest

needs_cc = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler is installed"
)
