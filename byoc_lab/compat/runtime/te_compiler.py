"""TVM's cache of compiled operators (`te_compiler`), which scripts clear before they build."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import UnsupportedNameError


class TECompiler:
    """The cache of `relay.build`, which keeps nothing between two calls: `clear` has no effect."""

    def clear(self) -> None:
        """Clear the cache of compiled code: it does not exist here."""

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedNameError(
            f"TECompiler.{name} is not supported; operators are compiled by relay.build alone"
        )


def get() -> TECompiler:
    """The cache."""
    return TECompiler()
