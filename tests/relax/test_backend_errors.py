"""Errors of back ends of Relax: of registrations, code generators, checks and operands."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

from tvm.relax.dpl import is_op, wildcard

import byoc_lab
from byoc_lab import backends
from byoc_lab import relax as lab
from byoc_lab.backends import PythonRegion, Refused
from byoc_lab.errors import (
    ArgumentError,
    BuildError,
    PassError,
    PredicateError,
    UnknownNameError,
)
from tests.compilers import needs_cc
from tests.relax.test_backends import MATMUL, RELAY, TABLE, exactly, network, op, register

from .test_partition import module, symbol, var
from .tracing.networks import relax, tvm


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("a.b", {}, "ASCII letters, digits"),
        ("np u", {}, "ASCII letters, digits"),
        ("dnnl", {}, "byoc_lab's own back end"),
        ("npu", {"patterns": [("other.x", MATMUL)]}, r"begin with 'npu\.', found 'other\.x'"),
        (
            "npu",
            {"patterns": [("npu.x", RELAY)]},
            r"'npu\.x' has that of the operator nn\.relu alone; write is_op",
        ),
        ("npu", {"patterns": [("npu.x",)]}, r"one of tvm\.relax\.dpl, found builtins\.tuple"),
        ("npu", {"supports": "nn.relu"}, "must list operators"),
        ("npu", {"supports": ["nn.rely"]}, r"no operator relax\.nn\.rely; did you mean"),
        ("npu", {"codegen": 3}, "codegen of 'npu' must be a function"),
        ("npu", {"codegen": exactly}, r"'npu' would support nothing: give patterns="),
        (
            "npu",
            {"patterns": [("npu.x", MATMUL, lambda context: True)]},
            r"'npu\.x' must be \(name, pattern, annotations, check\) .* write \{\}",
        ),
        ("npu", {"patterns": 3}, "must be a list of entries"),
        ("npu", {"patterns": lambda: None}, "must return a list of entries, found NoneType"),
    ],
)
def test_invalid_registration_raises_pass_error(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(PassError, match=message):
        lab.register(name, **options)


def test_tuple_parameter_of_a_region_is_refused_with_advice() -> None:
    register()
    pair = relax.Var("pair", tvm.ir.TupleType([var("x", 2, 4).ty] * 2))
    mod = module([pair], lambda emit, pair: emit(op.concat(pair, axis=0)))
    for target in ("npu", "dnnl"):
        (found,) = lab.explain(mod, target)
        assert found.cause == "check" and "the tuple %pair" in found.reason
    assert lab.build(byoc_lab.trace(mod, "npu").result).regions == ()


def test_advice_on_a_named_tuple_operand_works() -> None:
    """The fields are in the call, and the pattern contains the operator that creates the tuple."""
    register()

    def fields(emit: Any, x: Any) -> Any:
        pair = emit(op.split(x, 2, axis=1))
        return emit(op.concat(relax.Tuple([pair[0], pair[1]]), axis=0))

    mod = module([var("x", 2, 4)], fields)
    assert {e.name: e.offloaded for e in lab.explain(mod, "npu")}["concat"]

    def whole(emit: Any, x: Any) -> Any:
        return emit(op.concat(emit(op.split(x, 2, axis=1)), axis=0))

    mod = module([var("x", 2, 4)], whole)
    both = is_op("relax.concat")(is_op("relax.split")(wildcard()))
    lab.register("npu", patterns=[("npu.both", both)], codegen=exactly)
    assert all(e.offloaded for e in lab.explain(mod, "npu"))
    lab.register("npu", supports=["split", "concat"], codegen=exactly)
    offloaded = {e.name: e.offloaded for e in lab.explain(mod, "npu")}
    assert offloaded == {"split": True, "concat": False}


def looked_up(*unused: Any) -> Any:
    return {}["x"]


@needs_cc
@pytest.mark.parametrize(
    ("codegen", "error", "message"),
    [
        (looked_up, BuildError, r"^the code generator of back end 'npu' failed .*KeyError: 'x'"),
        (lambda f, s: None, BuildError, r"^the code generator of back end 'npu' returned NoneType"),
        (lambda f, s: PythonRegion(3), ArgumentError, "^PythonRegion must get a function"),
    ],
)
def test_code_generator_that_raises_is_named(
    codegen: Any, error: type[Exception], message: str
) -> None:
    lab.register("npu", patterns=TABLE, codegen=codegen)
    cut = lab.backends.get("npu").partition(network())
    with pytest.raises(error, match=message):
        lab.build(cut)


@pytest.mark.parametrize("codegen", [exactly, None])
@pytest.mark.parametrize(
    "options",
    [{"patterns": [("npu.matmul", MATMUL, {}, looked_up)]}, {"supports": {"matmul": looked_up}}],
)
def test_check_that_raises_is_named_by_each_tool(options: dict[str, Any], codegen: Any) -> None:
    lab.register("npu", **options, codegen=codegen)
    message = r"^the check of pattern npu\.matmul raised KeyError: 'x'"
    for tool in (byoc_lab.explain, byoc_lab.coverage, lambda m, n: byoc_lab.trace(m, n).result):
        with pytest.raises(PredicateError, match=message):
            tool(network(), "npu")


def test_refusal_text_is_shown_without_a_code_generator() -> None:
    lab.register("npu", patterns=[("npu.matmul", MATMUL, {}, lambda context: Refused("too small"))])
    found = byoc_lab.explain(network(), "npu")
    assert next(e.reason for e in found if e.name == "matmul").endswith("refuses: too small")


def test_missing_code_generator_error_of_each_tool_says_how_to_register_one() -> None:
    lab.register("npu", patterns=TABLE)
    cut = lab.backends.get("npu").partition(network())
    with pytest.raises(BuildError, match=r"relax\.register\('npu', codegen=\.\.\.\)"):
        lab.build(cut)
    assert "relax.register('npu', codegen=...)" in str(byoc_lab.lint(cut))
    assert "no code generator of back end 'npu'" in str(byoc_lab.bisect(network(), "npu"))


def test_back_end_for_relay_only_is_named_by_trace() -> None:
    backends.register("npu", supports=["nn.relu"], codegen=exactly)
    with pytest.raises(UnknownNameError, match=r"relax\.register\('npu'\) registers it for Relax"):
        byoc_lab.trace(network(), "npu")
    backends.unregister("npu")


def test_unknown_size_after_the_batch_is_named() -> None:
    lab.register("npu", supports=["nn.relu"], codegen=exactly)
    mod = module([var("x", 2, symbol("n"))], lambda emit, x: emit(op.nn.relu(x)))
    (found,) = byoc_lab.explain(mod, "npu")
    assert "the size n is not known" in found.reason


@pytest.mark.parametrize("made", [3, ["LegalizeOps"], [lambda mod: mod]])
def test_pipeline_of_objects_other_than_passes_is_refused(made: Any) -> None:
    register(pipeline=lambda: made)
    for tool in (byoc_lab.trace, byoc_lab.explain):
        with pytest.raises(PassError, match="the pipeline of 'npu' must return a list of passes"):
            tool(network(), "npu")
