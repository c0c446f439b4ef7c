"""Printing Relay text: as TVM 0.16 does, as the printers of 2020 did, and parsable."""

from __future__ import annotations

import re

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, UnknownNameError
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.attrs import DictAttrs
from byoc_lab.relay.text.printer import STYLES, print_both, print_lines, print_text

from .texts import PRINTED, THREADS, code_of, style_of, words

pytestmark = pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")

X = relay.var("x", shape=(2, 3))
OMITTED = " ".join(STYLES["0.0.5"].metadata_omitted)


def text_of(obj, **options) -> str:
    return print_text(obj, show_meta_data=False, header=False, **options)


# Golden texts, which tests/parity/test_printed.py compares with TVM, and the threads -------------


def test_golden_texts_exist():
    assert len(PRINTED) > 40


@pytest.mark.parametrize("path", PRINTED, ids=lambda p: p.stem)
def test_golden_texts_are_parsed_to_equal_modules(path):
    mod = relay.parse(code_of(path))
    again = relay.parse(print_text(mod))
    relay.assert_structural_equal(again, mod)


@pytest.mark.parametrize("path", THREADS, ids=lambda p: p.stem)
def test_blocks_of_the_threads_are_printed_unchanged(path):
    text = code_of(path)
    mod = relay.parse(text)
    shown = mod if "def @" in text else mod["main"]
    printed = text_of(shown, style=style_of(path))
    assert words(printed) == words(text.removeprefix("v0.0.4"))
    relay.assert_structural_equal(relay.parse(printed), mod)


@pytest.mark.parametrize("path", THREADS, ids=lambda p: p.stem)
@pytest.mark.parametrize("style", STYLES)
def test_text_of_every_style_can_be_parsed(path, style: str):
    mod = relay.parse(code_of(path))
    for show in (False, True):
        # A header would mean that the functions missing in the fragment exist.
        text = print_text(mod, show_meta_data=show, style=style, header=not mod.declared)
        relay.assert_structural_equal(relay.parse(text), mod)


# Layout, as observed with TVM 0.16 ---------------------------------------------------------------


def test_number_is_assigned_at_the_first_use():
    y = relay.var("y", shape=(2, 3))
    inner = relay.Function([y], relay.add(relay.abs(y), relay.const(np.ones(3, "float32"))))
    top = relay.add(relay.Call(inner, [relay.exp(X)]), relay.const(np.zeros(3, "float32")))
    func = relay.Function([X], top)
    late = """fn (%x: Tensor[(2, 3), float32]) {
  %1 = exp(%x);
  %2 = fn (%y: Tensor[(2, 3), float32]) {
    %0 = abs(%y);
    add(%0, meta[relay.Constant][0])
  };
  %3 = %2(%1);
  add(%3, meta[relay.Constant][1])
}"""
    assert text_of(func, show_types=False) == late
    old = """fn (%x: Tensor[(2, 3), float32]) {
  %0 = exp(%x);
  %2 = fn (%y: Tensor[(2, 3), float32]) {
    %1 = abs(%y);
    add(%1, meta[relay.Constant][0])
  };
  %3 = %2(%0);
  add(%3, meta[relay.Constant][1])
}"""
    assert text_of(func, show_types=False, style="0.7") == old


def test_closure_is_printed_before_values_that_use_it():
    """TVM 0.16 prints `add(%a, %0)` above the closure that defines %0."""
    a, p = relay.var("a", "int32"), relay.var("p", "int32")
    shared = relay.exp(a)
    closure = relay.Function([p], relay.add(p, shared))
    func = relay.Function([a], relay.Call(closure, [relay.add(a, shared)]))
    text = """fn (%a: int32) {
  %1 = fn (%p: int32) {
    %0 = exp(%a);
    add(%p, %0)
  };
  %2 = add(%a, %0);
  %1(%2)
}"""
    assert text_of(func) == text
    relay.assert_structural_equal(relay.parse_expr(text), func)
    free = relay.Call(closure, [relay.add(a, relay.const(1))])
    relay.parse_expr(free.astext())


def test_value_shared_by_two_branches_is_numbered_in_the_first():
    c = relay.var("c", "bool")
    s = relay.abs(X)
    assert text_of(relay.Function([X, c], relay.If(c, s, s)), show_types=False) == (
        """fn (%x: Tensor[(2, 3), float32], %c: bool) {
  if (%c) {
    %0 = abs(%x);
    %0
  } else {
    %0
  }
}"""
    )


