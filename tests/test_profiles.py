"""No test undoes what the profiles of `conftest.py` say about drawing examples."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import settings

HERE = Path(__file__).resolve()
UNDOING = re.compile(r"derandomize=|database=|@seed\(|load_profile\(")


def test_no_test_draws_in_a_way_of_its_own():
    files = [p for p in HERE.parent.rglob("*.py") if p not in (HERE, HERE.parent / "conftest.py")]
    assert len(files) > 50
    assert [p.name for p in files if UNDOING.search(p.read_text(encoding="utf-8"))] == []


def test_the_profiles_are_there():
    fixed, explore = map(settings.get_profile, ("fixed", "explore"))
    assert fixed.derandomize and fixed.print_blob and fixed.database is None
    assert not explore.derandomize and explore.print_blob
