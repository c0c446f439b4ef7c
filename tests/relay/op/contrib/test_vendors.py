"""Errors on TVM's integrations that are not registered: they name the import that registers
them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from byoc_lab.errors import UnknownNameError
from byoc_lab.relay.op.contrib.vendors import IN_COMPAT, NOT_HERE, unregistered
from byoc_lab.run.backends import get_backend

SCRIPT = f"""
import byoc_lab
from byoc_lab import relay

net = relay.IRModule.from_expr(relay.nn.relu(relay.var("x", shape=(4,))))
calls = [(ask, name) for name in {IN_COMPAT}
         for ask in (byoc_lab.explain, byoc_lab.trace, byoc_lab.coverage, byoc_lab.lint)]
for ask, name in calls:
    try:
        ask(net, name)
    except byoc_lab.errors.UnknownNameError as error:
        assert "import byoc_lab.compat.integrations" in str(error), error
        assert byoc_lab.decode(error)[0].name == "own-in-compat", error
    else:
        raise SystemExit(f"{{ask.__name__}} knows {{name}}")
from byoc_lab.compat.integrations import MODULES
for ask, name in calls:
    ask(net, name)
assert tuple(MODULES) == {IN_COMPAT}, tuple(MODULES)
"""


def test_errors_name_the_import_that_registers_each_integration() -> None:
    subprocess.run([sys.executable, "-c", SCRIPT], check=True)


def test_command_in_the_error_works(tmp_path: Path) -> None:
    file = tmp_path / "net.relay"
    file.write_text("def @main(%x: Tensor[(4, 4), float16]) { nn.dense(%x, %x) }")
    assert "`python -m byoc_lab.compat -m byoc_lab.cli`" in unregistered("cutlass", [])
    command = ["-m", "byoc_lab.compat", "-m", "byoc_lab.cli", "explain", str(file)]
    done = subprocess.run(
        [sys.executable, *command, "--target", "cutlass"], capture_output=True, text=True
    )
    assert "1 of 1 call offloaded to cutlass" in done.stdout, done.stderr


@pytest.mark.parametrize("name", NOT_HERE)
def test_other_integrations_are_named_as_tvm_s(name: str) -> None:
    assert "integrations, and byoc_lab does not have its table" in unregistered(name, ["dnnl"])


def test_misspelled_name_gets_the_nearest_name() -> None:
    assert unregistered("dnll", ["dnnl"]) == "did you mean 'dnnl'?"


@pytest.mark.parametrize("name", [*IN_COMPAT, *NOT_HERE])
def test_build_does_not_say_that_an_import_adds_code_generation(name: str) -> None:
    with pytest.raises(UnknownNameError, match="generates no code for TVM's integrations") as error:
        get_backend(name)
    assert "import byoc_lab" not in str(error.value)
