"""Diagnostics that a script's renderer receives, in TVM 0.16's words.

TVM 0.16 gave these words and levels for the same programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import byoc_lab
from byoc_lab.compat import relay, tvm
from byoc_lab.compat.overlay import module
from byoc_lab.errors import DiagnosticError, ParseError, TypeInferenceError

HEADER = '#[version = "0.0.5"]\n'
UNDERCONSTRAINED = "The type inference pass was unable to infer a type for this expression.\n"

diagnostics = module("tvm.ir.diagnostics")


@pytest.fixture
def seen() -> Iterator[list[Any]]:
    """The diagnostics that a custom renderer receives."""
    found: list[Any] = []
    diagnostics.override_renderer(lambda ctx: found.extend(ctx.diagnostics))
    yield found
    diagnostics.override_renderer(None)


def var(name: str, *shape: int, dtype: str = "float32") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def infer(expr: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(expr))


def match(second: str, first: str, conflict: str = "") -> list[str]:
    """The message about two types that do not match; `conflict` is about dimensions."""
    said = [
        "The Relay type checker is unable to show the following types match.\n"
        f"In particular `{first}` does not match `{second}`"
    ]
    if conflict:
        said.insert(
            0,
            "The Relay type checker is unable to show the following types match:\n"
            f"  {second}\n  {first}\nIn particular:\n  {conflict}",
        )
    return said


def tensor(*shape: int, dtype: str = "float32") -> str:
    return f"Tensor[({', '.join(map(str, shape))}), {dtype}]"


def returns(*shape: int, dtype: str = "float32") -> Any:
    """A function with a vector of two as parameter and a wrong declared result type."""
    x = var("x", 2)
    return relay.Function([x], x, relay.TensorType(shape, dtype))


def calls(*args: Any) -> Any:
    """A call of a function with one 2 x 2 tensor as parameter."""
    x = var("x", 2, 2)
    return relay.Function([x], x)(*args)


CASES: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "branches": (
        lambda: relay.If(relay.var("c", "bool"), var("x", 2), var("y", 3)),
        match(tensor(3), tensor(2), "dimension 0 conflicts: 3 does not match 2."),
    ),
    "condition": (
        lambda: relay.If(var("c", 2), var("x", 2), var("y", 2)),
        match("bool", tensor(2)),
    ),
    "result": (
        lambda: returns(3),
        match(tensor(2), tensor(3), "dimension 0 conflicts: 2 does not match 3."),
    ),
    "dtype of the result": (
        lambda: returns(2, dtype="int32"),
        match(tensor(2), tensor(2, dtype="int32")),
    ),
    "rank of the result": (
        lambda: returns(2, 2),
        [
            f"tensor type `{tensor(2)}` has 1 dimensions, while `{tensor(2, 2)}` has 2 dimensions",
            *match(tensor(2), tensor(2, 2)),
        ],
    ),
    "argument": (
        lambda: calls(var("y", 3, 3)),
        match(
            tensor(3, 3),
            tensor(2, 2),
            "dimension 0 conflicts: 3 does not match 2.  "
            "dimension 1 conflicts: 3 does not match 2.",
        ),
    ),
    "argument of an operator": (
        lambda: relay.nn.bias_add(var("x", 2, 3), var("b", 4)),
        match(tensor(3), tensor(4), "dimension 0 conflicts: 3 does not match 4."),
    ),
    "kernel of a convolution": (
        lambda: relay.nn.conv2d(
            var("x", 1, 3, 8, 8), var("w", 4, 3, 3, 3), kernel_size=(5, 5), channels=4
        ),
        match(
            tensor(4, 3, 5, 5),
            tensor(4, 3, 3, 3),
            "dimension 2 conflicts: 5 does not match 3.  "
            "dimension 3 conflicts: 5 does not match 3.",
        ),
    ),
    "reference": (
        lambda: relay.RefWrite(relay.RefCreate(var("x", 2)), var("y", 3)),
        match(tensor(2), tensor(3), "dimension 0 conflicts: 2 does not match 3."),
    ),
    "too few arguments": (
        lambda: calls(),
        ["the function is provided too few arguments expected 1, found 0"],
    ),
    "too many arguments": (
        lambda: calls(var("p", 2, 2), var("q", 2, 2)),
        ["the function is provided too many arguments expected 1, found 2"],
    ),
    "no function": (
        lambda: relay.Call(var("x", 2), [var("y", 2)]),
        ["only expressions with function types can be called, found TensorType([2], float32)"],
    ),
    "dtypes": (
        lambda: relay.add(var("x", 2), var("y", 2, dtype="int32")),
        ["data types float32 and int32 do not match in BroadcastRel"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_type_mismatch_gives_the_words_of_tvm(case: str, seen: list[Any]) -> None:
    make, wanted = CASES[case]
    with pytest.raises(tvm.error.DiagnosticError) as raised:
        infer(make())
    assert raised.type is tvm.error.DiagnosticError, "scripts ask for this very class"
    assert isinstance(raised.value.__cause__, TypeInferenceError), "which says it in our words"
    assert [d.message for d in seen] == wanted
    assert {d.level for d in seen} == {diagnostics.DiagnosticLevel.ERROR}


def test_failed_relation_leaves_an_incomplete_type(seen: list[Any]) -> None:
    with pytest.raises(tvm.error.DiagnosticError):
        infer(relay.add(var("x", 5), var("y", 10)))
    said = "Incompatible broadcast type TensorType([5], float32) and TensorType([10], float32)"
    assert seen[0].message == said
    assert seen[1].message.startswith(UNDERCONSTRAINED)
    seen.clear()
    x = relay.var("x")
    with pytest.raises(tvm.error.DiagnosticError):
        infer(relay.Function([x], x))
    assert [d.message.startswith(UNDERCONSTRAINED) for d in seen] == [True]


TEXTS = {
    "let @x = 1; ()": ("expected a local variable found global variable", 5),
    "let x = 1; ()": ("expected a local variable found identifier", 5),
    "let %x = 1 %x": ("expected a `;` found local variable", 12),
    "fn (%a: int32) { %a": ("expected a `}` found end of file", 20),
    "add(1 }": ("expected a `)` found  `}`", 7),
    "1 + ": ("expected an expression found  end of file", 5),
    "nn.foo(1)": ("operator `nn.foo` not found, perhaps you forgot to register it?", 1),
    "%nobody": ("this local variable has not been previously declared", 1),
    "32768i16": ("integer number `32768` unrepresentable in width 16", 1),
    "3.40283e+38f32": ("floating point number `3.40283e+38` unrepresentable in width 32", 1),
    "1e400f": ("invalid floating point number `1e400`", 1),
    "-1e400f64": ("invalid floating point number `1e400`", 1),
    "1e400": ("invalid integer number `1e400`", 1),
    "meta[relay.Constant][0]": ("no entry in the meta table for `relay.Constant`", 1),
}


@pytest.mark.parametrize("text", TEXTS)
def test_unreadable_text_gives_the_words_of_tvm(text: str, seen: list[Any]) -> None:
    with pytest.raises(tvm.error.DiagnosticError) as raised:
        tvm.relay.parse_expr(text)
    assert isinstance(raised.value.__cause__, ParseError)
    message, column = TEXTS[text]
    assert [d.message for d in seen] == [message]
    assert (seen[0].span.source_name, seen[0].span.column) == ("string", column)


def test_ill_typed_text_gives_one_diagnostic_with_its_location(seen: list[Any]) -> None:
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse(HEADER + "def @main(%x: int32) -> float32 {\n  %x\n}", "f.relay")
    assert [d.message for d in seen] == match("int32", "float32")
    assert str(seen[0].span) == "f.relay:2:1"
    seen.clear()
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse(HEADER + "def @main(%x: Foo) { %x }")
    assert [d.message for d in seen] == ["the type variable : `Foo` is undefined"]
    seen.clear()
    with pytest.raises(tvm.error.DiagnosticError):
        relay.parse(
            HEADER + "type Coin { Head, Tail }\ndef @main(%c: Coin[]) {\n"
            "  match (%c) { Head => { 1 } }\n}"
        )
    said = "match expression does not handle the following cases: case 0: \nTail"
    assert [d.message for d in seen] == [said]


def test_error_without_a_renderer_is_raised_unchanged() -> None:
    for read in (lambda: relay.parse("def @main() { 1 + }"), lambda: infer(calls())):
        with pytest.raises(DiagnosticError) as raised:
            read()
        assert raised.type in (ParseError, TypeInferenceError)
        assert isinstance(raised.value, tvm.error.DiagnosticError)
        assert isinstance(raised.value, tvm.TVMError)


def test_renderer_that_removes_the_diagnostics_leaves_the_original_error() -> None:
    diagnostics.override_renderer(lambda ctx: ctx.diagnostics.clear())
    try:
        with pytest.raises(TypeInferenceError, match="too few arguments"):
            infer(calls())
    finally:
        diagnostics.override_renderer(None)


def test_terminal_renderer_shows_the_line_of_a_diagnostic(
    capsys: pytest.CaptureFixture[str],
) -> None:
    mod = relay.parse(HEADER + "def @main(%xy: int32) {\n  abs(%xy)\n}")
    assert mod.source_map.source_map["from_string"].source.startswith(HEADER)
    context = diagnostics.DiagnosticContext(mod, diagnostics.get_renderer())
    warning, error = diagnostics.DiagnosticLevel.WARNING, diagnostics.DiagnosticLevel.ERROR
    context.emit(diagnostics.Diagnostic(warning, mod["main"].body.span, "look out"))
    context.emit(diagnostics.Diagnostic(warning, None, "nowhere"))
    context.render()
    shown = capsys.readouterr().err
    assert shown == (
        "warning: look out\n --> from_string:3:3\n"
        "   |  \n 3 |    abs(%xy)\n   |    ^^^^^^^^\nnowhere\n"
    )
    context.emit(diagnostics.Diagnostic(error, None, "no type"))
    with pytest.raises(tvm.error.DiagnosticError, match="one or more error diagnostics"):
        context.render()


def test_source_texts_of_a_module_stay_through_passes() -> None:
    mod = relay.parse(HEADER + "def @main(%x: int32) { abs(%x) }", "f.relay")
    passed = relay.transform.AnnotateSpans()(relay.transform.SimplifyInference()(mod))
    assert set(relay.transform.FoldConstant()(mod).source_map.source_map) == {"f.relay"}
    assert set(passed.source_map.source_map) == {"GeneratedSource"}
    again = relay.parse(HEADER + "def @g(%x: int32) { @main(%x) }", "g.relay", mod)
    assert set(again.source_map.source_map) == {"f.relay", "g.relay"}
    assert set(mod.source_map.source_map) == {"f.relay"}


def test_span_names_are_found_in_tvm_s_namespaces() -> None:
    from byoc_lab.relay.ir import source_map, span

    for home in ("tvm.relay", "tvm.ir", "tvm.ir.base", "tvm.relay.base"):
        for name in ("Span", "SourceName", "SequentialSpan"):
            assert getattr(module(home), name) is getattr(span, name)
    assert tvm.parser.SourceMap is module("tvm.ir.base").SourceMap is source_map.SourceMap
    texts = source_map.SourceMap()
    texts.add("f.relay", "one\ntwo")
    kept = texts.source_map[span.SourceName("f.relay")]
    assert (kept.source, kept.source_name.name, kept.line(2)) == ("one\ntwo", "f.relay", "two")


def test_span_check_lists_nodes_without_a_source_location(
    capsys: pytest.CaptureFixture[str],
) -> None:
    x = var("x", 2)
    check = tvm.relay.SpanCheck()
    built = tvm.IRModule.from_expr(relay.Function([x], x + x))
    assert check(built) is built
    assert capsys.readouterr().err.count("found null-span") == 3, "variable, call, function"
    check(byoc_lab.relay.parse(HEADER + "def @main(%x: int32) { abs(%x) }"))
    assert capsys.readouterr().err == ""
