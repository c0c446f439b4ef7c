"""Parsing Relay text: every construct, locations, errors, depth (programs:
test_parser_programs)."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import Call, Function, If, Let, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.visit import post_order

HEADER = '#[version = "0.0.5"]\n'
X = "free_var %x: Tensor[(2, 3), float32];\n"


def expr(text: str):
    return relay.parse_expr(text)


def body(text: str):
    return relay.parse(HEADER + text)["main"].body


# Expressions -------------------------------------------------------------------------------------


def test_numbered_value_used_twice_is_one_node():
    call = expr(X + "%0 = abs(%x); add(%0, %0)")
    assert call.is_op("add") and call.args[0] is call.args[1]
    assert call.args[0].args[0].type_annotation == relay.TensorType((2, 3))


def test_unused_numbered_bindings_are_dropped_and_lets_stay():
    node = expr(X + "%0 = exp(%x); let %y: float32 = 1f; %y")
    assert isinstance(node, Let) and node.var.type_annotation == relay.scalar_type("float32")
    assert node.body is node.var and not any(isinstance(n, Call) for n in post_order(node))


@pytest.mark.parametrize(
    ("text", "dtype"), [("int", "int32"), ("uint", "uint32"), ("float", "float32")]
)
def test_types_without_a_width_have_the_default_width(text: str, dtype: str) -> None:
    node = expr(
        f"fn (%x: {text}, %y: Tensor[(2), {text}], %z: ({text}, fn ({text}) -> {text})) {{ %x }}"
    )
    scalar = relay.scalar_type(dtype)
    pair = relay.TupleType([scalar, relay.FuncType([scalar], scalar)])
    assert [p.type_annotation for p in node.params] == [scalar, relay.TensorType((2,), dtype), pair]


def test_semicolon_binds_a_variable_without_a_name():
    node = expr("1; 2")
    assert isinstance(node, Let) and node.var.name_hint == "" and node.body.numpy() == 2


def test_shadowing_ends_with_the_block():
    node = expr("let %a = 1; add({ let %a = 2; %a }, %a)")
    inner, outer = node.body.args
    assert inner.body is inner.var and outer is node.var and inner.var is not outer


def test_let_value_uses_the_outer_variable_and_a_function_itself():
    node = expr("let %a = 1; let %a = abs(%a); %a")
    assert node.body.value.args[0] is node.var
    recursive = expr("let %f = fn (%n: int32) -> int32 { %f(%n) }; %f")
    assert recursive.value.body.op is recursive.var


def test_let_inside_the_value_of_another_let_is_parsed_as_tvm_prints_it():
    node = expr(X + "let %y = let %z = abs(%x);\nexp(%z);\n%y")
    assert isinstance(node.value, Let) and node.value.body.is_op("exp") and node.body is node.var


def test_number_defined_in_the_other_branch_of_an_if_is_shared():
    node = expr(X + "if (True) { %0 = abs(%x); %0 } else { exp(%0) }")
    assert isinstance(node, If) and node.false_branch.args[0] is node.true_branch


@pytest.mark.parametrize("text, kind", [("()", 0), ("(1,)", 1), ("(1, 2)", 2), ("(1, 2,)", 2)])
def test_tuples_are_distinguished_from_parentheses(text: str, kind: int):
    node = expr(text)
    assert isinstance(node, Tuple) and len(node.fields) == kind


def test_parentheses_around_one_value_are_a_grouping():
    assert expr("(1)").numpy() == 1


def test_consecutive_projections_are_parsed():
    node = expr("free_var %t; %t.1.0")
    assert isinstance(node, TupleGetItem) and node.index == 0 and node.tuple_value.index == 1
    assert isinstance(expr("(1, (2, 3)).1.0").tuple_value.tuple_value, Tuple)


@pytest.mark.parametrize(
    "text, names",
    [
        ("%x + %x * %x", ["add", None, "multiply"]),
        ("%x * %x + %x", ["add", "multiply", None]),
        ("%x - %x - %x", ["subtract", "subtract", None]),
        ("%x + %x < %x", ["less", "add", None]),
        ("%x < %x == %x", ["equal", "less", None]),
        ("%x / %x >= %x", ["greater_equal", "divide", None]),
    ],
)
def test_operators_bind_by_precedence_and_to_the_left(text: str, names: list):
    node = expr(X + text)
    below = [a.op.name if isinstance(a, Call) else None for a in node.args]
    assert [node.op.name, *below] == names


def test_function_with_all_optional_parts_is_parsed():
    fn = expr('fn [A](%p: A, %q: Tensor[(1), int8], Primitive=1, Composite="a.b",) -> A { %p }')
    assert isinstance(fn, Function) and [p.name_hint for p in fn.params] == ["p", "q"]
    assert fn.params[0].type_annotation is fn.type_params[0] is fn.ret_type
    assert dict(fn.attrs.items()) == {"Primitive": 1, "Composite": "a.b"}


def test_any_expression_can_be_called():
    node = expr("free_var %f; (fn (%p) { %p })(%f(1)(2))")
    assert isinstance(node.op, Function) and isinstance(node.args[0].op, Call)


def test_references_of_old_and_new_syntax_are_parsed():
    new = expr("let %r = ref(1); ref_write(%r, 2); ref_read(%r)")
    old = expr("let %r = ref(1);\n(%r := 2);;\n%r^")
    assert relay.structural_equal(new, old)
    assert isinstance(new.body.body, relay.RefRead)


def test_calls_of_a_global_function_share_one_variable_and_numbers_restart():
    text = """
