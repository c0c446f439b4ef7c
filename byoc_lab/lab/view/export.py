"""Writing an object as one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from byoc_lab.files import write_text
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.bundles import render_text
from byoc_lab.lab.view.html import page
from byoc_lab.lab.view.messages import State
from byoc_lab.lab.view.states.objects import state_and_ids, state_of
from byoc_lab.lab.view.states.overlays import overlays_of
from byoc_lab.lab.view.states.parts import is_large
from byoc_lab.lab.view.states.rewrites import MAX_STEP_LINES, with_steps


def export_html(obj: Any, path: str | os.PathLike[str]) -> Path:
    """Write an object as one self-contained HTML file and return its path."""
    if isinstance(obj, Trace):
        return export_trace(obj, path)
    return _write(path, state_of(obj), obj)


def export_trace(trace: Trace, path: str | os.PathLike[str], found: Sequence[Any] = ()) -> Path:
    """Write a trace as one HTML file. found: results of other functions to show in its graph (see
    `overlays.py`)."""
    return _write(path, saved_state(trace, found), trace)


def saved_state(trace: Trace, found: Sequence[Any] = ()) -> State:
    """The complete state of a trace, because a page without a kernel cannot request parts."""
    state, ids = state_and_ids(trace)
    limit = 0 if is_large(trace) else MAX_STEP_LINES
    made = with_steps(trace, ids, state, limit)
    return {**made, "overlays": overlays_of(trace, ids, found)}


def _write(path: str | os.PathLike[str], state: State, obj: Any) -> Path:
    target = Path(path)
    write_text(target, page(state, render_text(obj)))
    return target
