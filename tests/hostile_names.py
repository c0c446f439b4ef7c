"""Names that end comments, literals, lines and paths, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = (
    '"', "'", "\\", "\n", "\r", "*/", "/*", "//", "??/\n", "??'", "../", "/", "\0", "\x7f",
    "\x1b[31m", "é", "λ", "\u202e", "\ud800", "\U0001f600", "%s", "{}", "{0}", "#include <x>\n",
    "$(id)", "`id`", ";", ")", "}", "int", "a", "_1", " ", ".", "-", "@", "%",
)  # fmt: skip
FIXED = (
    "",
    "../../outside",
    "/absolute",
    "9",
    "a b",
    "int",
    "a\n",
    "x\0y",
    "\ud800",
    "\u017f",  # casefold() gives "s"
    "f(void){} //",
    'f"); system("true',
    "a" * 1_000_000,
    "*/" * 500_000,
)
hostile_names = st.one_of(
    st.sampled_from(FIXED),
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.text(max_size=12),
)
