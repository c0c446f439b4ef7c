"""The dataflow pattern language: describe a subgraph, find it, extract it, replace it."""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.patterns.grouping import partition
from byoc_lab.relay.patterns.matcher import Matcher
from byoc_lab.relay.patterns.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from byoc_lab.relay.patterns.rewriting import DFPatternCallback, rewrite
from byoc_lab.relay.patterns.short_forms import (
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    wildcard,
)


def match(pattern: DFPattern, expr: Expr) -> bool:
    """Whether `expr` as a whole matches `pattern`."""
    return pattern.match(expr)


__all__ = [
    "AltPattern", "AttrPattern", "CallPattern", "ConstantPattern", "DFPattern", "DFPatternCallback",
    "DataTypePattern", "DominatorPattern", "ExprPattern", "FunctionPattern", "IfPattern",
    "LetPattern", "Matcher", "ShapePattern", "TupleGetItemPattern", "TuplePattern", "TypePattern",
    "VarPattern", "WildcardPattern", "dominates", "has_attr", "has_dtype", "has_shape", "has_type",
    "is_constant", "is_expr", "is_if", "is_let", "is_op", "is_tuple", "is_tuple_get_item", "is_var",
    "match", "partition", "rewrite", "wildcard",
]  # fmt: skip