def test_let_as_an_operand_is_printed_in_parentheses():
    y = relay.var("y")
    let = relay.Let(y, relay.add(relay.abs(X), X), relay.nn.relu(relay.abs(y)))
    assert text_of(relay.Function([X], relay.abs(let)), show_types=False) == (
        """fn (%x: Tensor[(2, 3), float32]) {
  %0 = abs(%x);
  %2 = (
    let %y = add(%0, %x);
    %1 = abs(%y);
    nn.relu(%1)
  );
  abs(%2)
}"""
    )


def test_free_variables_are_declared_in_the_text():
    e = relay.add(X, relay.abs(relay.var("y")))
    new = "free_var %y;\nfree_var %x: Tensor[(2, 3), float32];\n%0 = abs(%y);\nadd(%x, %0)"
    assert text_of(e) == new
    old = "free_var %x: Tensor[(2, 3), float32]\nfree_var %y\n%0 = abs(%y);\nadd(%x, %0)"
    assert text_of(e, style="0.0.4") == old


def test_references_are_printed():
    r = relay.RefCreate(relay.abs(X))
    e = relay.Tuple([r, relay.RefRead(r), relay.RefWrite(r, relay.const(1))])
    lines = text_of(e, show_types=False).split("\n")[1:]
    assert lines == [
        "%0 = abs(%x);",
        "%1 = ref(%0);",
        "%2 = ref_read(%1);",
        "%3 = ref_write(%1, 1);",
        "(%1, %2, %3)",
    ]


def test_names_are_made_unique_as_tvm_does():
    hints = ["", "_", "1", "a.b", "x", "x", "x1", "x", "é"]
    func = relay.Function([relay.var(h) for h in hints], relay.const(1))
    assert re.findall(r"%\S+?(?=[,)])", text_of(func).split("\n")[0]) == (
        ["%v", "%v_", "%v1", "%a.b", "%x", "%x1", "%x11", "%x2", "%vé"]
    )


def test_variable_bound_twice_is_marked_and_parsed_back():
    w = relay.var("w", "float32")
    func = relay.Function([w], relay.Let(w, relay.abs(w), relay.nn.relu(w)))
    text = text_of(func)
    assert "let %w-malformed-ir = abs(%w);" in text
    again = relay.parse_expr(text)
    assert again.body.var is again.params[0] and text_of(again) == text


@pytest.mark.parametrize(
    "value, dtype, text",
    [
        (True, "bool", "True"),
        (1, "int16", "1i16"),
        (-5, "int32", "-5"),
        (2**40, "int64", "1099511627776i64"),
        (1, "int8", "meta[relay.Constant][0]"),
        (1, "uint8", "meta[relay.Constant][0]"),
        (1e-5, "float16", "1.00136e-05f16"),
        (1 / 3, "float32", "0.333333f"),
        (1e10, "float32", "1e+10f"),
        (-0.0, "float32", "-0f"),
        (float("inf"), "float64", "inff64"),
        (float("nan"), "float32", "nanf"),
        (123456789.0, "float64", "1.23457e+08f64"),
    ],
)
def test_scalars_are_printed_and_parsed_exactly(value: object, dtype: str, text: str):
    node = relay.Constant(np.array(value, dtype))
    assert text_of(node, show_types=False) == text
    relay.assert_structural_equal(relay.parse_expr(print_text(node, exact=True)), node)


def test_call_attributes_are_printed():
    conv = relay.nn.conv2d(X, X, channels=3, kernel_size=(3, 3))
    last = text_of(conv).split("\n")[-1]
    assert last == "nn.conv2d(%x, %x, padding=[0, 0, 0, 0], channels=3, kernel_size=[3, 3])"
    assert text_of(relay.clip(X, -1, 1e22)).endswith("clip(%x, a_min=-1f, a_max=1e+22f)")
    assert text_of(relay.nn.dense(X, X)).endswith("nn.dense(%x, %x, units=None)")
    assert text_of(relay.cast(X, "int8")).endswith('cast(%x, dtype="int8")')
    begin = relay.annotation.compiler_begin(X, "dnnl")
    assert text_of(begin).endswith('annotation.compiler_begin(%x, compiler="dnnl")')
    assert print_text(begin).endswith('annotation.compiler_begin(%x, compiler="dnnl")')
    for_tvm = print_text(begin, for_tvm=True)
    assert "annotation.compiler_begin(%x, meta[relay.attrs.CompilerAttrs][0])" in for_tvm


