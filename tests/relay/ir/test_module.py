"""IRModule: one global variable per name, merging with other modules, attributes and text."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import FreeVariableError, UnknownNameError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.span import SequentialSpan, SourceName, Span
from byoc_lab.relay.ir.visit import post_order

TYPE = relay.TensorType((2,), "float32")


def unary(name: str) -> relay.Function:
    x = relay.Var("x", TYPE)
    return relay.Function([x], relay.Call(relay.op.get(name), [x]), TYPE)


def caller(of: relay.GlobalVar) -> relay.Function:
    x = relay.Var("x", TYPE)
    return relay.Function([x], of(x), TYPE)


def test_functions_added_from_another_module_call_this_module_s_global_variables():
    mod, other = IRModule(), IRModule()
    mod["f"] = unary("abs")
    theirs = relay.GlobalVar("f")
    other["g"] = caller(theirs)  # before its f is added
    other[theirs] = unary("exp")
    kept, own = mod["f"], mod.get_global_var("f")
    mod.update(other)
    assert [gv.name_hint for gv in mod] == ["f", "g"]
    assert mod.get_global_var("f") is own is not theirs
    assert mod["f"] is not kept and mod["f"].body.is_op("exp")
    for func in mod.functions.values():
        assert all(n is own for n in post_order(func) if isinstance(n, relay.GlobalVar))
    assert other["g"].body.op is theirs  # the other module is unchanged
    typed = relay.transform.InferType()(mod)
    assert str(typed["g"].ret_type) == "Tensor[(2), float32]"


def test_update_takes_a_mapping_and_types():
    mod, other = IRModule(), IRModule()
    header = relay.GlobalTypeVar(name_hint="Unit")
    other[header] = relay.TypeData(header, [], [relay.Constructor("U", [], header)])
    mod.update({"f": unary("abs"), relay.GlobalVar("g"): unary("exp")})
    mod.update(other)
    assert [gv.name_hint for gv in mod.get_global_vars()] == ["f", "g"]
    assert mod.get_type("Unit")[1].name_hint == "U"
    assert mod.get_constructor(mod.get_type("Unit")[1].tag).name_hint == "U"
    with pytest.raises(UnknownNameError, match="no type Nope; it has Unit"):
        mod.get_type("Nope")


def test_from_expr_does_not_reuse_an_existing_name():
    functions = {"main": unary("abs"), "main_1": unary("exp")}
    mod = IRModule.from_expr(unary("tanh"), functions)
    assert [gv.name_hint for gv in mod] == ["main", "main_1", "main_2"]
    assert mod["main"].body.is_op("abs") and mod["main_2"].body.is_op("tanh")
    named = IRModule.from_expr(unary("tanh").with_attrs({"global_symbol": "f"}), functions)
    assert named["f"].body.is_op("tanh")


def test_modules_with_different_attributes_are_unequal():
    mod = IRModule({"main": unary("abs")}, attrs={"a": 1})
    more = mod.with_attrs({"b": "x"}).with_attr("a", 2)
    assert dict(more.attrs) == {"a": 2, "b": "x"} and dict(mod.attrs) == {"a": 1}
    assert more.get_attr("b") == "x" and more.get_attr("c") is None
    assert dict(more.without_attr("a").without_attr("none").attrs) == {"b": "x"}
    assert not relay.structural_equal(mod, more)
    with pytest.raises(ValueError, match=r"(?s)<root>\.attrs.*attribute 'a': 1 against 2"):
        relay.assert_structural_equal(mod, more.without_attr("b"))


def test_script_is_the_text_without_its_header():
    mod = IRModule({"main": relay.Function([], relay.const([1.0, 2.0]))})
    assert mod.script() == str(mod) == "def @main() {\n  meta[relay.Constant][0]\n}\n\n"
    assert "#[metadata]" in mod.script(show_meta=True)


def test_function_with_free_variables_can_be_printed_but_not_typed():
    """As in TVM 0.16, whose constructor and printer accept it."""
    x, y = relay.Var("x", TYPE), relay.Var("y", TYPE)
    func = relay.Function([x], relay.add(x, y))
    mod = IRModule({"main": func})
    assert mod["main"] is func
    assert "free_var %y: Tensor[(2), float32];" in str(mod)
    with pytest.raises(FreeVariableError, match=r"@main contains free variables: \[%y") as caught:
        relay.transform.InferType()(mod)
    assert caught.value.variables == (y,)
    assert "add the variable to them" in str(caught.value)
    with pytest.raises(FreeVariableError):
        IRModule()["main"] = func
    with pytest.raises(FreeVariableError):
        IRModule.from_expr(func)


def test_functions_and_types_can_be_iterated():
    """With the interface of TVM's maps; scripts add a function by `_add`."""
    mod = relay.parse('#[version = "0.0.5"]\ntype Box[A] { Put(A) }\ndef @main() { Put(1) }')
    header, data = mod.type_definitions.items()[0]
    assert header.name_hint == "Box" and data.constructors[0].name_hint == "Put"
    assert mod.functions.items()[0] == (mod.get_global_var("main"), mod["main"])
    copied = mod.copy()
    copied._add("g", unary("abs"))
    assert copied.functions.items()[1][0].name_hint == "g" and "g" not in mod


def test_spans_have_tvm_s_fields_in_tvm_s_order():
    span = Span(SourceName("a.txt"), 1, 2, 3, 4)
    assert (span.line, span.end_line, span.column, span.end_column) == (1, 2, 3, 4)
    assert span.source_name.name == "a.txt" and str(span) == "a.txt:1:3"
    assert Span("a.txt", 1, 2, 3, 4) == span
    other = Span("b.txt", 5, 5, 6, 7)
    both = SequentialSpan([span, SequentialSpan([other, span])])
    assert both.spans == (span, other, span) and (both.line, both.column) == (1, 3)
    assert str(both) == "a.txt:1:3, b.txt:5:6, a.txt:1:3"
    with pytest.raises(ValueError, match="at least one"):
        SequentialSpan([])
    read = relay.parse_expr(source="abs(1)", source_name="c.txt")
    assert read.span == Span("c.txt", 1, 1, 1, 7)
