"""Differences of modules that are known only as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from byoc_lab import Diff, diff, relay
from byoc_lab.errors import DiffError
from byoc_lab.lab.diffing import TextDiff
from byoc_lab.relay.ir.unparsed import UnparsedModule

LINES = st.lists(st.sampled_from(["a", "b", "c", "  d"]), max_size=12)


def text(lines: list[str]) -> UnparsedModule:
    return UnparsedModule("\n".join(lines), "it is not Relay")


@given(LINES, LINES)
def test_rows_have_every_line_once_in_order(a: list[str], b: list[str]) -> None:
    found = diff(text(a), text(b))
    rows = found.rows()
    assert [r.before.text for r in rows if r.before] == a
    assert [r.after.text for r in rows if r.after] == b
    for row in rows:
        pair = row.before.text if row.before else None, row.after.text if row.after else None
        assert (row.kind == "same") == (pair[0] == pair[1])
        assert (row.kind == "added") == (pair[0] is None)
        assert (row.kind == "removed") == (pair[1] is None)
    assert bool(found) == (a != b) == any(r.kind != "same" for r in rows)
    assert (found.summary == "no change") == (a == b)


def test_parsed_module_is_compared_by_its_original_text() -> None:
    source = "def @main(%x: Tensor[(2), float32]) {\n  exp(%x) /* a comment */\n}"
    found = diff(relay.parse(source), text(source.replace("exp", "log").splitlines()))
    assert isinstance(found, TextDiff) and found.summary == "1 line of the text changed"
    assert "- " + "  exp(%x) /* a comment */" in str(found)
    built = relay.IRModule.from_expr(relay.exp(relay.var("x", shape=(2,))))
    assert "- def @main" in str(diff(built, text(["x"])))


def test_graph_operations_on_a_text_diff_raise_error_with_the_reason() -> None:
    found = diff(text(["a"]), text(["b"]))
    assert found.changes == [] and isinstance(found, Diff)
    for use in (lambda: found.apply(found.before), found.to_json, lambda: found.correspondence):
        with pytest.raises(DiffError, match="it is not Relay"):
            use()


def test_text_diff_takes_linear_time() -> None:
    a = [f"%{n} = add(%{n - 1}, 1f);" for n in range(20_000)]
    assert (
        diff(text(a), text(["new", *a[::2]])).summary
        == "10,000 lines of the text removed, 1 line of the text added"
    )