def test_attributes_of_calls_of_functions_are_printed():
    call = relay.Call(relay.GlobalVar("g"), [X], DictAttrs({"k": "v", "n": 1}))
    assert text_of(call).endswith('@g(%x, __dict__={"k"="v", "n"=1}, attrs_type_key="DictAttrs")')
    as_tvm = print_text(call, exact=False)
    assert '@g(%x, __dict__=meta[Map][0], attrs_type_key="DictAttrs")' in as_tvm
    # TVM does not parse that back correctly; this form it does:
    assert '@g(%x, k="v", n=1, attrs_type_key="DictAttrs")' in print_text(call)
    assert "@g(%x, __dict__=meta[Map][0])" in text_of(call, style="0.7")
    odd = relay.Call(relay.GlobalVar("g"), [X], relay.split(X, 3).astuple().attrs)
    assert text_of(odd).endswith(
        '@g(%x, indices_or_sections=3, attrs_type_key="relay.attrs.SplitAttrs")'
    )


def test_function_attributes_are_printed_and_parsed():
    attrs = {"s": 'a"b\\c\nd', "f": 1.5, "l": [1, "a", [2.5]], "t": True, "d": {"a": {"b": None}}}
    func = relay.Function([X], X, attrs=attrs)
    assert r's="a\"b\\c\nd", f=1.5f, l=[1, "a", [2.5f]], t=True, d={"a"={"b"=None}}' in text_of(
        func
    )
    for show in (True, False):
        again = relay.parse_expr(print_text(func, show_meta_data=show))
        relay.assert_structural_equal(again, func)
    with pytest.raises(AttributeValueError, match="object"):
        print_text(relay.Function([X], X, attrs={"a": object()}))


def test_modules_and_functions_are_printed():
    y = relay.var("x", shape=(2, 3))
    mod = IRModule()
    mod["zz"] = relay.Function([X], relay.abs(X))
    mod["aa"] = relay.Function([y], relay.exp(relay.exp(y)))
    text = """def @aa(%x: Tensor[(2, 3), float32]) {
  %0 = exp(%x);
  exp(%0)
}

def @zz(%x1: Tensor[(2, 3), float32]) {
  abs(%x1)
}
"""
    assert text_of(mod) == str(mod) == text
    assert mod.astext() == '#[version = "0.0.5"]\n' + text
    assert text_of(mod, style="0.7").index("@zz") < text_of(mod, style="0.7").index("@aa")


def test_functions_that_share_a_value_are_printed_separately():
    shared = relay.abs(relay.zeros((2,), "float32"))
    mod = IRModule()
    mod["a"] = relay.Function([], relay.add(shared, shared))
    mod["b"] = relay.Function([], relay.exp(shared))
    again = relay.parse(mod.astext(), infer=False)
    relay.assert_structural_equal(again, mod)


def test_print_options_are_applied_or_refused():
    mod = relay.parse("def @main(%x: int32) { abs(%x) }", "f.relay")
    assert "abs(%x) /* ty=int32 span=f.relay:1:24 */" in text_of(mod, show_span=True)
    assert "/*" not in text_of(mod, show_types=False)
    noted = text_of(mod, annotate=lambda e: " /* call */" if isinstance(e, relay.Call) else "")
    assert "abs(%x) /* call */\n" in noted and "ty=" not in noted
    with pytest.raises(UnknownNameError, match=re.escape("0.0.5, 0.7, 0.0.4")):
        text_of(mod, style="0.0.6")


def test_lines_with_and_without_types_are_printed_together() -> None:
    call = relay.nn.relu(relay.add(X, relay.const(np.ones(3, "float32"))))
    func = relay.Function([X], relay.Let(relay.var("y\x02z\x03"), call, relay.const(2.0)))
    func = func.with_attr("said", "\x02 /* ty=int32 */\x03")
    mod = IRModule({"main": func, "f\x02g\x03": func})
    for read in (mod, relay.transform.InferType()(mod)):
        options = {"show_meta_data": False, "header": False}
        expected = [print_lines(read, show_types=shown, **options) for shown in (True, False)]
        assert list(print_both(read)) == expected
    assert expected[0] != expected[1]


