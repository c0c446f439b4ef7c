"""`relay.testing.run_opt_pass` runs a pass on an expression, optionally with the prelude."""

from __future__ import annotations

from byoc_lab.compat import relay


def test_run_opt_pass_with_import_prelude_adds_the_prelude() -> None:
    names = []

    def look(mod: relay.IRModule) -> relay.IRModule:
        names.append({gv.name_hint for gv in mod.functions})
        return mod

    x = relay.var("x", shape=(2, 3))
    assert relay.testing.run_opt_pass(x, look, import_prelude=True).name_hint == "x"
    assert {"main", "map", "foldl"} <= names[0]
    assert relay.testing.run_opt_pass(x, look).name_hint == "x"
    assert names[1] == {"main"}
