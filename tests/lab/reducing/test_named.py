"""Named predicates of `reduce`: each kind, its forms, and invalid ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import PythonRegion, registry
from byoc_lab.errors import ArgumentError, BuildError, ByocLabError, UnknownNameError
from byoc_lab.lab.reducing import KINDS, predicate_named
from byoc_lab.lessons.cases import nested_partition
from byoc_lab.relay import IRModule
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.transform import module_pass
from tests.lab.checking.faults import FAULTS, planted
from tests.lab.reducing.networks import convolution, operators


@pytest.fixture
def mine() -> Iterator[str]:
    yield "mine"
    registry.unregister("mine")


def relu(*names: str) -> IRModule:
    out: relay.Expr = relay.var("x", shape=(2, 4))
    for name in names:
        out = Call(relay.Op.get(name), [out])
    return relay.transform.InferType()(IRModule.from_expr(out))


def test_finding_predicate_takes_code_or_name_and_a_back_end() -> None:
    x = relay.var("x", shape=(2, 4))
    mod = IRModule.from_expr(relay.nn.relu(relay.annotation.compiler_begin(x, "dnnl")))
    mod = relay.transform.InferType()(mod)
    for text in ("finding:BYL002", "finding:missing-end"):
        assert predicate_named(text)(mod) and not predicate_named(text)(relu("abs"))
    clean = relu("nn.relu")
    assert {f.code for f in byoc_lab.lint(clean, backend="dnnl")}.isdisjoint({"BYL002"})
    assert not predicate_named("finding:BYL002", target="dnnl", pipeline="dnnl")(clean)


def test_error_predicate_takes_a_text_or_the_name_of_a_message(mine: str) -> None:
    @module_pass(opt_level=0, name="refusing")
    def refusing(mod: IRModule, context: object) -> IRModule:
        if "tanh" in operators(mod):
            raise BuildError("free variables: [Var(x)], no tanh please")
        return mod

    byoc_lab.backends.register(mine, supports=["nn.relu"], pipeline=lambda: [refusing])
    asked = predicate_named("error:no tanh please", target=mine)
    assert asked(relu("tanh", "abs")) and not asked(relu("abs"))
    (meaning,) = byoc_lab.decode("free variables: [Var(x)], no tanh please")
    assert predicate_named(f"error:{meaning.name}", target=mine)(relu("tanh"))
    assert not predicate_named("error:something else", target=mine)(relu("tanh"))
    found = byoc_lab.reduce(relu("abs", "tanh", "exp"), "error:no tanh", target=mine)
    assert operators(found.module) == ["tanh"]


def test_error_predicate_takes_a_text_with_any_words() -> None:
    for text in ("error:failed on nothing", "crash:failed on nothing"):
        asked = predicate_named(text, target="ccompiler")
        assert asked.what == "failed on nothing" and asked.backend == "ccompiler"
    asked = predicate_named("cause:no-pattern on ccompiler", target="dnnl")
    assert asked.subject == "no-pattern" and asked.backend == "ccompiler"


def test_error_predicate_of_one_pass_reduces_an_annotated_module() -> None:
    mod = nested_partition.annotate(nested_partition.network(), begins_on_conv_data=False)
    error = byoc_lab.trace(mod, ["PartitionGraph"]).error
    assert "free variables" in str(error)
    for pipeline in ("PartitionGraph", "MergeCompilerRegions, PartitionGraph"):
        found = byoc_lab.reduce(mod, "error:free variables", pipeline=pipeline)
        assert len(operators(found.module)) < 8 < len(operators(mod))
        with pytest.raises(ByocLabError, match="free variables"):
            relay.transform.PartitionGraph()(found.module)
        assert found.passing is not None
        relay.transform.PartitionGraph()(found.passing)


def test_crash_predicate_takes_an_error_class_or_a_text(mine: str) -> None:
    def codegen(function: Function, symbol: str) -> PythonRegion:
        if "tanh" in str(function):
            raise ZeroDivisionError("no tanh here")
        return PythonRegion(lambda x: np.maximum(x, 0))

    byoc_lab.backends.register(mine, supports=["nn.relu", "tanh"], codegen=codegen)
    mod = relu("abs", "nn.relu", "exp", "tanh")
    for text in ("crash:no tanh here", "crash:ZeroDivisionError"):
        asked = predicate_named(text, target=mine)
        assert asked(mod) and not asked(relu("nn.relu"))
        assert operators(byoc_lab.reduce(mod, text, target=mine).module) == ["tanh"]
    assert not predicate_named("crash:something else", target=mine)(mod)


def test_cause_predicate_takes_a_back_end() -> None:
    mod = relay.transform.InferType()(convolution())
    explained = byoc_lab.explain(mod, "ccompiler")
    causes = {e.cause for e in explained.host}
    assert "no-pattern" in causes
    found = byoc_lab.reduce(mod, "cause:no-pattern on ccompiler")
    assert len(operators(found.module)) == 1
    for cause in ("no-pattern", "let"):
        assert predicate_named(f"cause:{cause} on ccompiler")(mod) == (cause in causes)


def test_wrong_predicate_takes_a_back_end(mine: str) -> None:
    byoc_lab.backends.register(
        mine, supports=["abs"], codegen=lambda function, symbol: PythonRegion(lambda x: x)
    )
    asked = predicate_named(f"wrong:{mine}")
    assert asked(relu("abs")) and not asked(relu("tanh")) and asked.target == mine


def test_bisect_predicate_takes_the_pass_that_changes_the_numbers(mine: str) -> None:
    fault = planted(FAULTS["clip 6 to 5.9"], 0)
    faulty = module_pass(lambda mod, context: fault(mod), opt_level=0, name="faulty")
    byoc_lab.backends.register(mine, supports=["exp"], pipeline=lambda: [faulty])
    x = relay.var("x", shape=(2, 64))
    mod = IRModule.from_expr(relay.tanh(relay.clip(relay.exp(relay.abs(x) * x), 0.0, 6.0)))
    found = byoc_lab.reduce(mod, "bisect:faulty", target=mine)
    assert "clip" in operators(found.module) and len(operators(found.module)) <= 2
    assert not predicate_named("bisect:another", target=mine)(found.module)


def test_predicate_states_its_arguments() -> None:
    asked = predicate_named("finding:BYL002", target="dnnl", pipeline="dnnl")
    assert asked.arguments == "'finding:BYL002', target='dnnl', pipeline='dnnl'"
    assert asked.__name__ == "finding:BYL002 (target=dnnl, pipeline=dnnl)"
    assert eval(f"predicate_named({asked.arguments})") == asked


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("BYL002", None, "finding:CODE"),
        ("findnig:BYL002", None, "did you mean 'finding'"),
        ("finding:", None, "write one of these:\n  finding:CODE: the rule"),
        ("finding:BYL999", None, "BYL999"),
        ("finding:BYL002", "nothing", "nothing"),
        ("wrong:nothing", None, "nothing"),
        ("error:x", "nothing", "nothing"),
        ("not-offloaded:nn.conv3 on dnnl", None, "nn.conv3"),
        ("not-offloaded:nn.conv2d on nothing", None, "nothing"),
        ("cause:no-patern on dnnl", None, "did you mean 'no-pattern'"),
    ],
)
def test_invalid_predicate_raises_error_with_the_reason(
    text: str, target: str | None, message: str
) -> None:
    with pytest.raises((ArgumentError, UnknownNameError), match=message) as caught:
        predicate_named(text, target=target)
    assert isinstance(caught.value, ByocLabError)


def test_unknown_pipeline_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="nothing"):
        predicate_named("finding:BYL002", pipeline="nothing")


def test_page_names_every_kind_of_predicate() -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "smallest-module.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    assert {row.removeprefix("| `").partition(":")[0] for row in rows} == set(KINDS)


def test_every_kind_of_predicate_has_a_test() -> None:
    assert set(KINDS) == {
        "finding", "error", "crash", "wrong", "bisect", "not-offloaded", "cause",
    }  # fmt: skip


def test_predicate_uses_the_back_end_of_its_pipeline_by_default(mine: str) -> None:
    registry.register("mine", supports=["nn.relu"])
    asked = predicate_named("not-offloaded:nn.relu", pipeline="mine")
    assert asked.backend == "mine" and not asked(relu("nn.relu"))
    assert (
        predicate_named("not-offloaded:nn.relu", pipeline="mine", target="dnnl").backend == "dnnl"
    )
    assert predicate_named("not-offloaded:tanh on mine", pipeline="dnnl")(relu("tanh"))
    assert predicate_named("cause:no-pattern", pipeline="InferType,FoldConstant").backend == "dnnl"
