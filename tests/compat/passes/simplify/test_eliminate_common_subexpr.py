"""EliminateCommonSubexpr gives TVM 0.16's modules; calls on tuples."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.compat.passes import EliminateCommonSubexpr
from byoc_lab.relay import Expr, IRModule, Tuple
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.transform import InferType
from tests.parity.golden import golden_test

test_golden = golden_test("EliminateCommonSubexpr")

X, Y = relay.var("x", shape=(4,)), relay.var("y", shape=(4,))


def _calls(body: Expr, op: str) -> int:
    mod = IRModule.from_expr(relay.Function([X, Y], body))
    return list_op_freqs(EliminateCommonSubexpr()(InferType()(mod)))[op]


def _joined(*fields: Expr, axis: int = 0) -> Expr:
    return relay.stack(Tuple(list(fields)), axis)


def test_calls_on_equal_tuples_are_merged() -> None:
    assert _calls(Tuple([_joined(X, Y), _joined(X, Y)]), "stack") == 1
    computed = Tuple([_joined(relay.abs(X), Y), _joined(relay.abs(X), Y)])
    assert _calls(computed, "stack") == 1
    one, two = (lambda: relay.const(1.0)), (lambda: relay.const(2.0))
    assert _calls(Tuple([_joined(one(), two()), _joined(one(), two())]), "stack") == 1


def test_calls_on_tuples_with_other_fields_or_attributes_are_not_merged() -> None:
    assert _calls(Tuple([_joined(X, Y), _joined(Y, X)]), "stack") == 2
    assert _calls(Tuple([_joined(X, Y), _joined(X, Y, Y)]), "stack") == 2
    assert _calls(Tuple([_joined(X, Y), _joined(X, Y, axis=1)]), "stack") == 2


def test_calls_on_nested_tuples_are_not_merged_as_in_tvm() -> None:
    def begin() -> Expr:
        return relay.annotation.compiler_begin(Tuple([Tuple([X, Y]), Y]), "a")

    body = Tuple([relay.TupleGetItem(begin(), 1), relay.TupleGetItem(begin(), 1)])
    assert _calls(body, "annotation.compiler_begin") == 2
