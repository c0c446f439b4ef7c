"""Printing: the text of every object can be written in any encoding."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import byoc_lab
from byoc_lab.printing import (
    NAME_WIDTH,
    WIDTH,
    columns,
    encodable,
    in_the_middle,
    percent,
    printable,
    with_short_names,
)

ROOT = Path(byoc_lab.__file__).parent


def texts_of_classes() -> Iterator[tuple[str, list[str]]]:
    """Each `__str__` in the package, as the path of its class, and its decorators."""
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for found in ast.walk(ast.parse(text)) if "__str__" in text else ():
            for item in found.body if isinstance(found, ast.ClassDef) else ():
                if isinstance(item, ast.FunctionDef) and item.name == "__str__":
                    place = f"{path.relative_to(ROOT)}: {found.name}"
                    yield place, [ast.unparse(d) for d in item.decorator_list]


def test_every_str_method_is_printable() -> None:
    found = dict(texts_of_classes())
    assert len(found) > 60
    assert [place for place, decorators in found.items() if "printable" not in decorators] == []


@given(st.text(), st.sampled_from(["ascii", "cp1252", "cp437", "utf-8"]))
def test_characters_of_the_encoding_are_kept(text: str, encoding: str) -> None:
    shown = encodable(text, encoding)
    shown.encode(encoding)
    if shown != text:
        with pytest.raises(UnicodeEncodeError):
            text.encode(encoding)


def test_symbols_become_ascii_and_letters_stay() -> None:
    assert encodable("é ● → 变", "cp1252") == "é * -> \\u53d8"


def test_text_is_complete_if_output_is_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sign:
        @printable
        def __str__(self) -> str:
            return "● changed"

    for encoding, expected in (("utf-8", "● changed"), ("ascii", "* changed")):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        assert str(Sign()) == expected
    monkeypatch.setattr(sys, "stdout", None)  # pythonw has no standard output
    assert str(Sign()) == "● changed"


def test_trace_is_printed_in_the_c_locale() -> None:
    code = (
        "import byoc_lab; from byoc_lab import relay;"
        "x = relay.var('\\xe9', shape=(1, 8));"
        "mod = byoc_lab.IRModule.from_expr(relay.nn.relu(x));"
        "print(mod); print(byoc_lab.trace(mod, 'dnnl'))"
    )
    c_locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONIOENCODING"} | c_locale
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"* changed" in done.stdout


@given(st.lists(st.lists(st.text("abc - ", max_size=60), min_size=4, max_size=4), min_size=1))
def test_tables_fit_the_width_and_keep_every_word(rows: list[list[str]]) -> None:
    lines = columns(rows, right=(1,))
    assert all(len(line) <= WIDTH for line in lines)
    letters = sorted("".join(map("".join, rows)).replace(" ", ""))
    assert sorted("".join(lines).replace(" ", "")) == letters


def test_table_that_fits_is_not_wrapped() -> None:
    lines = columns(
        [("name", "number", "note"), ("a", "10", ""), ("bc", "2", "it  is")], right=(1,)
    )
    assert lines == ["name  number  note", "a         10", "bc         2  it  is"]


@given(st.text(), st.integers(8, 100))
def test_shortened_text_keeps_its_ends(text: str, width: int) -> None:
    shown = in_the_middle(text, width)
    assert len(shown) == min(len(text), width)
    if shown != text:
        head, tail = shown.split("…", 1) if "…" not in text else (shown[:3], shown[-3:])
        assert text.startswith(head) and text.endswith(tail)


@given(st.lists(st.text("ab_", min_size=1, max_size=200), unique=True))
def test_shortened_names_stay_different(names: list[str]) -> None:
    shown = with_short_names("\n".join(f"@{name}: ok" for name in names)).splitlines()
    assert len(set(shown)) == len(names)
    assert all(line.endswith(": ok") for line in shown)


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.0, "0.0%"), (1e-9, "under 0.1%"), (0.0004, "under 0.1%"), (0.006, "0.6%"), (0.5, "50.0%"),
     (0.9994, "99.9%"), (0.9996, "over 99.9%"), (1 - 1e-12, "over 99.9%"), (1.0, "100.0%")],
)  # fmt: skip
def test_percent_shows_0_and_100_only_for_exact_shares(share: float, shown: str) -> None:
    assert percent(share) == shown


def test_only_long_names_are_shortened() -> None:
    long = f"@{'a' * NAME_WIDTH}"
    assert with_short_names(f"@main, {'b' * 200}") == f"@main, {'b' * 200}"
    assert with_short_names(f"{long} of @main") == f"{in_the_middle(long, NAME_WIDTH)} of @main"
