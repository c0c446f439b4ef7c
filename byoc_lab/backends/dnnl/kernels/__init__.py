"""oneDNN kernels to call directly, on NumPy arrays or any CPU tensor with DLPack, of float32 or of
bfloat16 (an array of ml_dtypes, or its bits in uint16), and of integers if a kernel says so.

Each kernel returns `out`, or a new array (on a 64-byte boundary) if `out` is None. Strided
inputs are copied first; `out` must be writable, row-major and must not overlap the inputs. Every
argument is checked before memory is touched: TypeError for a wrong type or dtype, ValueError for a
wrong shape, size or value, naming the argument, what was found and what was expected.

Layouts are NCHW for data and OIHW for weights, as in Relay's operators of the same names.
The formulas are in native/src/ops; they equal oneDNN's formulas for primitives of the same names.

`post_ops` are operations on the result before it is stored, in the same kernel if oneDNN can fuse
them, else in a kernel after it. They are a list of dicts as in native/README.md ({"kind":
"eltwise", "alg": "relu"}, {"kind": "binary", "alg": "add", "input": array}, {"kind": "sum",
"input": array}), with arrays as inputs; the input of a binary post-op may be a number. Every kernel
with a float32 or bfloat16 result accepts post-ops, except `transpose`, `reorder` and `dequantize`.
"""

from byoc_lab.backends.dnnl.kernels.convolution import (
    conv1d,
    conv1d_transpose,
    conv2d,
    conv2d_bias,
    conv2d_bias_relu,
    conv2d_relu,
    conv2d_transpose,
    conv3d,
    conv3d_transpose,
)
from byoc_lab.backends.dnnl.kernels.elementwise import (
    abs,
    add,
    binary,
    clip,
    eltwise,
    elu,
    exp,
    gelu,
    gelu_tanh,
    leaky_relu,
    log,
    mish,
    multiply,
    relu,
    round,
    sigmoid,
    sqrt,
    sum,
    swish,
    tanh,
)
from byoc_lab.backends.dnnl.kernels.matrix import batch_matmul, dense, dense_bias, matmul
from byoc_lab.backends.dnnl.kernels.normalization import (
    batch_norm,
    layer_norm,
    log_softmax,
    softmax,
)
from byoc_lab.backends.dnnl.kernels.pooling import (
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    global_avg_pool1d,
    global_avg_pool2d,
    global_avg_pool3d,
    global_max_pool1d,
    global_max_pool2d,
    global_max_pool3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
)
from byoc_lab.backends.dnnl.kernels.quantized import dequantize, quantize, requantize
from byoc_lab.backends.dnnl.kernels.shape import (
    concatenate,
    reduce,
    reorder,
    resample,
    strided_slice,
    transpose,
)

__all__ = [
    "abs",
    "add",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_matmul",
    "batch_norm",
    "binary",
    "clip",
    "concatenate",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_bias",
    "conv2d_bias_relu",
    "conv2d_relu",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dense_bias",
    "dequantize",
    "eltwise",
    "elu",
    "exp",
    "gelu",
    "gelu_tanh",
    "global_avg_pool1d",
    "global_avg_pool2d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool2d",
    "global_max_pool3d",
    "layer_norm",
    "leaky_relu",
    "log",
    "log_softmax",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mish",
    "multiply",
    "quantize",
    "reduce",
    "relu",
    "reorder",
    "requantize",
    "resample",
    "round",
    "sigmoid",
    "softmax",
    "sqrt",
    "strided_slice",
    "sum",
    "swish",
    "tanh",
    "transpose",
]  # fmt: skip
