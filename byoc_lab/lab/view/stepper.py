"""The stepper and other widgets: `Stepper(trace)`, as the last expression of a cell."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from byoc_lab.errors import ArgumentError, UnknownNodeError
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lab.view.assets import shared_esm, whole_esm
from byoc_lab.lab.view.bundles import in_kernel, publish, without_kernel
from byoc_lab.lab.view.export import export_trace
from byoc_lab.lab.view.messages import Asked, State
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.lab.view.states.overlays import overlays_of
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.lab.view.text import stage_text, trace_text
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Expr, describe
from byoc_lab.relay.ir.unparsed import UnparsedModule

AHEAD = 1.0  # seconds for computing the nearest stages before a large trace is shown


def _reference(widget: Any, _: Any) -> str:
    """The reference to a widget that front ends use in the state of another widget."""
    return "" if widget is None else f"IPY_MODEL_{widget.model_id}"


class View(anywidget.AnyWidget):
    """Draws a state (`messages.State`): the stages of a trace, a diff, or one module.

    These traits, and no others, are synchronized with the browser:
        state: the data to draw, sent once.
        index: the stage shown, from 0; set by both sides. TraitError if out of range.
        selected_id: the id of the selected node, or ""; set by both sides.
        rewrite: the rewrite of the stage that is shown, from 1, or 0 for the whole pass; set by
            both sides. TraitError if out of range.
        asked: the request of the browser (`messages.Asked`), or {}.
        answer: the answer to it (`messages.Answer`), or {}.
        overlays: further data about nodes (`messages.Overlays`), or {}.
        saved_as: the name of its HTML in a notebook, which the browser hides while the widget is
            displayed.
        script: the widget with the script, which all widgets of a kernel share; None outside
            kernels, where each widget contains the script.
    """

    state = traitlets.Dict().tag(sync=True)
    index = traitlets.Int(0).tag(sync=True)
    selected_id = traitlets.Unicode("").tag(sync=True)
    rewrite = traitlets.Int(0).tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    answer = traitlets.Dict().tag(sync=True)
    overlays = traitlets.Dict().tag(sync=True)
    saved_as = traitlets.Unicode("").tag(sync=True)
    script = traitlets.Any(read_only=True).tag(sync=True, to_json=_reference)
    to_browser: ClassVar = frozenset(
        {"state", "answer", "overlays", "saved_as", "script", "_esm", "_css"}
    )

    def __init__(self, state: State, text: str = "", **more: Any):
        self._text = text
        super().__init__(state=state, **more)
        self.saved_as = self.model_id or ""

    @property
    def _esm(self) -> str:
        return whole_esm() if self.script is None else shared_esm()

    @traitlets.default("script")
    def _script_of_the_kernel(self) -> Any:
        if not in_kernel():
            return None
        from byoc_lab.lab.view.shared_script import shared_script  # needs ipywidgets

        return shared_script()

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Apply a message of a page. Raises ArgumentError for traits that only Python may set."""
        refused = sorted(sync_data.keys() & self.to_browser)
        if refused:
            raise ArgumentError(
                f"a page sent {', '.join(refused)}, which it may only show: nothing was changed"
            )
        super().set_state(sync_data)

    @traitlets.validate("asked")
    def _is_a_request(self, proposal: Any) -> dict[str, Any]:
        asked: dict[str, Any] = proposal["value"]
        numbers = asked.get("stage"), asked.get("rewrite")
        good = all(type(n) is int for n in numbers) and type(asked.get("page")) is str
        if asked and not (good and asked.get("what") in ("picture", "text", "ahead")):
            raise traitlets.TraitError(
                f"a page asks for {{stage: a number, rewrite: another, what: 'picture', 'text' or "
                f"'ahead', page: its name}}; one asked for {asked!r:.200}"
            )
        return asked

    @traitlets.validate("index")
    def _in_range(self, proposal: Any) -> int:
        count = len(self.state.get("stages", ()))
        if not 0 <= proposal["value"] < max(count, 1):
            raise traitlets.TraitError(
                f"index must be in [0, {count}), the stages of this trace; "
                f"found {proposal['value']}"
            )
        value: int = proposal["value"]
        return value

    @traitlets.validate("rewrite")
    def _in_range_of_stage(self, proposal: Any) -> int:
        stages = self.state.get("stages", ())
        count = stages[self.index]["events_total"] if stages else 0
        if not 0 <= proposal["value"] <= count:
            raise traitlets.TraitError(
                f"rewrite must be in [0, {count}], the rewrites of this stage; "
                f"found {proposal['value']}"
            )
        value: int = proposal["value"]
        return value

    def _repr_mimebundle_(self, **more: Any) -> dict[str, Any]:
        """The widget, and a static display for use without a kernel."""
        shown = super()._repr_mimebundle_(**more)
        data = shown[0] if isinstance(shown, tuple) else shown
        return {**(data or {}), **self._without_widget()}

    def _without_widget(self) -> dict[str, Any]:
        return {"text/plain": str(self)}

    @printable
    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.state['title']}>"


