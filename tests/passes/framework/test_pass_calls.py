"""The pass manager calls passes and instruments as TVM 0.16 does, and refuses the same
arguments."""

from __future__ import annotations

import json

import pytest

from byoc_lab.compat import relay, tvm
from tests.parity.facts.pass_calls import FILE, SCENARIOS
from tests.parity.goldens.files import golden_path

RECORDED_IN_TVM = json.loads(golden_path(FILE).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_byoc_lab_and_tvm_make_equal_calls(name: str) -> None:
    recorded: list[str] = []
    SCENARIOS[name](tvm, relay, recorded)
    assert recorded == RECORDED_IN_TVM[name]
