"""`tvm.ir.diagnostics`: renderers of diagnostics, for scripts that set one.

What is wrong with a program is raised as an error here, with the message and the place in it; no
renderer is called for it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any


class DiagnosticLevel(IntEnum):
    """How grave a diagnostic is."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic:
    """One message about a place in a program."""

    def __init__(self, level: int, span: Any, message: str):
        self.level, self.span, self.message = level, span, message


class DiagnosticContext:
    """Diagnostics about a module, and what shows them."""

    def __init__(self, module: Any, renderer: DiagnosticRenderer | None = None):
        self.module = module
        self.renderer = renderer or get_renderer()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        self.renderer.render(self)


class DiagnosticRenderer:
    """A function of a `DiagnosticContext` that shows its diagnostics."""

    def __init__(self, render_func: Callable[[DiagnosticContext], None]):
        self.render_func = render_func

    def render(self, ctx: DiagnosticContext) -> None:
        self.render_func(ctx)


def _print(ctx: DiagnosticContext) -> None:
    for found in ctx.diagnostics:
        print(f"{found.span}: {found.message}" if found.span else found.message)


_renderers = [DiagnosticRenderer(_print)]


def get_renderer() -> DiagnosticRenderer:
    """The renderer that new contexts have."""
    return _renderers[-1]


def override_renderer(render_func: Callable[[DiagnosticContext], None] | None) -> None:
    """Let new contexts have another renderer; None: the one that prints."""
    del _renderers[1:]
    if render_func is not None:
        _renderers.append(DiagnosticRenderer(render_func))


__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DiagnosticRenderer",
    "get_renderer",
    "override_renderer",
]
