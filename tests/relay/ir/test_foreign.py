"""Modules of other languages: their operators, comparisons and refusals."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ForeignModuleError, UnknownNameError
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir import foreign
from byoc_lab.relay.ir.expr import Call, Function, Op, Var
from byoc_lab.relay.ir.foreign import ForeignModule, ForeignOp, foreign_op, named_op
from byoc_lab.relay.text.printer_lines import Line


def module(operator: str = "relax.nn.conv2d") -> ForeignModule:
    x = Var("x")
    call = Call(foreign_op(operator), [x, x])
    function = Function([x], call)
    lines = [Line("def main(x):", function, "main"), Line("  conv(x)", call, "main", {"x": x})]
    return ForeignModule("relax", {"main": function}, {}, lines, [])


def test_foreign_operator_is_one_object_per_name_outside_the_registry() -> None:
    op = foreign_op("relax.nn.conv2d")
    assert op is foreign_op("relax.nn.conv2d") is named_op("relax.nn.conv2d")
    assert op.name == "nn.conv2d" and op is not Op.get("nn.conv2d")
    assert op.definition.inputs == ("data", "weight")
    assert named_op("nn.relu") is Op.get("nn.relu")
    assert "relax.nn.conv2d" not in Op.list_op_names()
    assert foreign_op("relax.nothing").definition.inputs == ()
    with pytest.raises(UnknownNameError):
        named_op("nothing.of.the.kind")


def test_copies_and_pickles_keep_operators_and_lines() -> None:
    mod = module()
    for again in (pickle.loads(pickle.dumps(mod)), copy.deepcopy(mod)):
        assert (
            structural_equal(mod, again) and str(again) == str(mod) == "def main(x):\n  conv(x)\n"
        )
        assert isinstance(again["main"].body.op, ForeignOp)
        assert again.lines[1].node is again["main"].body
        assert again.lines[1].refs == {"x": again["main"].params[0]}


def test_operators_with_equal_names_in_two_languages_differ() -> None:
    other = relay.IRModule.from_expr(relay.nn.relu(relay.var("x", shape=(1,))))
    assert not structural_equal(module(), module("relax.nn.relu"))
    assert not structural_equal(other, module("relax.nn.relu"))


def test_foreign_module_is_drawn_and_compared() -> None:
    found = byoc_lab.diff(module(), module("relax.nn.relu"))
    assert found.summary == "1 call added, 1 call removed"
    assert byoc_lab.lint(module()).report() == "clean: no findings"


def test_relay_passes_refuse_a_foreign_module() -> None:
    for ask in (relay.transform.InferType(), byoc_lab.board, byoc_lab.fix, byoc_lab.trace):
        with pytest.raises(ForeignModuleError):
            ask(module())


class Alien:
    """An object of a package with a reader."""


def test_package_may_register_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(foreign.READERS, Alien.__module__.partition(".")[0], lambda: read)

    def read(obj: Any) -> Any:
        return module() if isinstance(obj, Alien) else obj

    assert isinstance(foreign.adopted(Alien()), ForeignModule)
    assert foreign.adopted("text") == "text"
