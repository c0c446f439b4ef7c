"""Changes are tried on a part of the module around a call: explanations equal those of whole
runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.lab.explaining import change_runner
from byoc_lab.lab.explaining.module_changes import other_attributes
from byoc_lab.lab.explaining.nearby import NEAR, Surroundings
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.passes import make_pass
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard
from byoc_lab.relay.typing.infer import infer_module


def chain(length: int, last: Callable[[relay.Expr], relay.Expr]) -> IRModule:
    """Convolutions with batch norms, in residual blocks, followed by a given operator."""
    value = relay.var("x", shape=(1, 8, 8, 8))
    stats = [relay.const(np.ones(8, np.float32)) for _ in range(4)]
    for n in range(length):
        weight = relay.const(np.full((8, 8, 3, 3), 0.1 * n, np.float32))
        convolved = nn.conv2d(value, weight, padding=(1, 1))
        value = relay.add(nn.relu(nn.batch_norm(convolved, *stats)[0]), value)
    return infer_module(IRModule.from_expr(last(value)))


LAST: dict[str, Callable[[relay.Expr], relay.Expr]] = {
    "erf": lambda x: relay.erf(x),
    "float64": lambda x: relay.cast(relay.exp(relay.cast(x, "float64")), "float32"),
    "unbound norm": lambda x: nn.batch_norm(
        nn.conv2d(x, relay.const(np.ones((8, 8, 3, 3), np.float32))),
        *(relay.var(name, shape=(8,)) for name in ("gamma", "beta", "mean", "var")),
    )[0],
    "dropout": lambda x: nn.relu(nn.dropout(relay.power(x, relay.const(2.0)))),
    "flatten": lambda x: nn.batch_flatten(nn.max_pool2d(x, pool_size=(2, 2))),
    "integers": lambda x: nn.conv2d(
        relay.cast(x, "int8"),
        relay.const(np.ones((8, 8, 3, 3), np.int8)), channels=8, out_dtype="int32",
    ),
}  # fmt: skip


def answers(mod: IRModule, target: str) -> list[tuple[str, str]]:
    found = byoc_lab.explain(mod, target)
    first = [group[0] for group in found.groups if group[0].status == "host"]
    return [(str(e.cause), str(e.change)) for e in first]


@pytest.mark.parametrize("target", ["ccompiler", pytest.param("dnnl", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "last",
    [pytest.param(n, marks=[pytest.mark.slow] * (n in ("float64", "flatten"))) for n in LAST],
)
def test_changes_tried_on_a_part_and_on_the_whole_module_give_equal_explanations(
    last: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mod = chain(7, LAST[last])
    assert Surroundings.of(mod) is not None
    nearby = answers(mod, target)
    monkeypatch.setattr(change_runner.ChangeRunner, "_may_help", lambda self, trial, call: True)
    assert nearby == answers(mod, target) and nearby


def test_part_keeps_nearby_calls_and_constants() -> None:
    weight = relay.transpose(relay.const(np.ones((3, 3, 8, 8), np.float32)), axes=(3, 2, 0, 1))
    for _ in range(2 * NEAR):
        weight = relay.negative(weight)  # a long path of constants
    mod = chain(13, lambda x: relay.exp(nn.conv2d(x, weight, padding=(1, 1))))
    around = Surroundings.of(mod)
    assert around is not None
    calls = [n for n in post_order(mod["main"].body) if isinstance(n, Call)]
    (conv,) = [c for c in calls if c.is_op("nn.conv2d") and isinstance(c.args[1], Call)]
    part, there = around.part(conv)
    assert there in set(post_order(part["main"].body)) and there.checked_type == conv.checked_type
    names = [n.op_name for n in post_order(part["main"].body) if isinstance(n, Call)]
    assert names.count("negative") == 2 * NEAR and "transpose" in names and "exp" in names
    assert 0 < len(names) - 2 * NEAR <= NEAR + 1


def test_value_used_outside_the_part_is_a_result_of_the_part() -> None:
    """This prevents a pattern from matching across it."""
    x = relay.var("x", shape=(1, 8, 8, 8))
    conv = nn.conv2d(x, relay.const(np.ones((8, 8, 3, 3), np.float32)), padding=(1, 1))
    value = nn.relu(conv)
    for _ in range(2 * NEAR):
        value = relay.tanh(value)
    mod = infer_module(IRModule.from_expr(relay.Function([x], relay.add(value, conv))))
    around = Surroundings.of(mod)
    assert around is not None
    convolution = next(n for n in post_order(mod["main"].body) if isinstance(n, Call))
    part, there = around.part(convolution)
    users = [n for n in post_order(part["main"].body) if there in n.parts()]
    assert len(users) == 2


def test_part_whose_call_stays_on_the_host_is_not_partitioned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = {MergeComposite: 0, PartitionGraph: 0}
    for kind in runs:

        def counted(self: Any, *args: Any, kind: Any = kind, run: Any = kind.run) -> IRModule:
            runs[kind] += 1
            result: IRModule = run(self, *args)
            return result

        monkeypatch.setattr(kind, "run", counted)
    found = byoc_lab.explain(chain(13, LAST["erf"]), "dnnl")
    assert all(group.change is None for group in found.groups)
    assert runs[MergeComposite] > 1 and runs[PartitionGraph] == 1


def test_part_with_an_ill_typed_edit_is_none() -> None:
    mod = chain(13, lambda x: relay.exp(x))
    last = nn.batch_norm(mod["main"].body, *(relay.var(n, shape=(8,)) for n in "abcd"), axis=-3)
    around = Surroundings.of(IRModule.from_expr(last[0]))
    assert around is not None
    assert around.part(mod["main"].body) is None


def test_changes_of_small_modules_and_modules_with_functions_are_tried_on_the_whole() -> None:
    assert Surroundings.of(chain(2, LAST["erf"])) is None
    whole = chain(13, LAST["erf"])
    assert Surroundings.of(byoc_lab.trace(whole, "dnnl").result) is None


def test_runs_with_a_change_share_common_stages() -> None:
    """A pass runs once on each module: before the changed pass, and after a pass without effect."""
    met: list[Any] = []

    def first(mod: IRModule) -> IRModule:
        met.append(mod.functions)
        return mod

    def last(mod: IRModule) -> IRModule:
        met.append(mod.functions)
        return mod

    own = [first, *byoc_lab.passes.named_pipeline("dnnl"), last]
    mod = infer_module(IRModule.from_expr(relay.erf(nn.bias_add(
        relay.var("x", shape=(2, 3)), relay.var("b", shape=(3,))
    ))))  # fmt: skip
    setup = Setup.of(mod, own)
    run = setup.run("dnnl")
    same = setup.with_pass(len(setup.passes) - 1, make_pass("FoldConstant"))
    again = same.run("dnnl", run.known)
    both = (run.trace.initial, run.trace.final)
    assert met == [mod.functions for mod in both]  # no pass ran a second time on the same module
    assert [s.index for s in again.trace.stages] == list(range(len(run.trace.stages) + 1))
    assert [s.name for s in again.trace.stages] == [s.name for s in same.run("dnnl").trace.stages]
    assert again.trace.final is run.trace.final
    (call,) = (c for c in run.calls if c.op_name == "erf")
    assert again.images(call) == run.images(call) != ()


def test_shared_run_repeats_unusual_answers_and_errors() -> None:
    mod = infer_module(IRModule.from_expr(relay.erf(relay.var("x", shape=(2, 3)))))

    def fails(mod: IRModule) -> IRModule:
        raise PassError("this pass always fails")

    odd = MergeComposite([("npu.erf", is_op("erf")(wildcard()), lambda match: relay.const(False))])
    setup = Setup.of(mod, [odd, "FoldConstant"])
    run = setup.run("npu")
    assert run.remarks and setup.run("npu", run.known).remarks == run.remarks
    for _ in range(2):
        with pytest.raises(PassError, match="always fails"):
            Setup.of(mod, [odd, fails]).run("npu", run.known)


MATMUL = "nn.batch_matmul"


def test_untyped_values_after_an_edited_call_are_not_parameters() -> None:
    """Their type may change, so such a change is tried on the whole module."""
    x = relay.var("x", shape=(3, 4, 4))
    call = total = nn.batch_matmul(x, relay.exp(x), transpose_b=True)
    for _ in range(NEAR):
        total = (total + relay.tanh(relay.exp(call))) * call
    mod = infer_module(IRModule.from_expr(relay.erf(total)))
    (typed,) = (n for n in post_order(mod["main"]) if isinstance(n, Call) and n.is_op(MATMUL))
    ((what, (edited, calls), _),) = other_attributes(mod, typed)
    around = Surroundings.of(edited)
    assert what == "transpose_b=False" and around is not None
    assert around.part(calls[typed]) is None
