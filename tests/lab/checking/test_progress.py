"""Progress is reported to a listener, and displayed on a terminal or in a notebook after a
second."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay, terminal
from byoc_lab.lab.checking import progress
from byoc_lab.lab.checking.progress import Progress, ProgressUpdate
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that advances by 0.3 s at each reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += 0.3
        return self.now


def test_long_work_shows_a_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    written = Terminal()
    monkeypatch.setattr(sys, "stderr", written)
    monkeypatch.setattr(terminal, "DELAY", 0.0)
    monkeypatch.setattr(terminal, "INTERVAL", 0.001)
    with Progress("validate", 9) as made:
        made.step("reference of nn.relu")
        while "reference of nn.relu" not in written.getvalue():
            pass
    assert "1 of 9: validate: reference of nn.relu" in written.getvalue()
    assert written.getvalue().endswith("\r")  # the line is removed


def test_short_work_and_other_streams_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        with Progress("validate", 9) as made:
            made.step("reference of nn.relu")
        assert stream.getvalue() == ""


def test_notebook_has_one_display_that_is_updated(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []

    class Handle:
        def update(self, bundle: Any, raw: bool) -> None:
            shown.append(bundle["text/plain"])

    class Display:
        @staticmethod
        def display(bundle: Any, raw: bool, display_id: bool) -> Handle:
            shown.append(bundle["text/plain"])
            return Handle()

    class IPython:
        @staticmethod
        def get_ipython() -> Any:
            return type("Shell", (), {"kernel": object()})()

    monkeypatch.setitem(sys.modules, "IPython", IPython)
    monkeypatch.setitem(sys.modules, "IPython.display", Display)
    monkeypatch.setattr(progress, "time", Clock())
    with Progress("validate", 9) as made:
        for n in range(4):
            made.step(f"step {n}")
    assert shown == ["validate: step 2 (3 of 9)", "validate: step 3 (4 of 9)", ""]


def test_validate_notifies_its_listener() -> None:
    x = relay.var("x", shape=(4,))
    mod = infer_module(IRModule.from_expr(Function([x], nn.relu(relay.tanh(x)))))
    told: list[ProgressUpdate] = []
    byoc_lab.validate(mod, build(mod), [np.zeros(4, "float32")], progress=told.append)
    assert [m.at for m in told] == [
        "reference of tanh", "reference of nn.relu", "the executable",
    ]  # fmt: skip
    assert [m.done for m in told] == [0, 1, 2] and told[0].total == 3
    assert all(m.work == "validate" for m in told)
