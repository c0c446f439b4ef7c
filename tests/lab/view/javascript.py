"""Finds node, which runs the view's JavaScript in tests."""

from __future__ import annotations

import os
import shutil

import pytest


def node() -> str:
    """The path of node; if it is missing the test is skipped, or fails in CI."""
    found = shutil.which("node")
    if found is not None:
        return found
    if os.environ.get("CI"):
        pytest.fail("node is not installed; CI must have it")
    pytest.skip("node is not installed; it runs the JavaScript of the view")
