"""Modules with references (`ref`) give the same results after the pipelines of back ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import build, relay
from byoc_lab.backends import partition
from byoc_lab.backends.dnnl import partition_for_dnnl
from byoc_lab.errors import PartitionError
from byoc_lab.passes import AnnotateTarget, MergeCompilerRegions, PartitionGraph
from byoc_lab.relay import Expr, Function, IRModule, Let, RefCreate, RefRead, RefWrite, Var, nn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate
from byoc_lab.run.build import external_calls
from tests.sweeps import some

SHAPE = (2, 4)
WEIGHT = relay.const(np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32))
DATA = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)


@st.composite
def programs(draw: st.DrawFn) -> IRModule:
    """Values and writes for two references; some are bound by `let`, some shared without a
    `let`."""
    x = relay.var("x", shape=SHAPE)
    refs = [Var("r"), Var("s")]
    values: list[Expr] = [x]
    bindings: list[tuple[Var, Expr]] = [(refs[0], RefCreate(x)), (refs[1], RefCreate(nn.relu(x)))]

    def value() -> Expr:
        return draw(st.sampled_from(values))

    for n in range(draw(st.integers(1, 8))):
        ref = draw(st.sampled_from(refs))
        kind = draw(st.sampled_from(["read", "write", "relu", "dense", "add", "tanh"]))
        if kind == "write":
            bindings.append((Var(f"u{n}"), RefWrite(ref, value())))
            continue
        made: Expr = {
            "read": lambda ref=ref: RefRead(ref),
            "relu": lambda: nn.relu(value()),
            "dense": lambda: nn.dense(value(), WEIGHT, units=4),
            "add": lambda: relay.add(value(), value()),
            "tanh": lambda: relay.erf(value()),  # no back end supports erf
        }[kind]()
        if kind == "read" or draw(st.booleans()):
            name = Var(f"v{n}")
            bindings.append((name, made))
            made = name
        values.append(made)
    body: Expr = relay.Tuple([values[-1], *map(RefRead, refs)])
    for name, bound in reversed(bindings):
        body = Let(name, bound, body)
    return infer_module(IRModule.from_expr(Function([x], body)))


def check(mod: IRModule, parted: IRModule) -> None:
    wanted, found = (evaluate(m, [DATA]).outputs for m in (mod, parted))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@given(programs(), st.sampled_from(["dnnl", "ccompiler"]))
@settings(max_examples=some(60), deadline=None)
def test_partitioned_module_with_references_keeps_its_results(mod: IRModule, backend: str) -> None:
    check(mod, partition(mod, backend))


@given(programs())
@settings(max_examples=some(30), deadline=None)
def test_whole_pipeline_keeps_the_results_of_references(mod: IRModule) -> None:
    check(mod, partition_for_dnnl(mod))


def chain() -> IRModule:
    """Reads before and after a write, each operand of a DNNL operator."""
    x, ref, first = relay.var("x", shape=SHAPE), Var("r"), Var("first")
    last = relay.add(nn.dense(first, WEIGHT, units=4), nn.relu(RefRead(ref)))
    body = Let(Var("u"), RefWrite(ref, relay.negative(first)), last)
    body = Let(ref, RefCreate(x), Let(first, nn.relu(RefRead(ref)), body))
    return infer_module(IRModule.from_expr(Function([x], body)))


@pytest.mark.native
def test_module_with_references_runs_on_dnnl() -> None:
    mod = chain()
    program = build(partition(mod, "dnnl"))
    (wanted,) = evaluate(mod, [DATA]).outputs
    np.testing.assert_allclose(program(DATA)[0], wanted, rtol=1e-5, atol=1e-5)
    program.assert_offloaded()


def test_era_0_16_refuses_an_annotated_reference() -> None:
    passes = (AnnotateTarget("dnnl", era="0.16"), MergeCompilerRegions(), PartitionGraph())
    annotated = passes[0](chain())
    with pytest.raises(PartitionError, match="RefCreate is in no region"):
        passes[2](passes[1](annotated))
    assert external_calls(partition(chain(), "dnnl"))
