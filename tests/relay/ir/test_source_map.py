"""Sources: offsets, lines and columns, and errors that show a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from byoc_lab.relay.ir.source_map import Source, SourceMap


@given(st.text("ab\n", max_size=20), st.data())
def test_locations_and_offsets_are_inverse(text: str, data: st.DataObject) -> None:
    source = Source(text)
    offset = data.draw(st.integers(0, len(text)))
    line, column = source.place(offset)
    assert source.offset(line, column) == offset
    assert (line, column) == (text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def test_lines_are_counted_from_one() -> None:
    source = Source("first\r\nsecond\n")
    assert [source.line(n) for n in range(5)] == ["", "first", "second", "", ""]
    assert source.offset(1, 99) == len("first")


def test_span_has_the_lines_of_its_offsets() -> None:
    span = Source("one\ntwo three", "a.relay").span(4, 7)
    assert (span.line, span.column, span.end_line, span.end_column) == (2, 1, 2, 4)
    assert span.source_name.name == "a.relay"


def test_error_shows_its_line_with_printable_characters() -> None:
    error = Source("fine\nbad\x1b here", "a.relay").error("unexpected", 5)
    assert (error.line, error.column) == (2, 1)
    assert "bad\N{REPLACEMENT CHARACTER} here" in str(error)


def test_source_map_has_sources_by_name() -> None:
    sources = SourceMap()
    sources.add("a", "text of a")
    copy = sources.copy()
    copy.add("b", "text of b")
    assert [name.name for name in copy.source_map] == ["a", "b"]
    assert [source.source for source in sources.source_map.values()] == ["text of a"]