def @f(%x: int32) -> int32 { %0 = abs(%x); abs(%0) }
def @main(%x: int32) -> int32 { %0 = @f(%x); @f(%0) }"""
    mod = relay.parse(HEADER + text)
    assert [gv.name_hint for gv in mod] == ["f", "main"]
    used = [n for n in post_order(mod["main"]) if isinstance(n, relay.GlobalVar)]
    assert len(used) == 1 and used[0] is mod.get_global_var("f")


# Literals, types, attributes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, value, dtype",
    [
        ("5", 5, "int32"),
        ("-5", -5, "int32"),
        ("--5", 5, "int32"),
        ("- 5", -5, "int32"),
        ("4294967296", 2**32, "int64"),
        ("7i64", 7, "int64"),
        ("-3i16", -3, "int16"),
        ("1i8", 1, "int8"),
        ("1f", 1.0, "float32"),
        ("1e-05f", np.float32(1e-5), "float32"),
        ("0.1f64", 0.1, "float64"),
        ("2.5f16", 2.5, "float16"),
        ("1.0", 1.0, "float32"),
        ("1e3", 1000.0, "float32"),
        ("inff", math.inf, "float32"),
        ("-inff", -math.inf, "float32"),
        ("True", True, "bool"),
    ],
)
def test_literals_have_their_dtype_and_value(text: str, value: object, dtype: str):
    node = expr(text)
    assert node.data.dtype == dtype and node.numpy() == value


def test_nan_and_negative_zero_are_parsed():
    assert math.isnan(expr("nanf").numpy())
    assert math.copysign(1, expr("-0f").numpy()) == -1
    assert math.copysign(1, expr("(0f, -0f)").fields[0].numpy()) == 1


@pytest.mark.parametrize(
    "text, shown",
    [
        ("Tensor[(1, ?, 3), int8]", "Tensor[(1, ?, 3), int8]"),
        ("Tensor[(3i64, 2147483648i64, 2), int8]", "Tensor[(3, 2147483648, 2), int8]"),
        ("Tensor[(), float32]", "float32"),
        ("Tensor[(2,), bfloat16]", "Tensor[(2), bfloat16]"),
        ("(int32, float32,)", "(int32, float32)"),
        ("(int32)", "(int32,)"),
        ("()", "()"),
        ("fn (int32, (bool,)) -> Tensor[(2), uint8]", "fn (int32, (bool,)) -> Tensor[(2), uint8]"),
        ("ref(int64)", "ref(int64)"),
    ],
)
def test_types_are_parsed(text: str, shown: str):
    assert str(expr(f"fn (%x: {text}) {{ %x }}").params[0].type_annotation) == shown


def test_parenthesized_type_is_a_tuple_only_in_the_new_format():
    fn = expr("v0.0.4\nfn (%x: (int32), %y: (int32,)) { %x }")
    assert [str(p.type_annotation) for p in fn.params] == ["int32", "(int32,)"]


def test_attributes_are_checked_and_completed():
    call = expr(X + "nn.conv2d(%x, %x, padding=[1, 1], channels=16, kernel_size=[3, 3])")
    assert call.attrs.padding == (1, 1) and call.attrs.strides == (1, 1) and call.attrs.groups == 1
    assert expr(X + "cast(%x, dtype=int8)").attrs.dtype == "int8"
    assert expr(X + "nn.leaky_relu(%x, alpha=1)").attrs.alpha == 1.0
    assert expr(X + "transpose(%x, axes=None)").attrs.axes is None
    assert expr(X + "sum(%x, axis=[1], keepdims=1)").attrs.keepdims is True


def test_decimal_attributes_keep_their_value():
    call = expr(X + "nn.batch_norm(%x, %x, %x, %x, %x, epsilon=2e-05f)")
    assert call.attrs.epsilon == 2e-5


def test_function_attributes_of_every_kind_are_parsed():
    text = r'fn (a=1, b=-2.5f, c="q\"r\\s\n", d=[1, [2f, "x"]], e={"k"=1}, f=True, g=None) { 1 }'
    assert dict(expr(text).attrs.items()) == {
        "a": 1,
        "b": -2.5,
        "c": 'q"r\\s\n',
        "d": (1, (2.0, "x")),
        "e": {"k": 1},
        "f": True,
        "g": None,
    }


@pytest.mark.parametrize("more", ["", ', attrs_type_key="relay.attrs.CompilerAttrs"'])
def test_annotations_with_and_without_the_attribute_type_key_are_parsed(more: str):
    call = expr(X + f'annotation.compiler_begin(%x, compiler="dnnl"{more})')
    assert call.attrs.type_key == "relay.attrs.CompilerAttrs" and call.attrs.compiler == "dnnl"


def test_annotation_without_attributes_is_parsed():
    assert expr(X + "annotation.compiler_begin(%x)").attrs is None


@pytest.mark.parametrize("more", ["", ', attrs_type_key="DictAttrs"'])
def test_calls_of_functions_may_have_a_dictionary(more: str):
    call = expr(f'@f(1, __dict__={{"match_key"="my_library", "n"=1}}{more})')
    assert call.attrs.type_key == "DictAttrs"
    assert dict(call.attrs.items()) == {"match_key": "my_library", "n": 1}


# Names that TVM prints but cannot parse
# ----------------------------------------------------------


@pytest.mark.parametrize("name", ["input.1", "onnx::Conv_12", "data:0", "layer/conv", "a.b.c"])
def test_names_from_importers_are_parsed(name: str):
    fn = expr(f"fn (%{name}: (int32, (int32, int32))) {{ add(%{name}.0, %{name}.1.0) }}")
    assert fn.params[0].name_hint == name
    first, second = fn.body.args
    assert first.tuple_value is fn.params[0] and second.tuple_value.index == 1


def test_variable_bound_twice_is_kept():
    fn = expr("fn (%w: float32) { let %w-malformed-ir = abs(%w); %w }")
    assert fn.body.var is fn.params[0]


# Source locations -------------------------------------------------------------------------------


def test_every_node_has_its_location():
    text = "\n".join(
        [
            "free_var %x: Tensor[(2, 3), float32];",
            "%0 = split(%x, indices_or_sections=3, axis=1);",
            "let %y = %0.1;",
            "(%y, if (True) { 1f } else { add(%x,",
            "  2f) })",
        ]
    )
    top = relay.parse_expr(text, "a.txt")
    spans = {type(n).__name__: n.span for n in post_order(top) if n.span}
    assert all(n.span for n in post_order(top) if not isinstance(n, relay.Op))
    assert str(top.span) == "a.txt:3:1"
    assert (spans["If"].line, spans["If"].column) == (4, 6)
    assert (spans["If"].end_line, spans["If"].end_column) == (5, 8)
    add = top.body.fields[1].false_branch
    assert (add.span.line, add.span.column, add.span.end_line, add.span.end_column) == (4, 30, 5, 6)
    split = top.value.tuple_value
    assert str(split.span) == "a.txt:2:6" and split.span.end_column == 46


# Type errors, depth, speed -----------------------------------------------------------------------


def test_type_error_shows_the_line():
    text = HEADER + "def @main(%x: Tensor[(2, 3), float32]) {\n  add(%x, meta)\n}".replace(
        "meta", "%x.0"
    )
    with pytest.raises(TypeInferenceError) as caught:
        relay.parse(text, "m.relay")
    message = str(caught.value).split("\n")
    assert message[0].startswith("m.relay:3:11: ") and message[1] == "  " + "  add(%x, %x.0)"
    assert message[2].index("^") == 2 + 10


DEPTH = 5_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "(" * DEPTH + "1" + ")" * DEPTH,
        "abs(" * DEPTH + "1f" + ")" * DEPTH,
        "{" * DEPTH + "1" + "}" * DEPTH,
        "if (True) {" * DEPTH + "1" + "} else { 2 }" * DEPTH,
        "fn () {" * DEPTH + "1" + "}" * DEPTH,
        "let %x = 1; " * DEPTH + "%x",
        "let %x = (" * DEPTH + "1" + "); %x" * DEPTH,
        "1" + " + 1" * DEPTH,
        "1;" * DEPTH + "1",
        "ref(" * DEPTH + "1" + ")" * DEPTH,
        "(" * DEPTH + "1" + ",)" * DEPTH,
        "free_var %f; %f" + "(1)" * DEPTH,
        "free_var %f; %f" + ".0" * DEPTH,
        "/*" * DEPTH + "*/" * DEPTH + "1",
        "-" * DEPTH + "1",
    ],
    ids=lambda t: t[:12],
)
def test_deep_nesting_is_parsed(text: str):
    started = time.process_time()
    assert isinstance(expr(text), relay.Expr)
    assert time.process_time() - started < 10


def test_long_module_is_parsed_in_seconds():
    lines = ["def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32]) {"]
    last = "%x"
    for n in range(20_000):
        op = "nn.relu({})" if n % 2 else "nn.conv2d({}, %w, padding=[1, 1], kernel_size=[3, 3])"
        lines.append(f"  %{n} = {op.format(last)} /* ty=Tensor[(1, 16, 8, 8), float32] */;")
        last = f"%{n}"
    text = HEADER + "\n".join([*lines, f"  {last}", "}"])
    started = time.process_time()
    mod = relay.parse(text, infer=False)
    assert time.process_time() - started < 8
    assert sum(isinstance(n, Call) for n in post_order(mod["main"])) == 20_000
    assert isinstance(mod["main"].params[0], Var)
