"""The script of the widgets, stored once per kernel, and once in a notebook that saves widget
states."""

from __future__ import annotations

import ipywidgets
import traitlets

from byoc_lab.lab.view.assets import script


class SharedScript(ipywidgets.Widget):
    """Holds the compressed module for all widgets of a kernel; it is never displayed."""

    packed = traitlets.Unicode().tag(sync=True)


_shared: SharedScript | None = None


def shared_script() -> SharedScript:
    """The `SharedScript` of this kernel; a new one if it was closed (`Widget.close_all()`)."""
    global _shared
    if _shared is None or _shared.comm is None:
        _shared = SharedScript(packed=script())
    return _shared
