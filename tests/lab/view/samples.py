"""Traces for tests of the view: a malformed chain of two blocks, and MobileNet."""

from __future__ import annotations

from functools import cache
from typing import Any

from byoc_lab import relay
from byoc_lab.lab.tracing import Trace, trace
from byoc_lab.passes import PassContext
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay import nn
from byoc_lab.relay.analysis.annotations import begin, end
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard
from byoc_lab.relay.typing.infer import infer_module


def network(blocks: int = 2) -> relay.IRModule:
    """`blocks` times convolution, batch norm, relu; 16 channels, weights without types."""
    x: relay.Expr = relay.var("data", shape=(1, 3, 8, 8))
    for n in range(1, blocks + 1):
        weight = relay.var(f"layer{n}_weight")
        norm = [relay.var(f"layer{n}_bn_{p}") for p in ("gamma", "beta", "mean", "var")]
        x = nn.conv2d(x, weight, kernel_size=(3, 3), channels=16, padding=(1, 1))
        x = nn.relu(nn.batch_norm(x, *norm)[0])
    return relay.IRModule.from_expr(x)


class Annotate:
    """Annotates blocks of conv2d, batch_norm and relu as regions.

    Without `fixed`, only variables get a begin: the edge between two regions has none.
    """

    name = "Annotate"

    def __init__(self, fixed: bool):
        self.fixed = fixed

    def __call__(self, mod: relay.IRModule) -> relay.IRModule:
        fixed = self.fixed

        class Annotator(relay.ExprMutator):
            def visit_call(self, call: relay.Call) -> relay.Expr:
                args = [self.visit(a) for a in call.args]
                if call.op.name in ("nn.conv2d", "nn.batch_norm"):
                    outside = [
                        isinstance(a, relay.Var) or (fixed and call.op.name == "nn.conv2d")
                        for a in args
                    ]
                    args = [
                        begin(a, "dnnl") if out else a for a, out in zip(args, outside, strict=True)
                    ]
                made = relay.Call(call.op, args, call.attrs, call.type_args)
                return end(made, "dnnl") if call.op.name == "nn.relu" else made

        out = mod.copy()
        out["main"] = Annotator().visit(mod["main"])
        return infer_module(out)


def annotated(fixed: bool, blocks: int = 2) -> relay.IRModule:
    return Annotate(fixed)(InferType()(network(blocks)))


@cache
def chain(fixed: bool = False, blocks: int = 2) -> Trace:
    """A trace of the first thread's chain; PartitionGraph fails unless `fixed`."""
    passes = [InferType(), Annotate(fixed), PartitionGraph()]
    return trace(network(blocks), passes, title="Conv, batch norm, relu")


def pattern_table() -> list[tuple[str, DFPattern]]:
    conv = is_op("nn.conv2d")(wildcard(), wildcard())
    return [("dnnl.conv2d_bias_relu", is_op("nn.relu")(is_op("add")(conv, wildcard())))]


@cache
def mobilenet() -> Trace:
    """MobileNet v1 through the usual passes, with one region per operator."""
    mod, params = relay.testing.mobilenet.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    passes = [
        InferType(),
        SimplifyInference(),
        FoldConstant(),
        FoldScaleAxis(),
        MergeComposite(pattern_table()),
        AnnotateTarget("dnnl"),
        PartitionGraph(),
    ]
    with PassContext(opt_level=3):
        return trace(mod, passes, title="MobileNet v1")


def lists(data: Any) -> Any:
    """The data with tuples replaced by lists, as in JSON."""
    if isinstance(data, dict):
        return {key: lists(value) for key, value in data.items()}
    return [lists(each) for each in data] if isinstance(data, (list, tuple)) else data
