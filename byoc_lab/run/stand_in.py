"""Sentences about results that NumPy computes because a library is missing."""

from __future__ import annotations

from collections.abc import Iterable

NUMPY = "NumPy"


def in_place_of(library: str) -> str:
    """The sentence that cards, reports, coverage and `byoc-lab doctor` show if NumPy replaces
    `library`."""
    return (
        f"computed by {NUMPY} in place of {library}: right numbers, but no proof of offload and "
        "no times"
    )


def stated(found: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """One line for each distinct sentence, preceded by the names that it applies to. found: pairs
    (name, sentence); the sentence is None if nothing is missing."""
    names: dict[str, list[str]] = {}
    for name, sentence in found:
        if sentence is not None:
            names.setdefault(sentence, []).append(name)
    return tuple(f"{', '.join(those)}: {sentence}" for sentence, those in names.items())
