"""Signatures of TVM 0.16's Python functions, for `test_builders.py`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from byoc_lab.relay.ir.attrs import ATTRS_TYPES

EXTENDED = {f"qnn.op.{name}" for name in ("quantize", "add", "subtract", "mul")}
BEYOND_TVM = {f.name for ty in ATTRS_TYPES.values() for f in ty.fields if f.beyond_tvm}


def as_tvm(function: Callable[..., Any], name: str) -> str:
    """The signature of a function, without annotations and, at the end, without the parameters of
    `name` that only byoc_lab has."""
    parameters = list(inspect.signature(function).parameters.values())
    while name in EXTENDED and parameters[-1].name in BEYOND_TVM:
        parameters.pop()
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in parameters]
    return str(inspect.Signature(bare))


# inspect.signature of each function in TVM 0.16.
SIGNATURES = {
    "nn.conv2d": "(data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, "
    "channels=None, kernel_size=None, data_layout='NCHW', kernel_layout='OIHW', out_layout='', "
    "out_dtype='')",
    "nn.batch_norm": "(data, gamma, beta, moving_mean, moving_var, axis=1, epsilon=1e-05, "
    "center=True, scale=True)",
    "nn.relu": "(data)",
    "nn.leaky_relu": "(data, alpha=0.01)",
    "nn.prelu": "(data, alpha, axis=1)",
    "nn.bias_add": "(data, bias, axis=1)",
    "nn.dense": "(data, weight, units=None, out_dtype='')",
    "nn.batch_matmul": "(tensor_a, tensor_b, out_dtype='', transpose_a=False, transpose_b=True)",
    "nn.softmax": "(data, axis=-1)",
    "nn.log_softmax": "(data, axis=-1)",
    "nn.batch_flatten": "(data)",
    "nn.max_pool2d": "(data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), "
    "layout='NCHW', out_layout='', ceil_mode=False)",
    "nn.avg_pool2d": "(data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), "
    "layout='NCHW', out_layout='', ceil_mode=False, count_include_pad=False)",
    "nn.global_avg_pool2d": "(data, layout='NCHW', out_layout='')",
    "nn.dropout": "(data, rate=0.5)",
    "nn.layer_norm": "(data, gamma, beta, axis=-1, epsilon=1e-05, center=True, scale=True)",
    "nn.group_norm": "(data, gamma, beta, num_groups, axis=1, epsilon=1e-05, center=True, "
    "scale=True)",
    "nn.instance_norm": "(data, gamma, beta, axis=1, epsilon=1e-05, center=True, scale=True)",
    "nn.l2_normalize": "(data, eps, axis=None)",
    "nn.pad": "(data, pad_width, pad_value=0, pad_mode='constant')",
    "clip": "(a, a_min, a_max)",
    "cast": "(data, dtype)",
    "expand_dims": "(data, axis, num_newaxis=1)",
    "reshape": "(data, newshape, allowzero=False)",
    "squeeze": "(data, axis=None)",
    "transpose": "(data, axes=None)",
    "concatenate": "(data, axis)",
    "split": "(data, indices_or_sections, axis=0)",
    "repeat": "(data, repeats, axis)",
    "zeros": "(shape, dtype)",
    "ones": "(shape, dtype)",
    "full": "(fill_value, shape=(), dtype='')",
    "zeros_like": "(data)",
    "sum": "(data, axis=None, keepdims=False, exclude=False)",
    "mean": "(data, axis=None, keepdims=False, exclude=False)",
    "variance": "(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None)",
    "std": "(data, axis=None, keepdims=False, exclude=False, unbiased=False)",
    "add": "(lhs, rhs)",
    "logical_not": "(data)",
    "annotation.compiler_begin": "(data, compiler)",
    "annotation.stop_fusion": "(data)",
    "nn.conv1d": (
        "(data, weight, strides=1, padding=0, dilation=1, groups=1, channels=None, "
        "kernel_size=None, data_layout='NCW', kernel_layout='OIW', out_layout='', "
        "out_dtype='')"
    ),
    "nn.conv3d": (
        "(data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), "
        "groups=1, channels=None, kernel_size=None, data_layout='NCDHW', "
        "kernel_layout='OIDHW', out_layout='', out_dtype='')"
    ),
    "nn.conv1d_transpose": (
        "(data, weight, strides=(1,), padding=(0,), dilation=(1,), groups=1, "
        "channels=None, kernel_size=None, data_layout='NCW', kernel_layout='IOW', "
        "out_layout='', output_padding=(0,), out_dtype='')"
    ),
    "nn.conv2d_transpose": (
        "(data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, "
        "channels=None, kernel_size=None, data_layout='NCHW', kernel_layout='IOHW', "
        "out_layout='', output_padding=(0, 0), out_dtype='')"
    ),
    "nn.conv3d_transpose": (
        "(data, weight, strides=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), "
        "groups=1, channels=None, kernel_size=None, data_layout='NCDHW', "
        "kernel_layout='IODHW', out_layout='', output_padding=(0, 0, 0), out_dtype='')"
    ),
    "nn.max_pool1d": (
        "(data, pool_size=(1,), strides=(1,), dilation=(1,), padding=(0,), layout='NCW', "
        "out_layout='', ceil_mode=False)"
    ),
    "nn.avg_pool1d": (
        "(data, pool_size=(1,), strides=(1,), dilation=(1,), padding=(0,), layout='NCW', "
        "out_layout='', ceil_mode=False, count_include_pad=False)"
    ),
    "nn.max_pool3d": (
        "(data, pool_size=(1, 1, 1), strides=(1, 1, 1), dilation=(1, 1, 1), padding=(0, "
        "0, 0), layout='NCDHW', out_layout='', ceil_mode=False)"
    ),
    "nn.avg_pool3d": (
        "(data, pool_size=(1, 1, 1), strides=(1, 1, 1), dilation=(1, 1, 1), padding=(0, "
        "0, 0), layout='NCDHW', out_layout='', ceil_mode=False, count_include_pad=False)"
    ),
    "nn.adaptive_avg_pool1d": ("(data, output_size=None, layout='NCW', out_layout='')"),
    "nn.adaptive_max_pool1d": ("(data, output_size=None, layout='NCW', out_layout='')"),
    "nn.adaptive_avg_pool2d": ("(data, output_size=None, layout='NCHW', out_layout='')"),
    "nn.adaptive_max_pool2d": ("(data, output_size=None, layout='NCHW', out_layout='')"),
    "nn.adaptive_avg_pool3d": ("(data, output_size=None, layout='NCDHW', out_layout='')"),
    "nn.adaptive_max_pool3d": ("(data, output_size=None, layout='NCDHW', out_layout='')"),
    "nn.global_max_pool1d": ("(data, layout='NCW', out_layout='')"),
    "nn.global_avg_pool1d": ("(data, layout='NCW', out_layout='')"),
    "nn.global_avg_pool3d": ("(data, layout='NCDHW', out_layout='')"),
    "nn.global_max_pool3d": ("(data, layout='NCDHW', out_layout='')"),
    "strided_slice": ("(data, begin, end, strides=None, axes=None, slice_mode='end')"),
    "stack": ("(data, axis)"),
    "take": ("(data, indices, axis=None, batch_dims=0, mode='clip')"),
    "gather": ("(data, axis, indices)"),
    "gather_nd": ("(data, indices, batch_dims=0, index_rank=None)"),
    "one_hot": ("(indices, on_value, off_value, depth, axis, dtype)"),
    "arange": ("(start, stop=None, step=None, dtype='float32')"),
    "full_like": ("(data, fill_value)"),
    "broadcast_to": ("(data, shape)"),
    "broadcast_to_like": ("(data, broadcast_type)"),
    "reshape_like": ("(data, shape_like, lhs_begin=0, lhs_end=None, rhs_begin=0, rhs_end=None)"),
    "tile": ("(data, reps)"),
    "where": ("(condition, x, y)"),
    "reverse": ("(data, axis)"),
    "argmax": ("(data, axis=None, keepdims=False, exclude=False, select_last_index=False)"),
    "argmin": ("(data, axis=None, keepdims=False, exclude=False, select_last_index=False)"),
    "all": ("(data, axis=None, keepdims=False, exclude=False)"),
    "any": ("(data, axis=None, keepdims=False, exclude=False)"),
    "topk": ("(data, k=1, axis=-1, ret_type='both', is_ascend=False, dtype='int32')"),
    "argsort": ("(data, axis=-1, is_ascend=1, dtype='int32')"),
    "sort": ("(data, axis=-1, is_ascend=1)"),
    "layout_transform": ("(data, src_layout, dst_layout)"),
    "image.resize2d": (
        "(data, size, roi=None, layout='NCHW', method='linear', "
        "coordinate_transformation_mode='half_pixel', rounding_method='', "
        "cubic_alpha=-0.5, cubic_exclude=0, extrapolation_value=0.0, out_dtype=None)"
    ),
    "nn.upsampling": (
        "(data, scale_h=1, scale_w=1, layout='NCHW', method='nearest_neighbor', "
        "align_corners=False)"
    ),
    "nn.matmul": (
        "(tensor_a, tensor_b, units=None, out_dtype='', transpose_a=False, transpose_b=False)"
    ),
    "cumsum": ("(data, axis=None, dtype=None, exclusive=None)"),
    "cumprod": ("(data, axis=None, dtype=None, exclusive=None)"),
    "bitwise_and": ("(lhs, rhs)"),
    "bitwise_or": ("(lhs, rhs)"),
    "bitwise_xor": ("(lhs, rhs)"),
    "bitwise_not": ("(data)"),
    "logical_xor": ("(lhs, rhs)"),
    "left_shift": ("(lhs, rhs)"),
    "right_shift": ("(lhs, rhs)"),
    "floor_divide": ("(lhs, rhs)"),
    "floor_mod": ("(lhs, rhs)"),
    "mod": ("(lhs, rhs)"),
    "trunc": ("(data)"),
    "trunc_divide": ("(lhs, rhs)"),
    "trunc_mod": ("(lhs, rhs)"),
    "qnn.op.quantize": ("(data, output_scale, output_zero_point, axis=-1, out_dtype='int8')"),
    "qnn.op.dequantize": ("(data, input_scale, input_zero_point, axis=-1, out_dtype='float32')"),
    "qnn.op.requantize": (
        "(data, input_scale, input_zero_point, output_scale, output_zero_point, axis=-1, "
        "rounding='None', compute_dtype='None', out_dtype='int8')"
    ),
    "qnn.op.conv2d": (
        "(data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale, "
        "kernel_size, channels, strides=(1, 1), padding=(0, 0), dilation=(1, 1), "
        "groups=1, data_layout='NCHW', kernel_layout='OIHW', out_layout='', "
        "out_dtype='int32')"
    ),
    "qnn.op.dense": (
        "(data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale, "
        "units, out_dtype='int32')"
    ),
    "qnn.op.add": (
        "(lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, "
        "output_zero_point, lhs_axis=-1, rhs_axis=-1)"
    ),
    "qnn.op.subtract": (
        "(lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, "
        "output_zero_point, lhs_axis=-1, rhs_axis=-1)"
    ),
    "qnn.op.mul": (
        "(lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, output_scale, "
        "output_zero_point, lhs_axis=-1, rhs_axis=-1)"
    ),
    "qnn.op.concatenate": (
        "(data, input_scales, input_zero_points, output_scale, output_zero_point, axis)"
    ),
    "device_copy": ("(data, src_device, dst_device)"),
    "nn.depth_to_space": ("(data, block_size, layout='NCHW', mode='DCR')"),
    "nn.space_to_depth": ("(data, block_size, layout='NCHW')"),
    "nn.fast_softmax": ("(data, axis=-1)"),
    "log2": ("(data)"),
    "log10": ("(data)"),
    "tan": ("(data)"),
    "asin": ("(data)"),
    "acos": ("(data)"),
    "atan": ("(data)"),
    "sinh": ("(data)"),
    "cosh": ("(data)"),
    "isnan": ("(data)"),
    "isfinite": ("(data)"),
    "isinf": ("(data)"),
    "logsumexp": ("(data, axis=None, keepdims=False)"),
    "cast_like": ("(data, dtype_like)"),
    "slice_like": ("(data, shape_like, axes=None)"),
    "shape_of": ("(data, dtype='int32')"),
}
