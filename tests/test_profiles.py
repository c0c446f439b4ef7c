"""No test overrides the Hypothesis profiles of `conftest.py`."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import settings

HERE = Path(__file__).resolve()
OVERRIDES = re.compile(r"derandomize=|database=|@seed\(|load_profile\(")


def test_no_test_overrides_a_profile():
    files = [p for p in HERE.parent.rglob("*.py") if p not in (HERE, HERE.parent / "conftest.py")]
    assert len(files) > 50
    assert [p.name for p in files if OVERRIDES.search(p.read_text(encoding="utf-8"))] == []


def test_profiles_exist():
    fixed, explore = map(settings.get_profile, ("fixed", "explore"))
    assert fixed.derandomize and fixed.print_blob and fixed.database is None
    assert not explore.derandomize and explore.print_blob
