"""PrintIR prints the module on standard error."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.passes import PrintIR
from byoc_lab.relay import IRModule


def test_print_ir_prints_the_module_and_returns_it_unchanged(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mod = IRModule.from_expr(relay.abs(relay.var("x", shape=(2,))))
    assert PrintIR("here")(mod) is mod
    assert capsys.readouterr().err == f"PrintIR(here):\n{mod.astext(show_meta_data=False)}\n"
