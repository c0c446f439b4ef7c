"""Origins and images of nodes: they are inverse, compose, and pair the nodes of networks
correctly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat.passes import Inline, InlineCompilerFunctionsBoundTo
from byoc_lab.errors import UnknownNodeError
from byoc_lab.lab.tracing import Stage
from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.passes import Pass, PassContext, Sequential, make_pass, module_pass
from byoc_lab.relay import Call, Constant, Expr, Function, IRModule
from byoc_lab.relay.analysis.annotations import BEGIN, is_annotation
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.transform import (
    AnnotateTarget,
    FoldConstant,
    InferType,
    MergeCompilerRegions,
    MergeComposite,
    PartitionGraph,
    SimplifyInference,
)
from tests import strategies
from tests.passes.framework.test_hook import ALL, PIPELINES
from tests.sweeps import some

ONE_BY_ONE = (
    "CanonicalizeOps", "CombineParallelDense", "DeadCodeElimination", "EliminateCommonSubexpr",
    "FastMath", "FoldConstant", "FoldScaleAxis", "FuseOps", "Inline", "LambdaLift",
    "SimplifyExpr", "SimplifyInference", "ToANormalForm", "ToBasicBlockNormalForm",
    "ToGraphNormalForm",
)  # fmt: skip


def check_inverse(stage: Stage) -> None:
    """Images and origins are defined on all nodes, and are inverse to each other."""
    assert stage.after is not None
    before, after = set(nodes_of(stage.before)), set(nodes_of(stage.after))
    forward = {(a, b) for a in before for b in stage.images(a)}
    backward = {(a, b) for b in after for a in stage.origins(b)}
    assert forward == backward
    assert all(a in before and b in after for a, b in forward)


def check_sources(stage: Stage) -> None:
    """Each node has an origin, or a rule created it; a node without a rule is an unchanged one."""
    assert stage.after is not None
    for node in nodes_of(stage.after):
        origins, rule = stage.origins(node), stage.rule_of(node)
        assert origins or rule, f"{stage.name}: {node!r} comes from nowhere"
        if not rule:
            assert any(_same_kind(node, origin) for origin in origins), (stage.name, node, origins)


def _same_kind(node: Expr, origin: Expr) -> bool:
    if isinstance(node, Call) and isinstance(origin, Call):
        return node.op_name == origin.op_name
    return type(node) is type(origin) or isinstance(node, relay.Var)


def check_identities(stage: Stage, count: int) -> None:
    """Each node of a state is a node of the input or of an applied rewrite.

    The last state has each node of the result once.
    """
    state = stage.state_after(count)
    provenance = Provenance(stage.before, state, stage.events, count)
    found = [provenance.position(node) for node in nodes_of(state)]
    made = post_order(*(e.after for e in stage.events[:count] if e.after is not None))
    assert set(found) <= {*nodes_of(stage.before), *made}
    if count == len(stage.events) and stage.after is not None:
        assert len(set(found)) == len(found)
        result = {stage.provenance.position(node) for node in nodes_of(stage.after)}
        assert result == set(found)


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=some(10))
@given(mod=strategies.modules(), data=st.data())
def test_each_node_has_one_identity_in_all_states(
    name: str, mod: IRModule, data: st.DataObject
) -> None:
    for stage in byoc_lab.trace(mod, PIPELINES[name], opt_level=4):
        assert stage.is_reported
        check_identities(stage, len(stage.events))
        check_identities(stage, data.draw(st.integers(0, len(stage.events))))


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=some(10))
@given(mod=strategies.modules())
def test_origins_and_images_are_inverse_on_random_modules(name: str, mod: IRModule) -> None:
    for stage in byoc_lab.trace(mod, ALL[name], opt_level=4):
        check_inverse(stage)
        check_sources(stage)


@pytest.mark.parametrize("name", ONE_BY_ONE)
@settings(max_examples=some(10))
@given(mod=strategies.modules())
def test_origins_of_each_pass_are_complete(name: str, mod: IRModule) -> None:
    for stage in byoc_lab.trace(mod, [name], opt_level=4):
        check_inverse(stage)
        check_sources(stage)


@settings(max_examples=some(40))
@given(
    mod=strategies.modules(),
    names=st.lists(st.sampled_from(ONE_BY_ONE), min_size=2, max_size=4),
)
def test_origins_of_consecutive_passes_compose(mod: IRModule, names: list[str]) -> None:
    """The origins for a pass that runs several passes equal the composed origins of these
    passes."""
    passes = [make_pass(name) for name in names]
    apart = byoc_lab.trace(mod, passes, opt_level=4)
    (whole,) = byoc_lab.trace(mod, [_as_one(passes)], opt_level=4)
    assert whole.after is not None
    for a, b in zip(nodes_of(whole.after), nodes_of(apart.final), strict=True):
        origins = {b}
        for stage in reversed(list(apart)):
            origins = {o for n in origins for o in stage.origins(n)}
        assert set(whole.origins(a)) == origins
        assert origins <= set(apart.history(b).origins)


def _as_one(passes: Sequence[Pass]) -> Pass:
    @module_pass(opt_level=0)
    def whole(mod: IRModule, ctx: PassContext) -> IRModule:
        return Sequential(passes)(mod)

    made: Pass = whole
    return made


# Single passes


def _stage(text: str, *passes: Pass) -> Stage:
    trace = byoc_lab.trace(relay.parse(f'#[version = "0.0.5"]\n{text}'), list(passes))
    assert trace.error is None
    return trace[-1]


NETWORK = """
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1]);
  %1 = nn.relu(%0);
  nn.softmax(%1)
}
"""


def _calls(mod: IRModule, name: str) -> list[Call]:
    nodes = post_order(*mod.functions.values())
    return [n for n in nodes if isinstance(n, Call) and n.op_name == name]


def _call(mod: IRModule, name: str) -> Call:
    (found,) = _calls(mod, name)
    return found


def test_nodes_in_a_composite_originate_from_the_matched_nodes() -> None:
    stage = _stage(NETWORK, InferType(), MergeComposite(byoc_lab.dnnl.pattern_table()))
    assert stage.after is not None
    conv, relu = (_call(stage.before, n) for n in ("nn.conv2d", "nn.relu"))
    assert stage.origins(_call(stage.after, "nn.conv2d")) == (conv,)
    assert stage.origins(_call(stage.after, "nn.relu"))[0] is relu
    (call,) = (n for n in nodes_of(stage.after) if isinstance(n, Call) and not n.op_name)
    assert set(stage.origins(call)) == {conv, relu}
    assert stage.rule_of(call) == "dnnl.conv2d_relu"
    assert isinstance(call.op, Function)
    for param, arg in zip(call.op.params, call.args, strict=True):
        assert stage.origins(param) == stage.origins(arg)


def test_annotations_have_no_origin() -> None:
    stage = _stage(NETWORK, InferType(), AnnotateTarget("dnnl"))
    assert stage.after is not None
    annotations = [n for n in nodes_of(stage.after) if is_annotation(n)]
    assert len(annotations) == 7
    for n in annotations:
        assert stage.origins(n) == ()
        kind = "begin" if is_annotation(n, BEGIN) else "end"
        assert isinstance(n, Call) and n.attrs is not None
        assert stage.rule_of(n) == f"{kind} {n.attrs.compiler}"
    relu = _call(stage.before, "nn.relu")
    assert [n.op_name for n in stage.images(relu) if isinstance(n, Call)] == ["nn.relu"]


def test_region_is_moved_into_a_function() -> None:
    partition = (InferType(), AnnotateTarget("dnnl"), MergeCompilerRegions(), PartitionGraph())
    stage = _stage(NETWORK, *partition)
    assert stage.after is not None
    (external,) = (f for f in stage.after.functions.values() if "Compiler" in f.attrs)
    for name in ("nn.conv2d", "nn.relu"):
        inside = [n for n in post_order(external) if isinstance(n, Call) and n.op_name == name]
        assert stage.images(_call(stage.before, name))[0] is inside[0]
    (call,) = (n for n in nodes_of(stage.after) if isinstance(n, Call) and not n.op_name)
    region = {_call(stage.before, n) for n in ("nn.conv2d", "nn.relu")}
    assert region <= set(stage.origins(call)) == set(stage.origins(external)) | region
    for param, arg in zip(external.params, call.args, strict=True):
        assert stage.origins(arg)[0] in stage.origins(param)


TWO_REGIONS = """
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 1, 1), float32],
          %b: Tensor[(4), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1]);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.conv2d(%1, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1]);
  %3 = nn.bias_add(%2, %b);
  %4 = sin(%3);
  %5 = nn.conv2d(%4, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1]);
  %6 = nn.bias_add(%5, %b);
  %7 = nn.conv2d(%6, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1]);
  nn.bias_add(%7, %b)
}
"""


def test_each_call_of_each_region_has_one_origin() -> None:
    """All rewrite rounds of one region precede the rounds of the next region."""
    partition = (AnnotateTarget("dnnl"), MergeCompilerRegions(), PartitionGraph())
    stage = _stage(
        TWO_REGIONS, InferType(), MergeComposite(byoc_lab.dnnl.pattern_table()), *partition
    )
    assert stage.after is not None
    external = [f for f in stage.after.functions.values() if "Compiler" in f.attrs]
    assert len(external) == 2
    calls = [n for f in external for n in post_order(f) if isinstance(n, Call) and n.op_name]
    assert len(calls) == 8
    for call in calls:
        (origin,) = stage.origins(call)
        assert isinstance(origin, Call) and origin.op_name == call.op_name


def test_origins_of_a_folded_constant_are_its_folded_calls() -> None:
    stage = _stage(
        "def @main(%x: float32) { add(%x, multiply(exp(1f), negative(2f))) }",
        InferType(), FoldConstant(),
    )  # fmt: skip
    assert stage.after is not None
    (folded,) = (n for n in nodes_of(stage.after) if isinstance(n, Constant))
    origins = stage.origins(folded)
    assert {n.op_name for n in origins if isinstance(n, Call)} == {"exp", "multiply", "negative"}
    assert [float(n.numpy()) for n in origins if isinstance(n, Constant)] == [2.0, 1.0]
    assert stage.rule_of(folded) == "evaluate"


def test_inlining_copies_a_body() -> None:
    p, x = relay.var("p", shape=(2,)), relay.var("x", shape=(2,))
    f = relay.GlobalVar("f")
    mod = IRModule({f: relay.Function([p], relay.exp(p)).with_attr("Inline", 1)})
    mod["main"] = relay.Function([x], relay.add(f(x), f(relay.tanh(x))))
    (_, stage) = byoc_lab.trace(mod, [InferType(), Inline()])
    assert stage.after is not None
    (original,) = _calls(stage.before, "exp")
    copies = _calls(stage.after, "exp")
    assert len(copies) == 2 and set(stage.images(original)) == set(copies)
    for copy in copies:
        call = next(c for c in stage.origins(copy) if c is not original)
        assert isinstance(call, Call) and isinstance(call.op, relay.GlobalVar)
        assert stage.images(call) == (copy,)


def test_partitioning_and_inlining_again_leads_to_the_original_call() -> None:
    partition = (InferType(), AnnotateTarget("dnnl"), MergeCompilerRegions(), PartitionGraph())
    back = InlineCompilerFunctionsBoundTo(["tvmgen_default_dnnl_main_0"])
    trace = byoc_lab.trace(relay.parse(f'#[version = "0.0.5"]\n{NETWORK}'), [*partition, back])
    for name in ("nn.conv2d", "nn.relu", "nn.softmax"):
        call, image = _call(trace.initial, name), _call(trace.final, name)
        history = trace.history(call)
        assert history.images[0] is image
        assert trace.history(image).origins[0] is call


def test_decomposed_batch_norm_is_the_origin_of_its_operators() -> None:
    stage = _stage(
        """
        def @main(%x: Tensor[(1, 4, 8, 8), float32], %g: Tensor[(4), float32],
                  %b: Tensor[(4), float32], %m: Tensor[(4), float32], %v: Tensor[(4), float32]) {
          %0 = nn.batch_norm(%x, %g, %b, %m, %v);
          nn.relu(%0.0)
        }
        """,
        InferType(), SimplifyInference(),
    )  # fmt: skip
    assert stage.after is not None
    norm = _call(stage.before, "nn.batch_norm")
    created = [n for n in stage.images(norm) if isinstance(n, Call)]
    assert {"add", "multiply", "sqrt"} <= {n.op_name for n in created}
    assert all(stage.rule_of(n) == "batch_norm" for n in created)


# Incomplete information


def test_pass_without_events_keeps_origins_of_unchanged_nodes() -> None:
    @module_pass(opt_level=0)
    def doubles(mod: IRModule, ctx: PassContext) -> IRModule:
        main = mod["main"]
        return InferType()(
            IRModule.from_expr(
                relay.Function(main.params, relay.add(main.body, main.body), attrs=main.attrs)
            )
        )

    stage = _stage(NETWORK, InferType(), doubles)
    assert stage.after is not None
    for name in ("nn.conv2d", "nn.relu", "nn.softmax"):
        assert stage.origins(_call(stage.after, name)) == (_call(stage.before, name),)
    added = _call(stage.after, "add")
    assert stage.origins(added) == () and stage.rule_of(added) == ""


def test_nodes_of_other_modules_are_refused() -> None:
    stage = _stage(NETWORK, InferType(), FoldConstant())
    with pytest.raises(UnknownNodeError, match=r"nn.relu\(...\) is not a node of the result"):
        stage.origins(relay.nn.relu(relay.var("y")))
    with pytest.raises(UnknownNodeError, match="operators and names of functions have no origins"):
        stage.images(_call(stage.before, "nn.relu").op)
    trace = byoc_lab.trace(stage.before, [FoldConstant()])
    with pytest.raises(UnknownNodeError, match="in no module of the trace"):
        trace.history(relay.var("y"))
