"""`relay.analysis.detect_feature` gives the sets that TVM 0.16 gives for these programs."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.compat import relay, tvm
from byoc_lab.errors import ArgumentError

detect_feature, Feature = relay.analysis.detect_feature, relay.analysis.Feature

LOOP = """#[version = "0.0.5"]
def @main(%n: int32) -> int32 {
  let %f = fn (%m: int32) -> int32 { if (%m == 0) { 1 } else { %f(%m - 1) } };
  %f(%n)
}"""
NESTED = LOOP.replace("fn (%m: int32) -> int32 { if (%m == 0) { 1 } else { %f(%m - 1) } }", "%n")
NESTED = NESTED.replace("%f(%n)", "let %g = %f + 1; %g")
MATCH = """#[version = "0.0.5"]
type Way { Left, Right(int32) }
def @main(%w: Way[]) -> Way[] { match (%w) { Left => Right(1), Right(%n) => Left } }"""


def _x() -> Any:
    return relay.var("x", shape=(2,))


def _shared(node: Any) -> Any:
    return relay.Tuple([node, node])


def _primitive(value: int) -> Any:
    x = _x()
    return relay.Function([x], relay.add(x, x)).with_attr("Primitive", value)


def _reference() -> Any:
    ref = relay.RefCreate(_x())
    return relay.RefWrite(ref, relay.RefRead(ref))


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (_x(), "Var"),
        (relay.GlobalVar("g"), "GlobalVar"),
        (relay.op.get("add"), "Op"),
        (relay.exp(relay.TupleGetItem(_x(), 0)), "Var Op Call TupleGetItem"),
        (_shared(_x()), "Var Tuple"),
        (_shared(relay.const(1.0)), "Constant Tuple"),
        (_shared(relay.Tuple([])), "Tuple Graph"),
        (_shared(relay.exp(_x())), "Var Op Call Tuple Graph"),
        (relay.If(relay.const(True), _x(), _x()), "Var Constant If"),
        (_reference(), "Var RefCreate RefRead RefWrite Graph"),
        (_primitive(0), "Var Function Op Call"),
        (_primitive(1), "Function"),
        (_shared(relay.Call(_primitive(1), [_x()])), "Var Function Call Tuple Graph"),
        (relay.parse(NESTED), "Var Constant Function Op Call Let"),
        (relay.parse(LOOP), "Var Constant Function Op Call Let If LetRec"),
        (relay.parse(MATCH), "Var Constant Function Call Constructor Match"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_detected_features_equal_those_of_tvm(program: Any, names: str) -> None:
    assert detect_feature(program) == {Feature[f"f{name}"] for name in names.split()}


def test_features_of_an_expression_and_a_module_are_united() -> None:
    mod = tvm.IRModule.from_expr(_x())
    both = {Feature.fVar, Feature.fFunction, Feature.fConstant}
    assert detect_feature(mod, relay.const(1.0)) == detect_feature(relay.const(1.0), mod) == both


def test_two_expressions_raise_error() -> None:
    with pytest.raises(ArgumentError, match="an expression, a module, or both"):
        detect_feature(_x(), _x())
