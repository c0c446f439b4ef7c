"""Operators are read back from the Relax operators that they are translated to."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op import OpDef, define_op
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.registry import RELAX_NAMES, identity
from tests.relay.op.test_facts import definitions, sample_attributes


class Recorder:
    """Stands in for `tvm.relax.op` and its operators, and records the called ones."""

    def __init__(self, calls: list[str], name: str = ""):
        self._calls, self._name = calls, name

    def __getattr__(self, word: str) -> Recorder:
        return Recorder(self._calls, f"{self._name}.{word}".lstrip("."))

    def __call__(self, *args: Any, **attrs: Any) -> None:
        self._calls.append(self._name)


def relax_names(d: OpDef) -> list[str]:
    """The Relax operators that a translation calls; none if it needs operand types or attributes
    without a sample."""
    calls: list[str] = []
    assert d.relax is not None
    try:
        d.relax(Recorder(calls), sample_attributes(d), *[object() for _ in d.inputs])
    except (AttributeError, TypeError, IndexError, ByocLabError):
        return []
    return calls


def unread(d: OpDef) -> str | None:
    """The Relax operator that is the whole translation of `d` and that has no reader."""
    if d.relax is None or "from_relax" in d.lacks:
        return None
    names = relax_names(d)
    return names[0] if len(names) == 1 and RELAX_NAMES.get(names[0]) is None else None


def test_every_operator_that_is_a_relax_operator_is_read_back() -> None:
    """If the test fails: each listed definition needs `from_relax` for the listed operator."""
    assert {d.name: name for d in definitions() if (name := unread(d)) is not None} == {}


def test_operator_without_a_reader_is_detected() -> None:
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


def test_most_elementwise_operators_are_tested() -> None:
    translated = [d for d in definitions() if d.relax is not None]
    seen = sum(relax_names(d) == [d.name] and bool(d.from_relax) for d in translated)
    assert seen > 50


def test_each_relax_name_has_one_reader() -> None:
    """Operators that are one Relax operator share the function that reads it."""
    readers: dict[str, object] = {}
    for d in definitions():
        for name, read in d.from_relax.items():
            assert readers.setdefault(name, read) is read, name
    assert Op.get("add").definition.from_relax
