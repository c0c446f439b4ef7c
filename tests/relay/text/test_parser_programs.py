"""Parsing programs: fragments, several pasted programs, omitted metadata."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import ElidedMetadataWarning, ParseError, UnknownNameError
from byoc_lab.relay.ir.visit import post_order

from .texts import THREADS, code_of

HEADER = '#[version = "0.0.5"]\n'


# Versions, fragments, pastes ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
@pytest.mark.parametrize("path", THREADS, ids=lambda p: p.stem)
def test_code_blocks_of_the_threads_are_parsed_with_types(path):
    mod = relay.parse_file(path)
    names = (relay.Op, relay.GlobalVar)
    assert all(n.is_typed for n in post_order(mod["main"]) if not isinstance(n, names))


def test_expected_blocks_of_the_threads_exist():
    assert [p.stem for p in THREADS] == [
        *(f"batch_norm_{n}" for n in range(1, 5)),
        "let_partition_1",
        *(f"nested_partition_{n}" for n in range(1, 5)),
    ]


def test_paste_of_several_programs_with_prose_is_parsed():
    paste = "Hi, I am testing (see below):\n\n" + "\n1 Like\n\nBut then:\n".join(
        code_of(p) for p in THREADS
    )
    with pytest.warns(ElidedMetadataWarning):
        mods = relay.parse_programs(paste, "thread.txt")
    assert len(mods) == len(THREADS) > 8
    for mod, path in zip(mods, THREADS, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ElidedMetadataWarning)
            assert relay.structural_equal(mod, relay.parse(code_of(path)))
    span = mods[1]["main"].body.span
    line = paste.split("\n")[span.line - 1]
    assert line[span.column - 1 :].startswith("%12(%data")


def test_each_header_definition_and_separator_begins_a_program():
    text = "\n".join(
        [
            "v0.0.4",
            "def @a() { 1 }",
            "def @b() { @a() }",
            "// meta data omitted. you can use show_meta_data=True to include meta data",
            "def @c() { 2 }",
            '#[version = "0.0.5"]',
            "free_var %x: int32;",
            "abs(%x)",
            "v0.0.4",
            "fn (%y: int32) { %y }",
        ]
    )
    names = [[gv.name_hint for gv in mod] for mod in relay.parse_programs(text)]
    assert names == [["a", "b"], ["c"], ["main"], ["main"]]
    with pytest.raises(ParseError, match="parse_programs"):
        relay.parse("fn () { 1 }\nfn () { 2 }")


def test_characters_from_web_pages_are_parsed():
    left, right = "\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}"
    space, nothing = "\N{NO-BREAK SPACE}", "\N{ZERO WIDTH SPACE}"
    mod = relay.parse(f"fn (%x:{space}int32, Compiler={left}dnnl{right}) {{ %x{nothing} }}")
    assert mod["main"].attrs["Compiler"] == "dnnl"
    kept = relay.parse(HEADER + f'def @main(a="{left}") {{ 1 }}')
    assert kept["main"].attrs["a"] == left


def test_fragments_may_use_global_functions_that_they_lack():
    text = "def @main(%x: int32) -> int32 { @helper(%x, 1f) }"
    mod = relay.parse(text)
    ((gv, ty),) = mod.declared.items()
    assert gv.name_hint == "helper" and str(ty) == "fn (int32, float32) -> int32"
    with pytest.raises(UnknownNameError, match="helper") as caught:
        relay.parse(HEADER + text)
    caret = " " * (2 + text.index("@helper")) + "^"
    assert str(caught.value).split("\n")[1:] == ["  " + text, caret]


def test_init_module_provides_its_functions():
    base = relay.parse(HEADER + "def @f(%x: int32) -> int32 { abs(%x) }")
    mod = relay.parse(HEADER + "def @main(%y: int32) -> int32 { @f(%y) }", init_module=base)
    assert set(mod._by_name) == {"f", "main"} and len(base) == 1
    with pytest.raises(ParseError, match="init_module"):
        relay.parse(HEADER + "def @f() { 1 }", init_module=base)


# Omitted metadata -------------------------------------------------------------------------------

ELIDED = """fn (%x: Tensor[(2), float32]) {
  %0 = annotation.compiler_begin(%x, meta[relay.attrs.CompilerAttrs][0]);
  %1 = add(%0, meta[relay.Constant][1] /* ty=Tensor[(2), float32] */ /* ty=Tensor[(2), float32] */);
  %2 = multiply(%1, meta[relay.Constant][1] /* ty=Tensor[(2), float32] */);
  annotation.compiler_end(%2, meta[relay.attrs.CompilerAttrs][1])
}"""


def test_omitted_metadata_is_replaced_with_a_warning():
    with pytest.warns(ElidedMetadataWarning, match="2 annotations") as caught:
        mod = relay.parse(ELIDED)
    assert len(caught) == 1 and str(caught[0].message) == mod.notes[0]
    end = mod["main"].body
    assert end.attrs.compiler == "unknown" and end.attrs.elided
    constant = end.args[0].args[1]
    assert constant.elided and (constant.numpy() == 1).all() and constant.data.shape == (2,)
    assert end.args[0].args[0].args[1] is constant


@pytest.mark.parametrize(
    "read", [relay.parse, relay.parse_expr, relay.parse_programs, relay.parse_file]
)
def test_warning_names_the_calling_line(read, tmp_path):
    (tmp_path / "a.txt").write_text(ELIDED)
    with pytest.warns(ElidedMetadataWarning) as caught:
        read(tmp_path / "a.txt" if read is relay.parse_file else ELIDED)
    assert [w.filename for w in caught] == [__file__]


def test_compiler_of_a_paste_can_be_given():
    with pytest.warns(ElidedMetadataWarning, match="'dnnl'"):
        mod = relay.parse(ELIDED, compiler="dnnl")
    assert mod["main"].body.attrs.compiler == "dnnl"


def test_init_meta_table_replaces_the_section():
    table = {"relay.Constant": [relay.const(np.arange(2, dtype="float32"))]}
    node = relay.parse(HEADER + "def @main() { meta[relay.Constant][0] }", init_meta_table=table)
    assert list(node["main"].body.numpy()) == [0, 1] and not node.notes


def test_huge_replacement_constant_needs_no_memory():
    with pytest.warns(ElidedMetadataWarning):
        node = relay.parse_expr(
            "meta[relay.Constant][0] /* ty=Tensor[(1000000, 1000000), float32] */"
        )
    assert node.data.shape == (10**6, 10**6)
