"""Requests from a page to a widget, for tests."""

from __future__ import annotations

import itertools
from typing import Any

from byoc_lab.lab.view.stepper import TraceView

TICKETS = itertools.count()  # two equal requests count as two


def ask(
    view: TraceView, stage: int, what: str, rewrite: int = 0, page: str = "first"
) -> dict[str, Any]:
    """The answer to a request."""
    wanted = {"stage": stage, "rewrite": rewrite, "what": what}
    view.asked = {**wanted, "page": page, "at": next(TICKETS)}
    return view.answer


def shown_step(view: TraceView, rewrite: int) -> dict[str, Any]:
    """The step that is sent to the page when a rewrite is selected."""
    view.rewrite = rewrite
    step: dict[str, Any] = ask(view, view.index, "picture", rewrite)["step"]
    return step
