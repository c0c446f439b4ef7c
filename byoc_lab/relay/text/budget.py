"""A limit on the memory for reading a text: 256 MiB, or 20 times its size if that is more."""

TIMES = 20
FLOOR = 256 << 20
"""Bytes. Modules of up to 370,000 operators need less, however short their lines are."""
NODE = 600
"""The maximum bytes per node while it is read and typed, including its source location and type, as
measured by `tests/relay/text/test_memory.py` on the densest texts."""
TOKEN = 16
"""Bytes per token: its position, and its share of the strings."""


def budget(characters: int) -> int:
    """The bytes that reading a text of this many characters may take."""
    return max(FLOOR, TIMES * characters)


def described(characters: int) -> str:
    """The limit in words, for errors."""
    return (
        f"the limit for a text of {characters:,} characters, whose contents may take {TIMES} bytes "
        f"of memory for each, or {FLOOR >> 20} MiB"
    )
