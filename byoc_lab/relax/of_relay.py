"""Functions of `byoc_lab` that need Relay's annotations: their errors say how to get these."""

from __future__ import annotations

from typing import Any, NoReturn

from byoc_lab.errors import ForeignModuleError
from byoc_lab.relax.calls import checked_relax


def fix(mod: Any, *args: Any, **options: Any) -> NoReturn:
    """Raises ForeignModuleError: repairs are of annotations, which Relax does not have."""
    _refuse("fix", mod, "byoc_lab.lint(mod) says what to do about each finding of Relax")


def board(mod: Any) -> NoReturn:
    """Raises ForeignModuleError: a board annotates operators, which Relax does not do."""
    _refuse("board", mod, "byoc_lab.relax.register chooses the operators of a back end by name")


def _refuse(who: str, mod: Any, instead: str) -> NoReturn:
    checked_relax(mod, f"relax.{who}")
    raise ForeignModuleError(
        f"{who} changes the annotations of Relay, and a module of Relax has none: {instead}. For "
        f"{who} itself read the module into Relay: "
        f"mod, params = byoc_lab.importers.relax.from_relax(mod)"
    )
