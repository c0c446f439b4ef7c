"""The error messages that `decode` explains: one record each, with a sample that is its test."""

from __future__ import annotations

from byoc_lab.lab.explaining.messages import (
    building,
    codegens,
    own,
    partitioning,
    programs,
    relax,
    typing,
)
from byoc_lab.lab.explaining.messages.record import Message

ALL: tuple[Message, ...] = (
    *relax.MESSAGES, *own.MESSAGES, *partitioning.MESSAGES, *building.MESSAGES,
    *codegens.MESSAGES, *programs.MESSAGES, *typing.MESSAGES
)  # fmt: skip
"""All known messages; if two are found at the same position of a text, the first in this list
counts."""

__all__ = ["ALL", "Message"]
