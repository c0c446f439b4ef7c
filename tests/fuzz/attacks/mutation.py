"""Valid texts with one to four changes, through every tool."""

from __future__ import annotations

import random as _random

from tests.fuzz import examine as _examine
from tests.fuzz.mutations import spoiled


def make(random: _random.Random) -> bytes:
    return spoiled(random).encode("utf-8", "surrogatepass")


def examine(data: bytes) -> int:
    return _examine.examine(data.decode("utf-8", "surrogatepass"))
