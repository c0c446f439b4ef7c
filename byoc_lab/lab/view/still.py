"""The still copy of an object: picture, caption and findings, for notebooks that run no script.

An untrusted notebook shows HTML without styles, scripts and frames. The drawing is an image with a
data URL, which JupyterLab's sanitizer keeps.
"""

from __future__ import annotations

import base64
import html
from typing import Any

from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.graph import GraphView
from byoc_lab.lab.view.messages import State
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule

# above this number, regions and repeats are folded; if still above, no picture is shown
MAX_BOXES = 40
MAX_FINDINGS = 10
HOW_TO_STEP = (
    "To step through it, trust this notebook (<code>jupyter trust</code> and its file name), "
    "or run the cell."
)
TOO_LARGE = "The graph is too large for a still picture; it opens in the stepper."

# If the frame is shown, this style hides the still copy; both styles and frames need trust.
_STILL = """<style>.byl-frame + .byl-still {{ display: none; }}</style>
{frame}<div class="byl-still"><p>{named}</p>{picture}{findings}<p>{how}</p></div>"""


def with_still(frame: str, obj: Any, state: State) -> str:
    """The frame and, for notebooks that do not show it, a still copy of the stage at which it
    opens."""
    stage = state["stages"][state["opens"]] if state["stages"] else None
    if stage is None:
        return frame
    shown = stage["after"] if stage["after"] is not None else stage["before"]
    assert shown is not None  # every stage has a module
    found = state["modules"][shown]["findings"]
    return _STILL.format(
        frame=frame,
        named=_named(stage["name"], stage["caption"]),
        picture=_picture(_drawn(obj, state["opens"]), stage["caption"] or stage["name"]),
        findings=_listed([f"{f['severity']} {f['code']}: {f['message']}" for f in found]),
        how=HOW_TO_STEP,
    )


def _drawn(obj: Any, opens: int) -> IRModule | Expr | None:
    """The drawn module; for a trace, the module of the stage that is shown first."""
    if isinstance(obj, Trace):
        return obj[opens].before if obj[opens].after is None else obj[opens].after
    return obj if isinstance(obj, (IRModule, Expr)) else None


def _picture(drawn: IRModule | Expr | None, alternative: str) -> str:
    # no picture for other objects, such as a module of TVM that is known only as text
    if not isinstance(drawn, (IRModule, Expr)):
        return ""
    view = GraphView(drawn, MAX_BOXES)
    if len(view.drawn.boxes) > MAX_BOXES:
        return f"<p>{TOO_LARGE}</p>"
    try:
        svg = view.svg
    # without a layout program, caption and findings remain
    except (MissingDependencyError, BuildError):
        return ""
    data = base64.b64encode(svg.encode("utf-8", "backslashreplace")).decode("ascii")
    return (
        f'<p><img alt="{html.escape(alternative)}" src="data:image/svg+xml;base64,{data}" '
        f'style="max-width:100%;max-height:640px"></p>'
    )


def _named(name: str, caption: str) -> str:
    """The name of the stage in bold, and its caption, which may begin with the name."""
    return f"<b>{html.escape(name)}</b> {html.escape(caption.removeprefix(f'{name} '))}"


def _listed(lines: list[str]) -> str:
    items = [f"<li>{html.escape(line)}</li>" for line in lines[:MAX_FINDINGS]]
    if len(lines) > MAX_FINDINGS:
        items.append(f"<li>{len(lines) - MAX_FINDINGS} more</li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""
