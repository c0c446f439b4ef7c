"""cuDNN: softmaxes, convolutions, and convolutions with bias and relu."""

from __future__ import annotations

from byoc_lab.backends.registry import Entry, Refused, register
from byoc_lab.compat.integrations.matched import has_attributes, is_tensor_of
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern, is_op, wildcard

NAME = "cudnn"
DTYPES = ("float64", "float32", "float16")


def takes_softmax(match: Call) -> bool | Refused:
    """Whether cuDNN supports a softmax: of floats."""
    return is_tensor_of(match.args[0], DTYPES)


def takes_log_softmax(match: Call) -> bool | Refused:
    """Whether cuDNN supports a log_softmax: along the rows of a matrix."""
    return is_tensor_of(match.args[0], DTYPES, ranks=(2,)) and has_attributes(match, axis=(1, -1))


def takes_conv2d(match: Call) -> bool | Refused:
    """Whether cuDNN supports a convolution: floats, NCHW, equal padding on opposite sides."""
    answer = is_tensor_of(match.args[0], DTYPES) and has_attributes(
        match, data_layout="NCHW", kernel_layout="OIHW"
    )
    if not answer:
        return answer
    top, left, bottom, right = match.attrs.padding
    if (top, left) != (bottom, right):
        return Refused(f"opposite sides must have equal padding, found {match.attrs.padding}")
    return True


def takes_any(match: Call) -> bool:
    """Always true: TVM accepts a biased convolution with any dtype and layout."""
    return True


def pattern_table() -> list[Entry]:
    """(name, pattern, check) of each pattern that cuDNN supports."""

    def conv2d() -> DFPattern:
        return is_op("nn.conv2d")(wildcard(), wildcard())

    biased = is_op("nn.bias_add")(conv2d(), wildcard())
    return [
        (f"{NAME}.softmax", is_op("nn.softmax")(wildcard()), takes_softmax),
        (f"{NAME}.log_softmax", is_op("nn.log_softmax")(wildcard()), takes_log_softmax),
        (f"{NAME}.conv2d_bias_act", biased.optional(is_op("nn.relu")), takes_any),
        (f"{NAME}.conv2d", conv2d(), takes_conv2d),
    ]


def pipeline() -> list[Pass]:
    """The passes of `partition_for_cudnn`: every match becomes a separate region."""
    return [
        InferType(),
        MergeComposite(pattern_table()),
        AnnotateTarget(NAME),
        PartitionGraph(),
        InferType(),
    ]


def partition_for_cudnn(mod: IRModule) -> IRModule:
    """Move the operators that cuDNN supports into external functions."""
    return Sequential(pipeline(), name="partition_for_cudnn")(mod)


register(NAME, patterns=pattern_table, pipeline=pipeline)
