"""`tvm.ir.diagnostics`: errors in a program, and their renderers.

By default, faults raise typed errors with byoc_lab's message and source location. A script that
sets a renderer (`override_renderer`), as TVM's own tests do, gets TVM 0.16's diagnostics instead:
the errors of the parser and of type inference, in TVM's words if they are known, then a
DiagnosticError.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from byoc_lab.compat.text.wording import tvm_messages
from byoc_lab.errors import DiagnosticError
from byoc_lab.relay.ir.diagnosis import listen
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.span import Span

_ERRORS = "one or more error diagnostics were emitted, please check diagnostic render for output."


class DiagnosticLevel(IntEnum):
    """The severity of a diagnostic."""

    BUG = 10
    ERROR = 20
    WARNING = 30
    NOTE = 40
    HELP = 50


class Diagnostic:
    """One message about a source location; `span` is None if the location is unknown."""

    def __init__(self, level: int, span: Span | None, message: str):
        self.level, self.span, self.message = DiagnosticLevel(level), span, message


class DiagnosticContext:
    """Diagnostics about a module, and their renderer."""

    def __init__(self, module: IRModule, renderer: DiagnosticRenderer | None = None):
        self.module = module
        self.renderer = renderer or get_renderer()
        self.diagnostics: list[Diagnostic] = []

    def emit(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic."""
        self.diagnostics.append(diagnostic)

    def render(self) -> None:
        """Show all diagnostics. Raises DiagnosticError if one of them is an error."""
        self.renderer.render(self)
        if any(d.level == DiagnosticLevel.ERROR for d in self.diagnostics):
            raise DiagnosticError(_ERRORS)


class DiagnosticRenderer:
    """A function of a `DiagnosticContext` that shows its diagnostics."""

    def __init__(self, render_func: Callable[[DiagnosticContext], None]):
        self.render_func = render_func

    def render(self, ctx: DiagnosticContext) -> None:
        """Show the diagnostics of `ctx`."""
        self.render_func(ctx)


def _print(ctx: DiagnosticContext) -> None:
    """Print diagnostics as TVM does: each with its source line, on stderr."""
    for each in ctx.diagnostics:
        print("\n".join(_lines(each, ctx.module)), file=sys.stderr)


def _lines(each: Diagnostic, mod: IRModule) -> list[str]:
    span = each.span
    if span is None:
        return [each.message]
    shown = [f"{each.level.name.lower()}: {each.message}", f" --> {span}"]
    source = mod.source_map.source_map.get(span.source_name) if span.source_name else None
    if source is None:
        return shown
    number, line = f" {span.line} ", source.line(span.line)
    margin = " " * len(number)
    marks = ("^" if span.column <= n < span.end_column else " " for n in range(1, len(line) + 1))
    return [*shown, f"{margin}|  ", f"{number}|  {line}", f"{margin}|  {''.join(marks)}"]


_renderers = [DiagnosticRenderer(_print)]


def get_renderer() -> DiagnosticRenderer:
    """The renderer that new contexts have."""
    return _renderers[-1]


def override_renderer(render_func: Callable[[DiagnosticContext], None] | None) -> None:
    """Set the renderer that shows errors in programs before a DiagnosticError is raised. None:
    raise the errors themselves."""
    del _renderers[1:]
    if render_func is not None:
        _renderers.append(DiagnosticRenderer(render_func))
    listen(None if render_func is None else _rendered)


def _rendered(error: DiagnosticError, mod: Any) -> DiagnosticError:
    """Show an error, and return the error to raise."""
    ctx = DiagnosticContext(mod or IRModule())
    span = getattr(error, "span", None)
    for message in tvm_messages(error) or (getattr(error, "reason", str(error)),):
        ctx.emit(Diagnostic(DiagnosticLevel.ERROR, span, message))
    try:
        ctx.render()
    except DiagnosticError as raised:
        return raised
    return error  # if the renderer removed the diagnostics, the original error is raised


__all__ = [
    "Diagnostic",
    "DiagnosticContext",
    "DiagnosticLevel",
    "DiagnosticRenderer",
    "get_renderer",
    "override_renderer",
]
