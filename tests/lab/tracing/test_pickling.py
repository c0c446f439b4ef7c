"""Pickled traces: they are complete, and shared nodes are stored once."""

from __future__ import annotations

import pickle

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import FreeVariableError, ParseError
from byoc_lab.lab.tracing import Trace
from byoc_lab.lessons import mobilenet
from byoc_lab.lessons.cases import nested_partition
from byoc_lab.passes import PassContext, module_pass
from byoc_lab.relay import Constant, IRModule, structural_equal
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from tests.lab.tracing.test_trace import NEVER_CLOSED

LETS = """
type List[A] { Cons(A, List[A]), Nil }
def @head[A](%l: List[A], %d: A) -> A { match (%l) { Cons(%h, _) => %h, Nil => %d } }
def @main(%x: Tensor[(2, 2), float32]) {
  let %r = ref(%x);
  let %f = fn (%p: Tensor[(2, 2), float32]) { add(%p, %r^) };
  if (min(%x) < 0f) { %f(nn.relu(%x)) } else { @head(Cons(%x, Nil), %x) }
}
"""


def _again(trace: Trace) -> Trace:
    made: Trace = pickle.loads(pickle.dumps(trace))
    assert made.title == trace.title
    assert [repr(s) for s in made] == [repr(s) for s in trace]
    for stage, old in zip(made, trace, strict=True):
        assert structural_equal(stage.before, old.before)
        assert str(stage.events) == str(old.events)
        assert (stage.seconds, stage.skipped, stage.group) == (old.seconds, old.skipped, old.group)
        if old.after is not None and not old.skipped:
            replayed = [infer_module(t.state_after(len(t.events))) for t in (stage, old)]
            assert structural_equal(*replayed)
    for stage, following in zip(made, list(made)[1:], strict=False):
        assert following.before is stage.after, "stages share their modules"
    return made


def test_pickled_mobilenet_is_little_larger_than_its_constants() -> None:
    trace = byoc_lab.trace(mobilenet.module(224))
    repr(trace), trace["PartitionGraph"].findings_after  # values computed on demand are not pickled
    modules = [m for s in trace for m in (s.before, s.after) if m is not None]
    functions = [f for m in modules for f in m.functions.values()]
    data = {id(n.data): n.data for n in post_order(*functions) if isinstance(n, Constant)}
    constants = sum(array.numpy().nbytes for array in data.values())
    size = len(pickle.dumps(trace))
    assert constants <= size < constants + 2_000_000 < 100_000_000
    _again(trace)


def test_traces_of_lets_and_nested_partitions_are_pickled() -> None:
    mod = relay.parse(f'#[version = "0.0.5"]\n{LETS}')
    passes = ["InferType", "ToANormalForm", "ToGraphNormalForm", "ToBasicBlockNormalForm"]
    _again(byoc_lab.trace(mod, passes))
    steps = ["InferType", relay.transform.AnnotateTarget("dnnl"), "PartitionGraph"]
    _again(byoc_lab.trace(nested_partition.network(), steps))


def test_trace_of_a_deep_chain_is_pickled() -> None:
    x: relay.Expr = relay.var("x", shape=(2, 2))
    for _ in range(20_000):
        x = relay.nn.relu(x)
    trace = byoc_lab.trace(IRModule.from_expr(x), ["InferType"])
    again = pickle.loads(pickle.dumps(trace))
    assert structural_equal(again.result, trace.result)


def test_failed_trace_keeps_its_error() -> None:
    mod = relay.parse(f'#[version = "0.0.5"]\n{NEVER_CLOSED}')
    again = _again(byoc_lab.trace(mod, ["InferType", "PartitionGraph"]))
    assert isinstance(again.error, FreeVariableError) and again.error.variables
    assert again.error is again[-1].error

    @module_pass(opt_level=0)
    def parses(mod: IRModule, ctx: PassContext) -> IRModule:
        return relay.parse("no Relay")

    trace = byoc_lab.trace(mod, [parses])
    again = _again(trace)
    assert isinstance(again.error, ParseError)
    assert (str(again.error), again.error.line) == (str(trace.error), 1)
    with pytest.raises(ParseError):
        _ = again.result
