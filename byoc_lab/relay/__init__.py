"""Relay in Python: the language, its operators, text format, patterns and analyses.

Names and results are those of `tvm.relay` in TVM 0.16; a script written for it works after its
import lines are changed. The passes are in `byoc_lab.passes`; `relay.transform` exports them under
TVM's name, and nothing in this package uses that module.
"""

from __future__ import annotations

from byoc_lab.relay import analysis, annotation, build_module, image, nn, op, qnn, testing, vision
from byoc_lab.relay import patterns as dataflow_pattern
from byoc_lab.relay.analysis.structural import assert_structural_equal, structural_equal
from byoc_lab.relay.analysis.structural_hash import structural_hash
from byoc_lab.relay.ir import adt, expr
from byoc_lab.relay.ir import expr_functor as expr_functor
from byoc_lab.relay.ir import types as ty  # TVM's name for it
from byoc_lab.relay.ir.adt import (
    Clause,
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    TypeData,
)
from byoc_lab.relay.ir.dims import Any, symbol
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    RelayExpr,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    bind,
    const,
    describe,
    var,
)
from byoc_lab.relay.ir.expr_functor import (
    ExprFunctor,
    ExprMutator,
    ExprRewriter,
    ExprVisitor,
    MixedModeMutator,
    MixedModeVisitor,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node_code import NODE_CODE as _NODE_CODE
from byoc_lab.relay.ir.node_code import NodeCode as _NodeCode
from byoc_lab.relay.ir.pickling import reduce as _reduce
from byoc_lab.relay.ir.span import SequentialSpan, SourceName, Span
from byoc_lab.relay.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
    scalar_type,
)
from byoc_lab.relay.op.framework.namespace import later as _later
from byoc_lab.relay.op.framework.namespace import namespace as _namespace
from byoc_lab.relay.patterns import *  # noqa: F403 (TVM puts the pattern names here too)
from byoc_lab.relay.patterns import partition
from byoc_lab.relay.patterns.matcher import matches as _matches
from byoc_lab.relay.patterns.text import pattern_text as _pattern_text
from byoc_lab.relay.text.parser import fromtext, parse, parse_expr, parse_file, parse_programs
from byoc_lab.relay.text.printer import print_lines, print_text
from byoc_lab.relay.text.printer import print_shown as _print_shown

_CODE = _NodeCode(
    print_text=print_text,
    print_shown=_print_shown,
    reduce=_reduce,
    matches=_matches,
    partition=partition,
    pattern_text=_pattern_text,
)
_NODE_CODE.fill(lambda: _CODE)

globals().update(_namespace())
__getattr__ = _later(__name__)
