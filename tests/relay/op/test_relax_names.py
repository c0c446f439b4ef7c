"""Operators are read back from the Relax operators that they are translated to."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op import OpDef, define_op
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.registry import RELAX_NAMES, identity
from tests.relay.op.test_facts import definitions, sample_attributes


class Recorder:
    """Stands for `tvm.relax.op`, and for its operators: remembers which were called."""

    def __init__(self, calls: list[str], name: str = ""):
        self._calls, self._name = calls, name

    def __getattr__(self, word: str) -> Recorder:
        return Recorder(self._calls, f"{self._name}.{word}".lstrip("."))

    def __call__(self, *args: Any, **attrs: Any) -> None:
        self._calls.append(self._name)


def relax_names(d: OpDef) -> list[str]:
    """The Relax operators that a translation calls; none if it needs the types of its operands or
    attributes without a sample."""
    calls: list[str] = []
    assert d.relax is not None
    try:
        d.relax(Recorder(calls), sample_attributes(d), *[object() for _ in d.inputs])
    except (AttributeError, TypeError, IndexError, ByocLabError):
        return []
    return calls


def unread(d: OpDef) -> str | None:
    """The Relax operator that alone is the translation of `d` and that nothing reads."""
    if d.relax is None or "from_relax" in d.lacks:
        return None
    names = relax_names(d)
    return names[0] if len(names) == 1 and RELAX_NAMES.get(names[0]) is None else None


@pytest.mark.parametrize("d", definitions(), ids=lambda d: d.name)
def test_an_operator_that_is_one_of_relax_is_read_back(d: OpDef) -> None:
    name = unread(d)
    assert name is None, f"{d.name}: give its definition `from_relax` for relax.{name}"


def test_an_operator_that_is_not_read_back_is_found() -> None:
    lonely = define_op("test.lonely", "data", identity, relax=lambda R, attrs, x: R.nn.selu(x))
    assert unread(lonely.definition) == "nn.selu"
    read = define_op(
        "test.read",
        "data",
        identity,
        relax=lambda R, attrs, x: R.test_of_names(x),
        from_relax={"test_of_names": same},
    )
    assert unread(read.definition) is None


def test_most_operators_of_elements_are_seen() -> None:
    translated = [d for d in definitions() if d.relax is not None]
    seen = sum(relax_names(d) == [d.name] and bool(d.from_relax) for d in translated)
    assert seen > 50


def test_each_name_is_read_in_one_way() -> None:
    """Operators that are one operator of Relax share the function that reads it."""
    readers: dict[str, object] = {}
    for d in definitions():
        for name, read in d.from_relax.items():
            assert readers.setdefault(name, read) is read, name
    assert Op.get("add").definition.from_relax
