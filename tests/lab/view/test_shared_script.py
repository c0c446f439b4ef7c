"""Widgets of one kernel share one script, which a notebook with their states stores once."""

from __future__ import annotations

import json
from types import SimpleNamespace

import ipywidgets
import pytest

from byoc_lab import lint
from byoc_lab.lab.view import assets
from byoc_lab.lab.view.shared_script import SharedScript
from byoc_lab.lab.view.stepper import Stepper, View, widget
from tests.lab.view.samples import annotated, chain


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for IPython's shell in a Jupyter kernel."""
    shell = SimpleNamespace(kernel=object())
    monkeypatch.setattr("IPython.get_ipython", lambda: shell)


def holder(shown: View) -> SharedScript:
    assert isinstance(shown.script, SharedScript)
    return shown.script


@pytest.mark.usefixtures("kernel")
def test_eleven_widgets_of_a_kernel_store_the_script_once() -> None:
    mod = annotated(fixed=False)
    objects = [mod, chain(), lint(mod), chain()[1].diff(), chain()[0].before] * 2 + [chain()]
    shown = [widget(obj, "") for obj in objects]
    (shared,) = {holder(each) for each in shown}
    sent = [shared.get_state(), *(each.get_state() for each in shown)]
    assert json.dumps(sent).count(assets.script()) == 1
    for state in sent[1:]:
        assert state["script"] == f"IPY_MODEL_{shared.model_id}"
        assert len(json.dumps({**state, "state": {}})) < 2_000


@pytest.mark.usefixtures("kernel")
def test_script_is_among_the_widgets_that_a_page_embeds() -> None:
    from ipywidgets.embed import dependency_state

    stepper = Stepper(chain())
    states = dependency_state([stepper], drop_defaults=False)
    assert states[holder(stepper).model_id]["state"]["packed"] == assets.script()


@pytest.mark.usefixtures("kernel")
def test_widget_created_after_all_were_closed_has_a_new_script() -> None:
    first = holder(Stepper(chain()))
    ipywidgets.Widget.close_all()
    second = holder(Stepper(chain()))
    assert second is not first and second.comm is not None


def test_widget_outside_a_kernel_has_its_own_script() -> None:
    """In marimo, a widget ends with the cell that created it."""
    stepper = Stepper(chain())
    assert stepper.script is None and stepper.get_state()["script"] == ""
    assert assets.script() in stepper.get_state()["_esm"]
