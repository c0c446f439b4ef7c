"""TVM's cache of compiled operators (`te_compiler`), which scripts clear before they build."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import UnsupportedNameError


class TECompiler:
    """The cache of `relay.build`, which is always empty: `clear` has no effect."""

    def clear(self) -> None:
        """Does nothing: there is no cache of compiled code."""

    def __getattr__(self, name: str) -> Any:
        raise UnsupportedNameError(
            f"TECompiler.{name} is not supported; only relay.build compiles operators"
        )


def get() -> TECompiler:
    """The cache."""
    return TECompiler()
