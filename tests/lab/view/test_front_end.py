"""Runs the unit tests of the JavaScript modules by node's test runner."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from byoc_lab.lab.view.assets import STATIC
from tests.lab.view.javascript import node

TESTS = sorted((Path(__file__).parent / "js").glob("*.test.mjs"))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name.removesuffix(".test.mjs"))
def test_javascript_tests_pass(path: Path) -> None:
    command = [node(), "--test", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_javascript_module_exceeds_400_lines() -> None:
    for path in (*STATIC.rglob("*.js"), *STATIC.rglob("*.css"), *TESTS):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400, path.name
