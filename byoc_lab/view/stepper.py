"""The widget: `Stepper(trace)`, as the last expression of a cell."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from byoc_lab.view.assets import css, esm
from byoc_lab.view.displays import state_of
from byoc_lab.view.state import State
from byoc_lab.view.text import stage_text, trace_text


class View(anywidget.AnyWidget):
    """Draws a state (see `state.py`): the stages of a trace, a difference, or one module.

    Synced with the browser, and nothing else is:
        state: what to draw, sent once.
        index: the stage shown, from 0; set by both sides. TraitError when out of range.
        selected: id of the node that is chosen, "" for none; set by both sides.
    """

    _esm = esm()
    _css = css()
    state = traitlets.Dict().tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)
    selected = traitlets.Unicode("").tag(sync=True)

    def __init__(self, state: State, text: str = "", **more: Any):
        self._text = text
        super().__init__(state=state, **more)

    @traitlets.validate("index")
    def _in_range(self, proposal: Any) -> int:
        count = len(self.state.get("stages", ()))
        if not 0 <= proposal["value"] < max(count, 1):
            raise traitlets.TraitError(
                f"index must be in [0, {count}), the stages of this trace; got {proposal['value']}"
            )
        return proposal["value"]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.state['title']}>"


class Stepper(View):
    """Step through a `Trace`: by button, by key, or `stepper.index = 3`. `print` it for text.

    `stepper.stage` is the recorded stage that is shown. The synced state is that of `View`.
    """

    def __init__(self, trace: Any, index: int = 0):
        self.trace = trace
        super().__init__(state_of(trace), index=index)

    @property
    def stage(self) -> Any:
        """The `Stage` of the trace that is shown; None when nothing was recorded."""
        return self.trace.stages[self.index] if self.trace.stages else None

    def __str__(self) -> str:
        """The table of stages, then the shown stage's differences."""
        table = trace_text(self.trace)
        return f"{table}\n\n{stage_text(self.trace, self.index)}" if self.trace.stages else table
