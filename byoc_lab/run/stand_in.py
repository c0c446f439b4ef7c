"""The sentence about numbers that NumPy computes because what should compute them is missing."""

from __future__ import annotations

from collections.abc import Iterable

NUMPY = "NumPy"


def in_place_of(library: str) -> str:
    """The sentence, which cards, reports, coverage and `byoc-lab doctor` show."""
    return (
        f"computed by {NUMPY} in the place of {library}: numbers yes, no proof of offload, no times"
    )


def stated(found: Iterable[tuple[str, str | None]]) -> tuple[str, ...]:
    """One line for each sentence, with the names of all that it is about. found: (name, sentence),
    the sentence None where nothing is missing."""
    names: dict[str, list[str]] = {}
    for name, sentence in found:
        if sentence is not None:
            names.setdefault(sentence, []).append(name)
    return tuple(f"{', '.join(those)}: {sentence}" for sentence, those in names.items())
