"""`backends.register`: the effects of one call on predicates, patterns, pipeline and code
generation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.errors import BuildError, PassError, PredicateError, UnknownNameError
from byoc_lab.passes import InferType, MergeComposite
from byoc_lab.passes.framework.pipelines import named_pipeline
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.op.contrib import get_pattern_table
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate, get_backend
from byoc_lab.run.backends import register_backend

NAME = "toy"
data = relay.var("data", shape=(2, 3))
relu_of_sum = is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))


class Interpreted:
    """A minimal back end for tests: NumPy computes its regions."""

    def __init__(self, function: Function, symbol: str):
        self.mod = IRModule.from_expr(function.without_attr("Compiler"))


@pytest.fixture
def toy() -> Iterator[backends.Backend]:
    yield backends.register(
        NAME,
        patterns=[("toy.relu_of_sum", relu_of_sum)],
        supports={
            "exp": lambda call: len(call.args[0].checked_type.shape) == 2,
            "tanh": lambda call: backends.Refused("tanh is broken in silicon"),
            "abs": lambda call: True,
        },
        codegen=Interpreted,
    )
    if NAME in backends.names():
        backends.unregister(NAME)


def module(expr: relay.Expr) -> IRModule:
    return infer_module(IRModule.from_expr(expr))


def test_register_adds_predicates_patterns_pipeline_and_code(toy: backends.Backend) -> None:
    assert backends.get(NAME) is toy and NAME in backends.names()
    assert get_backend(NAME) is Interpreted
    table = get_pattern_table(NAME)
    assert table is not None and [name for name, *_ in table] == ["toy.relu_of_sum"]
    assert [p.name for p in named_pipeline(NAME)][1:3] == ["MergeComposite", "AnnotateTarget"]
    mod = module(relay.exp(nn.relu(data + data)))
    cut = backends.partition(mod, NAME)
    assert 'Composite="toy.relu_of_sum"' in str(cut) and len(cut.functions) == 2
    assert relay.structural_equal(cut, byoc_lab.trace(mod, NAME).result)
    values = [np.ones((2, 3), np.float32)]
    np.testing.assert_array_equal(evaluate(cut, values).outputs, evaluate(mod, values).outputs)


def test_why_not_gives_the_reason_for_an_unsupported_call(toy: backends.Backend) -> None:
    def call(expr: relay.Expr) -> relay.Expr:
        return module(expr)["main"].body

    assert toy.why_not(call(relay.exp(data))) is None
    assert toy.why_not(call(relay.tanh(data))) == "tanh is broken in silicon"
    assert toy.why_not(call(relay.exp(relay.var("v", shape=(2,))))) == (
        "toy refuses exp without a reason: it returned False, not Refused('...')"
    )
    assert toy.why_not(call(relay.log(data))) == "toy has no counterpart of log"
    assert not backends.Refused("no")
    cut = backends.partition(module(relay.exp(relay.tanh(data))), NAME)
    assert "tanh" in str(cut["main"]) and "exp" not in str(cut["main"])


def test_registering_a_name_again_replaces_the_back_end(toy: backends.Backend) -> None:
    backends.register(NAME, supports=["log"])
    cut = backends.partition(module(relay.log(relay.abs(data))), NAME)
    assert "abs" in str(cut["main"]) and "log" not in str(cut["main"])
    assert get_pattern_table(NAME) == []


def test_dnnl_is_registered_by_the_same_function() -> None:
    dnnl = backends.get("dnnl")
    convolution = module(
        nn.conv2d(relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3)))
    )
    assert dnnl.why_not(convolution["main"].body) is None
    halves = relay.var("h", shape=(2,), dtype="float64")
    assert "must be float32" in str(dnnl.why_not(module(relay.exp(halves))["main"].body))


def test_invalid_registrations_are_refused() -> None:
    with pytest.raises(PassError, match=r"begin with 'toy\.', found 'relu'"):
        backends.register(NAME, patterns=[("relu", relu_of_sum)])
    with pytest.raises(PassError, match=r"must be a list .*, found CallPattern"):
        backends.register(NAME, patterns=relu_of_sum)
    for name in ("a.b", "np u", "", "npü", 'np"u', 3):
        for register in (backends.register, register_backend):
            with pytest.raises(PassError, match="ASCII letters, digits, '_' and '-'"):
                register(name)
    with pytest.raises(UnknownNameError, match="no_such"):
        backends.register(NAME, supports=["no_such"])
    with pytest.raises(UnknownNameError, match="no back end is registered as 'npu'"):
        backends.partition(module(data), "npu")


IMAGE, WEIGHT = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
CONV = nn.relu(nn.conv2d(IMAGE, WEIGHT))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (("npu.p", "nn.conv2d"), "'npu.p' needs a pattern, found str 'nn.conv2d'; write one like"),
        (("npu.p", None), "'npu.p' needs a pattern, found NoneType"),
        ((3, is_op("nn.relu")(wildcard())), "must begin with the pattern's name, a str, found int"),
        ("npu.p", "entry 0 of the pattern table must be"),
        (("npu.p", is_op("nn.relu")), "the operator nn.relu alone; write is_op('nn.relu')("),
        (("npu.p", is_op("nn.relu")(wildcard()), "yes"), "check of 'npu.p' must be a function"),
    ],
)
def test_invalid_pattern_entry_is_refused_at_registration(entry: Any, message: str) -> None:
    with pytest.raises(PassError) as caught:
        backends.register("npu", patterns=[entry])
    assert message in str(caught.value)
    with pytest.raises(PassError) as caught:
        MergeComposite([entry])
    assert message in str(caught.value)


def _raises(expr: object) -> bool:
    raise ZeroDivisionError("from the user's check")


def test_check_that_raises_is_reported_with_the_call() -> None:
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    back_end = backends.register("npu_raises", patterns=[("npu_raises.conv", pattern, _raises)])
    mod = IRModule.from_expr(CONV)
    for ask in (
        lambda: backends.partition(mod, "npu_raises"),
        lambda: back_end.why_not(InferType()(mod)["main"].body),
    ):
        with pytest.raises(PredicateError) as caught:
            ask()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        for part in ("'npu_raises'", "'npu_raises.conv'", "nn.relu(...)", "from the user's check"):
            assert part in str(caught.value)
        assert len(str(caught.value)) < 400


def test_predicate_that_raises_is_reported_with_the_call() -> None:
    back_end = backends.register("npu_raises", supports={"nn.relu": _raises})
    mod = IRModule.from_expr(CONV)
    for ask in (
        lambda: backends.partition(mod, "npu_raises"),
        lambda: back_end.why_not(InferType()(mod)["main"].body),
    ):
        with pytest.raises(PredicateError) as caught:
            ask()
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        for part in ("back end 'npu_raises'", "the predicate of nn.relu", "nn.relu(...)"):
            assert part in str(caught.value)
    backends.register("npu_raises")  # its predicate is an attribute of the operator


@pytest.mark.parametrize("made", [None, "code", lambda x: x])
def test_code_generator_without_a_compiled_region_raises_build_error(made: object) -> None:
    pytest.importorskip("tvm")
    back_end = "npu_gives_nothing"
    backends.register(back_end, supports=["nn.relu"], codegen=lambda function, symbol: made)
    x = relay.var("x", shape=(2, 2))
    mod = backends.partition(IRModule.from_expr(relay.Function([x], relay.nn.relu(x))), back_end)
    with pytest.raises(BuildError, match="generator of back end 'npu_gives_nothing' returned") as e:
        byoc_lab.build(mod)
    assert "@tvmgen_default_npu_gives_nothing_main_0" in str(e.value)
    backends.register(back_end)


def test_misspelt_back_end_error_suggests_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'dnnl'"):
        backends.get("dnll")


def test_operators_of_a_back_end_include_those_of_its_patterns() -> None:
    either = (is_op("add") | is_op("nn.bias_add"))(
        is_op("nn.conv2d")(wildcard(), wildcard()), wildcard()
    )
    backends.register("edu_known", supports=["exp"], patterns=[("edu_known.a", either)])
    backends.register("edu_any", patterns=[("edu_any.a", wildcard()(wildcard()))])
    try:
        known = backends.get("edu_known").operators()
        assert known == {"exp", "add", "nn.bias_add", "nn.conv2d"}
        assert backends.get("edu_any").operators() is None
    finally:
        backends.unregister("edu_known")
        backends.unregister("edu_any")
