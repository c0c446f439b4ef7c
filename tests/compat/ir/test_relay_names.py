"""`relay.astext` prints TVM's format, which TVM's parser reads."""

from __future__ import annotations

from byoc_lab.compat import relay


def test_annotation_attributes_are_printed_in_the_metadata() -> None:
    begin = relay.annotation.compiler_begin(relay.var("x", shape=(2,)), "dnnl")
    text = relay.astext(begin)
    assert "annotation.compiler_begin(%x, meta[relay.attrs.CompilerAttrs][0])" in text
    read = relay.parse_expr(text)
    assert read.attrs.compiler == "dnnl"
    assert relay.astext(read) == text
    assert 'compiler="dnnl"' in begin.astext()
