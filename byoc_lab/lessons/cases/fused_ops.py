"""The case of operators that a library fuses but a partition separates."""

from __future__ import annotations

import numpy as np

from byoc_lab import backends, relay
from byoc_lab.lessons.cases.base import ExpectedDiagnosis, LiveCase, Symptom, patterns_say
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.relay.ir.module import IRModule

NAME = "dnnl"


class FusedOps(LiveCase):
    """conv2d, bias and relu reach the library one by one, although it has one kernel for them.

    oneDNN computes the bias and the activation inside the convolution. Annotated one by one, each
    operator becomes a separate region and kernel call, and results pass through memory in between:
    correct, but slow. The thread proposed a codegen that recognises the sequence. The later fix is
    a pattern table: MergeComposite puts each match into a composite function, and the codegen only
    checks the function's name.
    """

    name = "fused-ops"
    title = "conv2d, bias and relu are three regions instead of one fused kernel"
    reference = (
        "apache/tvm pull request 4741, "
        '"[External codegen] Add test cases for fused ops with manual annotation", January 2020'
    )
    link = "https://github.com/apache/tvm/pull/4741"
    era = "all"
    fix = "Run MergeComposite with a pattern for the sequence before AnnotateTarget."
    cause = "matches"

    def plain(self) -> IRModule:
        return network()

    def module(self) -> IRModule:
        return _annotated([])

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph()(mod)
        regions = [f for f in partitioned.functions.values() if f.attrs.get("Compiler") == NAME]
        if len(regions) < 2:
            return None
        return Symptom(f"{NAME} is called {len(regions)} times for one fused kernel", partitioned)

    def diagnosis(self) -> ExpectedDiagnosis:
        table = [e for e in backends.get(NAME).patterns() if e[0] == f"{NAME}.conv2d_bias_relu"]
        return patterns_say(table, self.plain())

    def fixed(self) -> IRModule:
        return _annotated([MergeComposite(backends.get(NAME).patterns())])


def network(size: int = 16) -> IRModule:
    """A conv2d with constant weights, an added bias, and relu."""
    random = np.random.RandomState(0)
    weight = relay.const(random.uniform(-1, 1, (8, 3, 3, 3)).astype("float32"))
    bias = relay.const(random.uniform(-1, 1, (8, 1, 1)).astype("float32"))
    data = relay.var("data", shape=(1, 3, size, size))
    conv = relay.nn.conv2d(data, weight, channels=8, kernel_size=(3, 3), padding=(1, 1))
    return InferType()(IRModule.from_expr(relay.nn.relu(relay.add(conv, bias))))


def _annotated(preparation: list[Pass]) -> IRModule:
    return Sequential([*preparation, AnnotateTarget(NAME), InferType()])(network())
