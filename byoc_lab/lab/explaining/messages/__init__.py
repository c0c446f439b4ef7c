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
"""Every message that is known; of two that are in a text at one place, the first here counts."""

__all__ = ["ALL", "Message"]
