"""NameSupply and GlobalVarSupply give TVM 0.16's names for the same calls."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.compat.ir.supply import GlobalVarSupply, NameSupply
from byoc_lab.errors import DuplicateNameError


def module(*names: str) -> relay.IRModule:
    return relay.IRModule({n: relay.Function([], relay.const(1)) for n in names})


def test_fresh_names_are_unique():
    names = NameSupply()
    asked = ["a b", "a.b", "x_1", "x_1", "x", "x", "x"]
    given = [names.fresh_name(n) for n in asked]
    assert given == ["a b", "a_b", "x_1", "x_1_1", "x", "x_2", "x_3"]


def test_prefix_is_added_to_fresh_names():
    names = NameSupply("pre")
    given = [names.fresh_name("t"), names.fresh_name("t"), names.fresh_name("u", add_prefix=False)]
    assert given == ["pre_t", "pre_t_1", "u"]
    assert names.reserve_name("z") == "pre_z" and names.contains_name("z")
    assert names.fresh_name("z") == "pre_z_1"
    assert not names.contains_name("z", add_prefix=False)


def test_names_in_the_module_are_reserved():
    supply = GlobalVarSupply(module("main"))
    given = [supply.fresh_global("main"), supply.fresh_global("main", add_prefix=False)]
    assert [gv.name_hint for gv in given] == ["tvmgen_default_main", "main_1"]


def test_unique_variable_is_the_same_each_time():
    supply = GlobalVarSupply(NameSupply("p"))
    var = supply.unique_global_for("f")
    assert supply.unique_global_for("f") is var and var.name_hint == "p_f"
    assert supply.fresh_global("f").name_hint == "p_f_1"


def test_reserved_variable_is_returned_for_its_name():
    supply, var = GlobalVarSupply(), relay.GlobalVar("r")
    supply.reserve_global(var)
    assert supply.unique_global_for("r") is var
    assert supply.fresh_global("r").name_hint == "r_1"
    with pytest.raises(DuplicateNameError, match="@r already"):
        supply.reserve_global(relay.GlobalVar("r"))
    with pytest.raises(DuplicateNameError, match="@main already"):
        GlobalVarSupply([module("main"), module("main", "g")])
