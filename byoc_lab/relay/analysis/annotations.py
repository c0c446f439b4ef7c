"""Annotations of regions: creating and recognising `compiler_begin` and `compiler_end`.

An annotation is a call of `annotation.compiler_begin` or `annotation.compiler_end` whose attributes
name a compiler; without attributes it is an ordinary operator, as in TVM.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeGuard

from byoc_lab.relay.ir.attrs import Attrs, attrs_type
from byoc_lab.relay.ir.expr import Call, Expr, Op

BEGIN = "annotation.compiler_begin"
END = "annotation.compiler_end"
DEFAULT = "default"
"""The compiler name for calls that no back end supports; PartitionGraph removes its annotations."""
_ANNOTATIONS = (BEGIN, END)


def begin(expr: Expr, compiler: str) -> Call:
    """`expr` entering a region of `compiler`."""
    return Call(Op.get(BEGIN), [expr], _attrs(compiler))


def end(expr: Expr, compiler: str) -> Call:
    """`expr` leaving a region of `compiler`."""
    return Call(Op.get(END), [expr], _attrs(compiler))


@lru_cache(maxsize=256)
def _attrs(compiler: str) -> Attrs:
    return attrs_type("relay.attrs.CompilerAttrs").make(compiler=compiler)


def is_annotation(expr: object, name: str | None = None) -> TypeGuard[Call]:
    """Whether `expr` is an annotation; only of that kind, if BEGIN or END is given."""
    return (
        isinstance(expr, Call)
        and isinstance(expr.op, Op)
        and expr.op.name in _ANNOTATIONS
        and name in (None, expr.op.name)
        and expr.attrs is not None
        and "compiler" in expr.attrs
        and bool(expr.args)
    )


def compiler_of(annotation: object) -> str:
    """The compiler that an annotation names."""
    assert isinstance(annotation, Call)
    return str(annotation.attrs["compiler"])


def skip_annotations(expr: Expr) -> Expr:
    """The first expression at or below `expr` that is not an annotation."""
    while is_annotation(expr):
        expr = expr.args[0]
    return expr
