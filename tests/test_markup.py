"""Tables in HTML: text is escaped, and each cell states its alignment."""

from __future__ import annotations

from byoc_lab.markup import Markup, table


def test_table_escapes_text_and_keeps_markup() -> None:
    made = table(("a", "<b>"), [("<i>", 2), (Markup("<code>x</code>"), 3)], numbers=(1,))
    assert '<td style="text-align:left;padding:.2em .6em">&lt;i&gt;</td>' in made
    assert '<td style="text-align:right;padding:.2em .6em;white-space:nowrap">2</td>' in made
    assert '<th style="text-align:right;padding:.2em .6em">&lt;b&gt;</th>' in made
    assert "<code>x</code>" in made


def test_column_without_content_is_omitted() -> None:
    made = table(("a", "empty", "b"), [("x", "", 0), ("", "", 2)], numbers=(2,))
    assert "empty" not in made and made.count("<th") - made.count("<thead") == 2
    assert made.count("<td") == 4 and ">0</td>" in made


def test_table_without_rows_is_empty() -> None:
    assert table(("a",), []) == ""
