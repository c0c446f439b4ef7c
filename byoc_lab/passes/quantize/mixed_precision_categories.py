"""Which operators ToMixedPrecision computes in a narrow dtype: the category of each.

ALWAYS: they gain from it, such as convolutions and matrix products. NEVER: they lose accuracy, such
as softmax and sums. FOLLOW: they compute in the dtype of their operands. An operator without an
entry here has no category; `relay.op.register_mixed_precision_conversion` gives it one.

Source: python/tvm/relay/transform/mixed_precision.py of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable

from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.op import register_mixed_precision_conversion

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = range(3)
FLOAT16_LIMIT = 65504.0
Conversion = Callable[[Call, str], "list[int | str]"]

DEFAULT_ALWAYS_LIST = (
    "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.batch_matmul",
)  # fmt: skip
DEFAULT_FOLLOW_LIST = (
    # They move values or create new ones.
    "nn.pad", "nn.batch_flatten", "concatenate", "zeros", "split", "squeeze", "transpose",
    "expand_dims", "reshape", "dyn.reshape", "broadcast_to_like", "dyn.broadcast_to",
    "strided_slice", "dyn.strided_slice", "take", "argwhere", "where", "tile", "dyn.tile",
    "scatter_elements", "scatter_nd", "full", "dyn.full", "nn.depth_to_space", "image.resize2d",
    # They compare and cast.
    "less", "greater", "less_equal", "greater_equal", "copy", "cast", "cast_like", "shape_of",
    # Arithmetic that stays in range.
    "add", "subtract", "multiply", "divide", "nn.bias_add", "nn.batch_norm", "sqrt", "max", "min",
    "maximum", "minimum", "argmax", "argmin",
    # Activations, some of which saturate early.
    "nn.relu", "nn.leaky_relu", "nn.prelu", "nn.dropout", "sigmoid", "tanh",
    # Windows.
    "nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d",
    "nn.avg_pool3d", "nn.global_max_pool2d", "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d",
    "nn.adaptive_max_pool3d",
)  # fmt: skip
DEFAULT_NEVER_LIST = (
    # Their results are much greater than their operands, or sums of many terms.
    "exp", "power", "nn.softmax", "nn.l2_normalize", "erf", "nn.global_avg_pool2d",
    "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "sum", "mean",
    "variance", "nn.layer_norm",
    # The end of a range may be beyond the range of float16.
    "arange",
)  # fmt: skip


def _of_category(category: int) -> Conversion:
    return lambda call, dtype: [category, dtype, dtype]


for _category, _names in enumerate((DEFAULT_ALWAYS_LIST, DEFAULT_FOLLOW_LIST, DEFAULT_NEVER_LIST)):
    for _name in _names:
        register_mixed_precision_conversion(_name, _of_category(_category))


def _clip(call: Call, dtype: str) -> list[int | str]:
    """Bounds beyond the range of float16 are kept in float32."""
    assert call.attrs is not None
    bounds = (call.attrs.a_min, call.attrs.a_max)
    beyond = dtype == "float16" and any(abs(b) > FLOAT16_LIMIT for b in bounds)
    return [MIXED_PRECISION_NEVER if beyond else MIXED_PRECISION_FOLLOW, dtype, dtype]


register_mixed_precision_conversion("clip", _clip)
