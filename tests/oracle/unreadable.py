"""Golden files whose text TVM printed but cannot read back: they are compared as text."""

from __future__ import annotations

LET_IN_LET = "a `let` as the value of a `let` is printed without parentheses, which is ambiguous"

UNREADABLE = {
    name: LET_IN_LET
    for name in (
        "DeadCodeElimination/lets_nested",
        "print/lets_nested",
    )
}
