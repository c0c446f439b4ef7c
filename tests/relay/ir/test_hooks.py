"""What lower modules call by name is there once `byoc_lab.relay` is imported."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

from byoc_lab import relay
from byoc_lab.relay.ir import hooks
from byoc_lab.relay.patterns import is_op, wildcard

PUBLIC = [
    name
    for name, function in inspect.getmembers(hooks, inspect.isfunction)
    if function.__module__ == hooks.__name__ and name != "provide"
]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_hook_has_its_function(name: str) -> None:
    assert callable(hooks._provided[name])


def test_nothing_is_provided_that_no_hook_calls() -> None:
    assert hooks._provided.keys() == set(PUBLIC)


def test_a_hook_calls_what_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "_provided", {})
    hooks.provide(print_text=lambda obj, **options: f"{type(obj).__name__} {options}")
    assert hooks.print_text(1, header=False) == "int {'header': False}"


def test_methods_of_nodes_and_patterns_work_by_them() -> None:
    x = relay.var("x", shape=(2,))
    call = x + x
    pattern = is_op("add")(wildcard(), wildcard())
    assert str(call) == call.astext(header=False) == relay.print_text(call, header=False)
    assert pattern.match(call) and not pattern.match(x)
    assert isinstance(pattern.partition(call).op, relay.Function)
    assert repr(pattern) == "add(*, *)"
    assert relay.structural_equal(pickle.loads(pickle.dumps(relay.const(1.0))), relay.const(1.0))


@pytest.mark.parametrize("module", ["relay.ir.node", "relay.ir.module"])
def test_a_lower_module_that_is_imported_first_has_them(module: str) -> None:
    uses = f"import byoc_lab.{module}; from byoc_lab.relay.ir import hooks"
    program = f"{uses}; assert hooks._provided"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=900)
