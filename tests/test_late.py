"""Slots through which lower layers call higher ones are filled by `import byoc_lab`."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import byoc_lab
from byoc_lab import late, relay
from byoc_lab.display import VIEW, Shown
from byoc_lab.lab.language import RELAY, Language
from byoc_lab.relay.ir.node_code import NODE_CODE, NodeCode
from byoc_lab.relay.patterns import is_op, wildcard

LISTED = re.findall(r"^    (\S+)\.([A-Z_]+) ", late.__doc__ or "", re.MULTILINE)
ROOT = Path(byoc_lab.__file__).parent


def test_every_slot_is_listed_and_filled() -> None:
    made = [
        (".".join(path.relative_to(ROOT).with_suffix("").parts), name)
        for path in ROOT.rglob("*.py")
        for name in re.findall(r"^([A-Z_]+): .*\bSlot\[", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert sorted(made) == sorted(LISTED) and made
    for module, name in LISTED:
        made_there = getattr(import_module(f"byoc_lab.{module}"), name)
        slots = made_there.values() if isinstance(made_there, dict) else [made_there]
        assert all(slot() for slot in slots)


def test_relay_slot_implements_language() -> None:
    assert isinstance(RELAY()(relay.IRModule()), Language)


def test_slot_calls_the_function_that_filled_it_last() -> None:
    slot: late.Slot[int] = late.Slot()
    slot.fill(lambda: 1)
    slot.fill(lambda: 2)
    assert slot() == 2


def test_objects_are_displayed_by_the_view_in_the_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    class Words:
        def mimebundle(self, obj: object) -> dict[str, str]:
            return {"text/plain": type(obj).__name__}

    monkeypatch.setattr(VIEW, "_load", Words)
    shown: list[Shown] = [relay.IRModule(), byoc_lab.lint(relay.IRModule())]
    assert [s._repr_mimebundle_()["text/plain"] for s in shown] == ["IRModule", "Findings"]


def test_methods_of_nodes_and_patterns_use_their_slots() -> None:
    assert all(callable(getattr(NODE_CODE(), field.name)) for field in fields(NodeCode))
    x = relay.var("x", shape=(2,))
    call = x + x
    pattern = is_op("add")(wildcard(), wildcard())
    assert str(call) == call.astext(header=False) == relay.print_text(call, header=False)
    assert pattern.match(call) and not pattern.match(x)
    assert isinstance(pattern.partition(call).op, relay.Function)
    assert repr(pattern) == "add(*, *)"
    assert relay.structural_equal(pickle.loads(pickle.dumps(relay.const(1.0))), relay.const(1.0))


@pytest.mark.parametrize("module", ["relay.ir.node", "relay.ir.module"])
def test_lower_module_imported_first_has_filled_slots(module: str) -> None:
    uses = f"import byoc_lab.{module}; from byoc_lab.relay.ir.node_code import NODE_CODE"
    subprocess.run([sys.executable, "-c", f"{uses}; NODE_CODE()"], check=True, timeout=900)
