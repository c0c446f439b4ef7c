"""Normalisations that several builders share: the `normalize` of an OpDef."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def numbers_to_lists(*names: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Replaces a single number by a list of one, as TVM's builders do, in the values of `names`."""

    def normalize(values: dict[str, Any]) -> dict[str, Any]:
        for name in names:
            if isinstance(values[name], int):
                values[name] = (values[name],)
        return values

    return normalize
