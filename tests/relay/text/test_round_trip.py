"""Text with metadata is parsed to an equal module, for any module."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.errors import ParseError
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.visit import post_order
from tests.relay.text import rich
from tests.sweeps import some


@settings(max_examples=some(200))
@given(rich.modules())
def test_printed_module_is_parsed_to_an_equal_module(mod: relay.IRModule):
    text = mod.astext()
    again = relay.parse(text)
    relay.assert_structural_equal(again, mod)
    assert again.astext() == text


@settings(max_examples=some(200))
@given(st.lists(rich.any_names.filter(bool), min_size=1, max_size=4, unique=True))
def test_names_of_parameters_are_kept(names: list[str]):
    func = relay.Function([relay.Var(n, rich.TYPE) for n in names], relay.Tuple([]))
    again = relay.parse_expr(func.astext())
    assert len({p.name_hint for p in again.params}) == len(names)
    taken = [
        f"{n}{k}" for n in names for k in range(1, 5)
    ]  # a numbered name can equal another name
    if not set(names) & set(taken):
        assert [p.name_hint for p in again.params] == names


# Cases in which TVM's own text would not be parsed to an equal module ---------------------------

X = relay.var("x", shape=(2, 3))


def printed(node: relay.Expr, **options: bool) -> str:
    return node.astext(**options).split("#[metadata]")[0].split("\n", 1)[1].strip()


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (0.5, "float32", "0.5f"),
        (1 / 3, "float32", "0.33333334f"),
        (1 / 3, "float64", "0.3333333333333333f64"),
        (
            np.finfo("float32").max,
            "float32",
            "3.4028234663852886e+38f",
        ),  # the shortest text is out of range
        (1e-45, "float32", "1.4013e-45f"),
        (1e-310, "float64", "meta[relay.Constant][0]"),  # TVM parses no denormals
        (np.nan, "float32", "meta[relay.Constant][0]"),
        (-np.inf, "float32", "-inff"),
        (np.inf, "float16", "meta[relay.Constant][0]"),
        (-0.0, "float16", "-0f16"),
        (-(2**63), "int64", "meta[relay.Constant][0]"),
        (-(2**31), "int32", "-2147483648"),
        (200, "uint8", "meta[relay.Constant][0]"),
    ],
)
def test_scalars_are_parsed_back_bit_by_bit(value: float, dtype: str, text: str):
    node = relay.Constant(np.array(value, dtype))
    assert printed(node) == text
    relay.assert_structural_equal(relay.parse_expr(node.astext()), node)


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        ("x", "%x"),
        ("a/b", "%a/b"),
        ("let", '%let_ /* name="let" */'),
        ("input.1", '%input_1 /* name="input.1" */'),
        ("1", '%v1 /* name="1" */'),
        ("é*/", '%v___ /* name="\\xC3\\xA9\\x2A/" */'),
        ("", "%v"),
    ],
)
def test_names_are_parsed_back(hint: str, text: str):
    func = relay.Function([relay.Var(hint, relay.TensorType((), "int8"))], relay.Tuple([]))
    assert printed(func).startswith(f"fn ({text}: int8)")
    assert relay.parse_expr(func.astext()).params[0].name_hint == (hint or "v")
    # Without metadata the text equals TVM's.
    name = hint if hint[:1] in ("x", "a", "l", "i") else "v" + hint
    assert func.astext(show_meta_data=False, header=False).startswith(f"fn (%{name}: int8)")


def test_global_functions_with_unusual_names_are_parsed_back():
    mod = relay.IRModule()
    names = ["main.1", "main_1", "a b", "0", "let", "lib/f"]
    for name in names:
        mod[name] = relay.Function([], relay.const(1))
    mod["main"] = relay.Function([], relay.Tuple([mod.get_global_var(n)() for n in names]))
    again = relay.parse(mod.astext())
    assert [gv.name_hint for gv in again] == sorted([*names, "main"])
    assert [call.op.name_hint for call in again["main"].body.fields] == names
    assert "def @main_1() " in mod.astext()
    assert 'def @main_1_1 /* name="main.1" */() ' in mod.astext()


def test_strings_without_a_text_form_are_written_to_the_metadata():
    func = relay.Function([], relay.const(1), attrs={"a": 'q"', "b": "plain", "c": ["\n", True]})
    head = printed(func).split("\n")[0]
    assert head == (
        'fn (a=meta[runtime.String][0], b="plain", c=[meta[runtime.String][1], meta[IntImm][0]]) {'
    )
    relay.assert_structural_equal(relay.parse_expr(func.astext()), func)
    assert relay.parse_expr('fn (a="\\xC3\\xA9\\\\xC3\\n") { 1 }').attrs["a"] == "é\\xC3\n"


def test_let_or_match_as_a_bound_value_is_printed_in_parentheses():
    inner, outer = relay.var("i"), relay.var("o")
    bound = relay.Let(outer, relay.Let(inner, X, relay.abs(inner)), outer)
    assert printed(bound).split("\n")[1:4] == ["let %o = (", "  let %i = %x;", "  abs(%i)"]
    flat = bound.astext(show_meta_data=False, header=False)
    assert "let %o = let %i = %x;" in flat  # TVM prints this form, but cannot parse it
    for text in (bound.astext(), flat):
        assert relay.structural_equal(relay.parse_expr(text), bound, map_free_vars=True)


def test_types_that_tvm_cannot_parse_are_printed_in_comments():
    cell = relay.var("r")
    body = relay.Let(cell, relay.RefCreate(relay.const(1)), relay.RefRead(cell))
    mod = relay.transform.InferType()(relay.IRModule.from_expr(body))
    assert str(mod["main"].body.var.type_annotation) == "ref(int32)"
    assert "let %r /* ty=ref(int32) */ = ref(" in mod.astext()
    assert "let %r: ref(int32) " in mod.astext(exact=False)
    relay.assert_structural_equal(relay.parse(mod.astext()), mod)


def test_scan_attributes_are_in_the_metadata_for_tvm():
    total = relay.cumsum(X, axis=1, exclusive=True)
    assert "cumsum(%x, axis=1, exclusive=True)" in printed(total)
    assert "cumsum(%x, meta[relay.attrs.ScanopAttrs][0])" in printed(total, for_tvm=True)
    short = total.astext(show_meta_data=False, header=False)
    assert "cumsum(%x, axis=1, exclusive=True)" in short
    for text in (total.astext(), total.astext(for_tvm=True), short):
        assert relay.structural_equal(relay.parse_expr(text), total, map_free_vars=True)


def test_devices_are_printed_in_full_without_metadata():
    copy = relay.device_copy(X, "cpu", "cuda:1")
    assert "src_virtual_device=meta[VirtualDevice][0], dst" in printed(copy)
    short = copy.astext(show_meta_data=False, header=False)
    assert "src_virtual_device=VirtualDevice(device_type=1, virtual_device_id=0)" in short
    for text in (copy.astext(), short):
        assert relay.structural_equal(relay.parse_expr(text), copy, map_free_vars=True)
    scoped = short.replace("device_type=2, virtual_device_id=1", "memory_scope='global'")
    read = relay.parse_expr(scoped).attrs.dst_virtual_device
    assert (read.memory_scope, read.device_type_int) == ("global", -1)
    with pytest.raises(ParseError, match="device_type, virtual_device_id"):
        relay.parse_expr(short.replace("device_type=1", "target=llvm"))


def test_incomplete_types_are_equal():
    def with_hole(inner: relay.Type) -> relay.Function:
        v = relay.Var("v", relay.TupleType([inner, relay.IncompleteType()]))
        return relay.Function([v], v)

    a, b = (with_hole(relay.IncompleteType()) for _ in "ab")
    relay.assert_structural_equal(a, b)
    assert relay.structural_hash(a) == relay.structural_hash(b)
    assert not relay.structural_equal(a, with_hole(relay.scalar_type("int8")))
    again = relay.parse_expr(a.astext())
    relay.assert_structural_equal(again, a)


def test_parser_ignores_printed_spans_and_records_its_own():
    mod = relay.parse("def @main(%x: int32) { let %y = abs(%x); (%y, abs(%x)) }", infer=False)
    text = mod.astext(show_span=True)
    assert "span=from_string:1:33" in text
    again = relay.parse(text, "again.relay", infer=False)
    relay.assert_structural_equal(again, mod)
    lines = text.split("\n")
    for node in post_order(again["main"]):
        if isinstance(node, relay.Call):
            assert lines[node.span.line - 1][node.span.column - 1 :].startswith("abs(%x)")


# Text that is printed, edited and parsed
# ---------------------------------------------------------


def annotated() -> relay.IRModule:
    """relu(x + x) annotated for dnnl, as by AnnotateTarget."""
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    x = relay.var("x", shape=(2, 3))
    total = relay.add(begin(x, "dnnl"), begin(x, "dnnl"))
    mod = relay.IRModule.from_expr(relay.Function([x], end(relay.nn.relu(total), "dnnl")))
    return relay.transform.InferType()(mod)


@pytest.mark.parametrize("show", [str, relay.IRModule.astext])
def test_annotations_are_printed_edited_and_parsed(show) -> None:
    text = show(annotated())
    assert text.count('compiler="dnnl")') == 3 and "meta[" not in text
    relay.assert_structural_equal(relay.parse(text), annotated())
    other = relay.parse(text.replace('"dnnl"', '"mychip"'))
    found = [n.attrs.compiler for n in post_order(other["main"]) if hasattr(n, "attrs") and n.attrs]
    assert found == ["mychip"] * 3


@pytest.mark.parametrize("show", [str, relay.IRModule.astext])
def test_begin_can_be_removed_by_hand(show) -> None:
    lines = show(annotated()).splitlines()
    (at,) = (n for n, line in enumerate(lines) if line.lstrip().startswith("%1 = annotation"))
    lines[at] = "  %1 = %x;"
    edited = relay.parse("\n".join(lines))
    total = edited["main"].body.args[0].args[0]
    assert total.args[0].is_op("annotation.compiler_begin")
    assert total.args[1] is edited["main"].params[0]


def test_both_forms_of_annotations_are_parsed() -> None:
    for_tvm = annotated().astext(for_tvm=True)
    assert for_tvm.count("meta[relay.attrs.CompilerAttrs]") == 3
    relay.assert_structural_equal(relay.parse(for_tvm), annotated())


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%r: ref(Tensor[(1, ?), float32])) { ref_read(%r) }",
        "def @main(%f: fn (ref((int8, ref(bool)))) -> ref(int8), %r: ref((int8, ref(bool)))) "
        "-> ref(int8) { %f(%r) }",
        "type T[A] { C(Tensor[(?, 3), float32], ref(A)), N }\ndef @main(%x: T[int8]) { %x }",
        "type T { C(ref(Tensor[(?), int8]), fn (ref(int8)) -> T) }\n"
        "def @main(%x: T) -> T { let %y: ref(T) = ref(%x); ref_read(%y) }",
    ],
)
def test_references_and_unknown_dimensions_in_type_definitions_are_parsed_back(text: str):
    mod = relay.parse(f'#[version = "0.0.5"]\n{text}')
    printed = mod.astext()
    again = relay.parse(printed)
    assert relay.structural_equal(mod, again)
    assert again.astext() == printed


def test_symbolic_dimensions_in_type_definitions_and_references_are_parsed_back():
    """A name refers to one size, in the definition and in the functions."""
    n = symbol("n")
    rows = relay.TensorType((n, 3), "float32")
    header = relay.GlobalTypeVar("L")
    mod = relay.IRModule()
    fields = [rows, relay.RefType(relay.TensorType((2 * n,), "int8"))]
    mod[header] = relay.TypeData(header, [], [relay.Constructor("C", fields, header)])
    x = relay.var("x", type_annotation=relay.RefType(rows))
    mod["main"] = relay.Function([x], relay.RefRead(x))
    printed = mod.astext()
    again = relay.parse(printed)
    assert again.astext() == relay.transform.InferType()(mod).astext()
    (data,) = again.type_definitions.values()
    length = data.constructors[0].inputs[0].shape[0]
    assert again["main"].params[0].type_annotation.value.shape[0] == length
    assert relay.parse(again.astext()).astext() == again.astext()
