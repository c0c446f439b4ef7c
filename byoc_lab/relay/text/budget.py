"""A limit on the memory for reading a text: 256 MiB, or 20 times its size if that is more."""

TIMES = 20
FLOOR = 256 << 20
"""Bytes. Modules of up to 370,000 operators stay below, however short their lines are."""
NODE = 600
"""Bytes that a node takes at most while it is read and typed, with its place and its type: what
`tests/relay/text/test_memory.py` measures on the densest texts."""
TOKEN = 16
"""Bytes of a token: where it is, and its share of the strings."""


def budget(characters: int) -> int:
    """The bytes that a text of so many characters may take."""
    return max(FLOOR, TIMES * characters)


def described(characters: int) -> str:
    """The limit in words, for errors."""
    return (
        f"the limit for a text of {characters:,} characters, whose contents may take {TIMES} bytes "
        f"of memory for each, or {FLOOR >> 20} MiB"
    )