def test_custom_annotations_are_printed_where_tvm_prints_them():
    """Also after operators and calls of globals; once after all the lets of a scope."""
    mod = relay.parse(
        "def @f(%z: int32) -> int32 { %z }\n"
        "def @main(%x: int32, %c: bool) {\n"
        "  let %r = ref(%x);\n  let %y = if (%c) { @f(%x) } else { let %q = 1; %q };\n"
        "  (%y, ref_read(%r)).0\n}"
    )
    noted = mod["main"].astext(header=False, annotate=lambda e: f"<{type(e).__name__}>")
    assert words(noted) == words("""
fn (%x: int32<Var>, %c: bool<Var>) -> int32 {
  let %r: ref(int32)<Var> = ref(%x)<RefCreate>;
  let %y: int32<Var> = if (%c) {
    @f<GlobalVar>(%x)<Call>
  } else {
    let %q: int32<Var> = 1<Constant>;
    %q<Let>
  }<If>;
  %0 = ref_read(%r)<RefRead>;
  %1 = (%y, %0)<Tuple>;
  %1.0<TupleGetItem><Let>
}<Function>""")
    assert "exp<Op>(%x)<Call>" in relay.exp(X).astext(annotate=lambda e: f"<{type(e).__name__}>")


def test_note_on_omitted_metadata_equals_tvm_s():
    mod = IRModule.from_expr(relay.add(X, relay.const(np.ones(3, "float32"))))
    assert words(print_text(mod, show_meta_data=False))[-len(OMITTED.split()) :] == OMITTED.split()
    assert OMITTED.split()[0] not in words(text_of(mod)) and "For debugging" not in text_of(mod)
    old = print_text(mod["main"], show_meta_data=False, style="0.0.4")
    assert old.startswith("v0.0.4\nfn (") and old.endswith(STYLES["0.0.4"].metadata_omitted[0])


def test_texts_with_metadata_end_as_in_tvm():
    mod = IRModule.from_expr(relay.add(X, relay.const(np.ones(3, "float32"))))
    for obj in (mod, mod["main"], mod["main"].body):
        assert obj.astext().endswith("}") and obj.astext(show_meta_data=False).endswith(" */")
    assert str(mod).endswith("[0])\n}\n\n") and str(mod["main"]).endswith("[0])\n}\n")
    plain = IRModule.from_expr(relay.abs(X))
    for text in (str(plain), plain.astext(), plain.astext(show_meta_data=False)):
        assert text.endswith("(%x)\n}\n")
    assert str(plain["main"]).endswith("(%x)\n}")


# Lines -------------------------------------------------------------------------------------------


def test_lines_have_definition_node_and_function():
    mod = relay.parse(
        """def @f(%x: int32) -> int32 {
  %0 = abs(%x);
  let %y: int32 = add(%0, %0);
  %1 = fn (%p: int32) -> int32 {
    @g(%p)
  };
  %1(%y)
}
def @g(%q: int32) -> int32 { %q }"""
    )
    lines = print_lines(mod, header=False, show_types=False)
    assert "\n".join(li.text for li in lines) + "\n" == text_of(mod, show_types=False)
    body = mod["f"].body
    by_text = {li.text.strip(): li for li in lines}
    first = by_text["%0 = abs(%x);"]
    assert first.defines == "%0" and first.node is body.value.args[0] and first.function == "f"
    assert first.refs == {"%x": mod["f"].params[0]}
    let = by_text["let %y: int32 = add(%0, %0);"]
    assert let.defines == "%y" and let.node is body.value and let.refs == {"%0": first.node}
    call = by_text["@g(%p)"]
    assert set(call.refs) == {"@g", "%p"} and call.node is body.body.op.body
    last = by_text["%1(%y)"]
    assert last.defines is None and last.refs == {"%1": body.body.op, "%y": body.var}
    assert by_text["};"].node is None and by_text["%q"].function == "g"
    assert by_text["def @f(%x: int32) -> int32 {"].node is mod["f"]


def test_lines_of_an_expression_have_no_function():
    assert {li.function for li in print_lines(relay.abs(X))} == {None}
