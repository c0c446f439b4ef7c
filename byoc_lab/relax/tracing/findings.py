"""What is wrong in a module of Relax, as far as its functions show it."""

from __future__ import annotations

from byoc_lab.lab.linting import Finding
from byoc_lab.relay.ir.foreign import ForeignModule


def findings_of(mod: ForeignModule) -> list[Finding]:
    """The findings of a module."""
    return []
