"""docs/view.md: its blocks run, on two relus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import byoc_lab
from byoc_lab import relay

PAGE = Path(__file__).parents[3] / "docs" / "view.md"


def test_the_blocks_run() -> None:
    x = relay.var("x", shape=(1, 4, 8, 8))
    mod = relay.transform.InferType()(relay.IRModule.from_expr(relay.nn.relu(relay.nn.relu(x))))
    names: dict[str, Any] = {"byoc_lab": byoc_lab, "mod": mod, "call": mod["main"].body.args[0]}
    names["recorded"] = byoc_lab.trace(mod, "dnnl")
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S):
        exec(compile(block, str(PAGE), "exec"), names)
    stepper, board = names["stepper"], names["board"]
    assert stepper.trace.stages[stepper.index].changed  # it opens at the first change
    inner = board.module["main"].body.args[0]  # put in, taken out, and that undone
    assert inner.op.name == "annotation.compiler_end"
