"""The case of the batch norm that is decomposed inside a region."""

from __future__ import annotations

import numpy as np

from byoc_lab.errors import PartitionError
from byoc_lab.lessons.cases.base import LiveCase, Symptom
from byoc_lab.lessons.cases.nested_partition import functions_inside, network
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

WANTED = frozenset({"nn.conv2d", "nn.batch_norm", "add", "nn.relu"})
"""The operators of a region whose batch norm is kept, or folded into the convolution."""


class BatchNorm(LiveCase):
    """SimplifyInference runs after the annotation, and decomposes a batch norm inside its region.

    The author wants conv2d, batch norm and relu in one region. SimplifyInference, which every build
    runs, replaces the batch norm by a dozen operators on its statistics. Their constants have no
    begin, so PartitionGraph refuses the module. PartitionGraph of January 2020 gives the back end a
    region full of sqrt, divide and expand_dims. FoldConstant and FoldScaleAxis cannot help any
    more, because they do not look into a region. The fix is the order: first decompose and fold,
    then annotate. Only conv2d, add and relu are then left to annotate.
    """

    name = "batch-norm"
    title = "A batch norm is decomposed inside a region"
    reference = (
        'TVM forum, "[External codegen] How to prevent batch norm from being decomposed?", '
        "January 2020"
    )
    link = "https://discuss.tvm.apache.org"
    era = 'all; `era="2020-01"` shows the region'
    fix = (
        "Run SimplifyInference, FoldConstant, FoldScaleAxis and FoldConstant before the annotation."
    )
    cause = "BYL015"
    codes = ("BYL015",)

    def plain(self) -> IRModule:
        return _run([])

    def module(self) -> IRModule:
        return _run([*_annotation(), SimplifyInference()])

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph(era="2020-01")(mod)
        for region in functions_inside(partitioned["main"]):
            calls = (n for n in post_order(region) if isinstance(n, Call))
            surplus = {c.op.name for c in calls if isinstance(c.op, Op)} - WANTED
            if surplus:
                return Symptom(
                    f"region {region.attrs['ExternalSymbol']} has {', '.join(sorted(surplus))} in "
                    "place of nn.batch_norm",
                    partitioned,
                    _refusal(mod),
                )
        return None

    def fixed(self) -> IRModule:
        return _run(
            [SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant(), *_annotation()]
        )


def _refusal(mod: IRModule) -> PartitionError | None:
    """The error of today's PartitionGraph for the module; None if it succeeds."""
    try:
        PartitionGraph()(mod)
    except PartitionError as error:
        return error
    return None


def _annotation() -> list[Pass]:
    return [AnnotateTarget("dnnl"), MergeCompilerRegions(), InferType()]


def _run(passes: list[Pass]) -> IRModule:
    """The network of the case, with its weights as constants, after the given passes."""
    mod = network(blocks=1, size=16)
    random = np.random.RandomState(0)
    weights = {
        p.name_hint: random.uniform(0.5, 1.5, p.checked_type.shape).astype("float32")
        for p in mod["main"].params
        if p.name_hint != "data"
    }
    mod["main"] = bind_params_by_name(mod["main"], weights)
    with PassContext(opt_level=3):
        return Sequential([InferType(), *passes])(mod)
