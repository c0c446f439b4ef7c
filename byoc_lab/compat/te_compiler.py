"""`te_compiler.get().clear()`: TVM's cache of compiled kernels. Here nothing is cached."""

from __future__ import annotations


class TECompiler:
    """An empty cache."""

    def clear(self) -> None:
        """Nothing is kept from one build to the next, so nothing is to be forgotten."""


def get() -> TECompiler:
    """The cache."""
    return TECompiler()


__all__ = ["TECompiler", "get"]
