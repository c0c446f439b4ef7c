"""The options that the playground offers, as data of the page."""

from __future__ import annotations

from typing import Any

import byoc_lab
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.view.export import saved_state
from byoc_lab.lessons import cases
from byoc_lab.lessons.cases.base import PipelineCase
from byoc_lab.passes import make_pass, pass_names, pipeline_names
from tools.lite.guest.byoc_lab_playground import members, parts

RELAY = """\
def @main(%data: Tensor[(1, 3, 32, 32), float32],
          %weight: Tensor[(8, 3, 3, 3), float32],
          %bias: Tensor[(8), float32]) {
  %0 = nn.conv2d(%data, %weight, padding=[1, 1, 1, 1],
                 channels=8, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %bias);
  %2 = nn.relu(%1);
  %3 = floor(%2);
  nn.max_pool2d(%3, pool_size=[2, 2], strides=[2, 2])
}
"""
SAMPLE = {
    "relay_text": RELAY,
    "message": "",
    "table": "",
    "pipeline": "dnnl",
    "passes": None,
    "era": None,
}
"""The input that the playground opens with."""
ERAS = ("", "2020-01", "0.16")
"""The versions that passes can behave like; "" is today."""


def choices() -> dict[str, Any]:
    """The initial input; pipelines with the names of their passes per era; passes that need no
    options; cases."""
    return {
        "sample": SAMPLE,
        "pipelines": {name: _by_era(name) for name in pipeline_names()},
        "passes": [name for name in pass_names() if _is_made_by_name(name)],
        "cases": {case.name: _case(case) for case in cases.all_cases()},
    }


def sample_state() -> dict[str, Any]:
    """The stepper's state for the initial input, without times, because they vary."""
    trace = next(shown for _, shown in parts(**SAMPLE) if isinstance(shown, byoc_lab.Trace))
    state = saved_state(trace)
    return {**state, "stages": [{**stage, "time": ""} for stage in state["stages"]]}


def _by_era(name: str) -> dict[str, list[str]]:
    eras = {}
    for era in ERAS:
        try:
            eras[era] = [p.name for p in members(name, era or None)]
        except ByocLabError:  # this pipeline has no variant for an era
            assert era
    return eras


def _is_made_by_name(name: str) -> bool:
    """Whether a pass needs no options; passes of `byoc_lab.compat` are not in the page."""
    try:
        return type(make_pass(name)).__module__.startswith("byoc_lab.passes.")
    except ByocLabError:
        return False


def _case(case: cases.Case) -> dict[str, Any]:
    """A case as input: the text that shows its bug, and its passes."""
    found = {"title": case.title, "passes": _by_era(case.name), **_texts(case)}
    return {key: value.strip() if isinstance(value, str) else value for key, value in found.items()}


def _texts(case: cases.Case) -> dict[str, str]:
    if isinstance(case, cases.DumpCase):
        is_module = case.recorded.lstrip().startswith("def ")
        return {"relay_text" if is_module else "message": case.recorded}
    assert isinstance(case, cases.LiveCase)
    mod = case.plain() if isinstance(case, PipelineCase) else case.module()
    return {"relay_text": mod.astext(show_types=False)}