def widget(obj: Any, text: str) -> View:
    """The widget that shows `obj`; `text` is its text form."""
    return Stepper(obj) if isinstance(obj, Trace) else View(state_of(obj), text)


class TraceView(View):
    """Draws a trace, `self.trace`, and answers the browser's requests about it."""

    trace: Trace
    _parts: Parts

    @traitlets.observe("index")
    def _whole_pass(self, change: Any) -> None:
        self.rewrite = 0

    @traitlets.observe("asked")
    def _answer(self, change: Any) -> None:
        if change["new"] and (answer := self._parts.answer(change["new"])):
            self.answer = answer

    def _without_widget(self) -> dict[str, Any]:
        return without_kernel(self.trace)

    def _ipython_display_(self) -> None:
        publish(self)


class Stepper(TraceView):
    """Steps through a `Trace` with buttons, keys, or `stepper.index = 3`, and through the rewrites
    inside a stage with `stepper.rewrite = 5`. `print` shows it as text.

    index: the stage to open at; None: the first stage that failed or, without a failure, the first
    that changed the module. overlays: results to show in the graph, see `overlay`.

    `stepper.stage` is the recorded stage that is shown. `stepper.selected` is the selected node
    (None if there is none): read it, set it to a node of any stage, or observe it with
    `stepper.observe(act, "selected")`. Setting it to a node that no stage has raises
    UnknownNodeError.
    """

    selected = traitlets.Instance(Expr, allow_none=True)

    def __init__(self, trace: Trace, index: int | None = None, overlays: Sequence[Any] = ()):
        self.trace = trace
        self._found: tuple[Any, ...] = ()
        self._parts = Parts(trace)
        state = self._parts.state
        super().__init__(state, index=state["opens"] if index is None else index)
        if not self._parts.whole:
            self._parts.prepare_near(self.index, AHEAD)
            self.asked = Asked(stage=self.index, rewrite=0, what="picture", page="", at=0)
        if overlays:
            self.overlay(*overlays)

    def overlay(self, *found: Any) -> None:
        """Show results in the graph, replacing earlier results. Accepts the results of `explain`
        for the traced module (why operators are on the host), of `validate` for `trace.result`
        (errors), and `byoc_lab.build(trace.result).cards()` (times and kernels).

        Raises ArgumentError for anything else, and for results of other modules.
        """
        self._parts.follow(len(self.trace.stages) - 1)
        self.overlays = overlays_of(self.trace, self._parts.ids, found)
        self._found = found

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the trace as one HTML file, with the overlays."""
        return export_trace(self.trace, path, self._found)

    @traitlets.validate("selected")
    def _in_trace(self, proposal: Any) -> Expr | None:
        node: Expr | None = proposal["value"]
        if node is not None and self._stage_of(node) is None:
            raise UnknownNodeError(
                f"{describe(node)} is not a node of this trace. Nodes are found by identity: take "
                f"them from stage.before and stage.after"
            )
        return node

    @traitlets.observe("selected")
    def _select_there(self, change: Any) -> None:
        """Show the node that Python selected, in a stage that contains it."""
        node = change["new"]
        if node is None:
            self.selected_id = ""
            return
        index = self._stage_of(node)
        assert index is not None  # validated above
        if index != self.index:
            self.index = index
        self._parts.follow(index)
        self.selected_id = self._parts.ids.of(node)

    @traitlets.observe("selected_id")
    def _select_here(self, change: Any) -> None:
        """Find the node that the browser selected."""
        ident = change["new"]
        if self.selected is not None and self._parts.ids.get(self.selected) == ident:
            return
        self.selected = self._node_of(ident) if ident else None

    def _stage_of(self, node: Expr) -> int | None:
        """The stage that shows a node: the current one if it contains the node."""
        order = sorted(range(len(self.trace.stages)), key=lambda n: (n != self.index, n))
        return next((n for n in order if any(x is node for x in self._nodes(n))), None)

    def _node_of(self, ident: str) -> Expr | None:
        """The node with this id in the shown stage, preferably in its result."""
        found = (n for n in self._nodes(self.index) if self._parts.ids.get(n) == ident)
        return next(found, None)

    def _nodes(self, index: int) -> Iterator[Expr]:
        stage = self.trace[index]
        for mod in (stage.after, stage.before):
            if mod is not None and not isinstance(mod, UnparsedModule):
                yield from nodes_of(mod)

    @property
    def stage(self) -> Stage | None:
        """The shown `Stage` of the trace; None if the trace has no stages."""
        return self.trace.stages[self.index] if self.trace.stages else None

    @printable
    def __str__(self) -> str:
        """The table of stages, then the changes of the stage that is shown."""
        table = trace_text(self.trace)
        return f"{table}\n\n{stage_text(self.trace, self.index)}" if self.trace.stages else table
