"""The C++ code for each family of operations of a graph.

A function gives the lines for one operation; they define its result, `t<id>`. operands: arguments
of the post-ops that are fused into it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from byoc_lab.backends.dnnl.cpp import words
from byoc_lab.backends.dnnl.cpp.tensors import TYPES, Operation, Tensors
from byoc_lab.relay.op.framework.layout import inverse

ROUNDINGS = {"UPWARD": "up", "TONEAREST": "nearest", "TOEVEN": "to_even", "TOZERO": "to_zero"}
STATISTICS = ("SCALE", "SHIFT", "MEAN", "VARIANCE")  # inputs of norms that are always float32
# Operations on quantized numbers, and their default rounding.
QUANTIZED = {
    "quantize": "TONEAREST", "dequantize": "", "requantize": "UPWARD", "qadd": "UPWARD",
}  # fmt: skip


def _conv(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    attrs, inputs, out = op["attrs"], op["inputs"], op["output"]
    transposed = op["kind"].endswith("_transpose")
    axes = int(op["kind"][4])
    strides, gaps, before, after = words.window(attrs, axes)
    if transposed:
        extra = attrs.get("output_padding", [0] * axes)
        after = [a - e for a, e in zip(after, extra, strict=True)]
    groups = attrs.get("groups", 1)
    first, *rest = tensors.shape(inputs[1])
    weights = [first, *rest] if groups == 1 else [groups, first // groups, *rest]
    shapes = f"{words.dims(strides)}, {words.dims(gaps)}"
    sides = f"{words.dims(before)}, {words.dims(after)}"
    taps = tensors.any(inputs[1], weights)
    if transposed:
        return _deconvolution(tensors, op, taps, shapes, sides)
    bias = tensors.plain(inputs[2], [first]) if len(inputs) == 3 else "Desc()"
    lines = [
        "convolution_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    algorithm::convolution_auto, {tensors.any(inputs[0])}, {taps},",
        f"    {bias}, {tensors.any(out)}, {shapes},",
        f"    {sides}, {words.attributes(op)});",
        *_keep_off_faults(tensors, op),
        *_run_weighted(tensors, op, operands),
    ]
    return _exact(tensors, op, _exact_convolution(tensors, op, strides, gaps, before), lines)


def _exact(tensors: Tensors, op: Operation, exact: str, lines: list[str]) -> list[str]:
    """A product of integers runs on oneDNN only if its products are exact on the processor."""
    if tensors.dtype(op["output"]) != "int32":
        return lines
    return [
        "if (onednn_faults::ProductsAreExact()) {",
        *(f"  {line}" for line in lines),
        "} else {",
        f"  t{op['output']} = {exact};",
        "}",
    ]


def _exact_convolution(tensors: Tensors, op: Operation, *window: Sequence[int]) -> str:
    (data, weight, *_), out = op["inputs"], op["output"]
    sides = ", ".join(map(words.dims, window))
    zero = op["attrs"].get("data_zero_point", 0)
    return (
        f"exact_convolution(as(t{data}, {tensors.plain(data)}), as(t{weight}, "
        f"{tensors.plain(weight)}), {tensors.dims(out)}, {sides}, {zero})"
    )


def _deconvolution(
    tensors: Tensors, op: Operation, weights: str, shapes: str, sides: str
) -> list[str]:
    """The bias is added in float32 by a separate primitive."""
    (data, weight, *bias), out = op["inputs"], op["output"]
    result = f"any({tensors.dims(out)})" if bias else tensors.any(out)
    lines = [
        "deconvolution_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    algorithm::deconvolution_direct, {tensors.any(data)}, {weights},",
        f"    {result}, {shapes},",
        f"    {sides}, with(ops));",
        *_run_weighted(tensors, {**op, "inputs": [data, weight]}, []),
    ]
    if bias:
        channels = words.dims([1, tensors.shape(out)[1], *[1] * (len(tensors.shape(out)) - 2)])
        added = f"as(t{bias[0]}, plain({channels}))"
        dims = tensors.dims(out)
        lines.append(
            f"t{out} = as(apply(t{out}, {added}, algorithm::binary_add, {dims}, {channels}, "
            f"{dims}), {tensors.plain(out)});"
        )
    return lines


def _keep_off_faults(tensors: Tensors, op: Operation) -> list[str]:
    data, weight, *_ = op["inputs"]
    strides, gaps, before, after = words.window(op["attrs"], int(op["kind"][4]))
    has_zero = op["attrs"].get("data_zero_point", 0) != 0
    if not tensors.type(data) or not (any([*before, *after]) or has_zero):
        return []
    return [
        "onednn_faults::KeepOffAmx(&desc, onednn_faults::CoversPaddingAlone(",
        f"    {tensors.dims(data)}, {tensors.dims(weight)}, {tensors.dims(op['output'])},",
        f"    {words.dims(strides)}, {words.dims(gaps)}, {words.dims(before)}),",
        f"    {str(has_zero).lower()});",
    ]


def _run_weighted(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    data, weight, *bias = op["inputs"]
    given = [
        f"{{DNNL_ARG_SRC, as(t{data}, desc.src_desc())}}",
        f"{{DNNL_ARG_WEIGHTS, as(t{weight}, desc.weights_desc())}}",
        *(f"{{DNNL_ARG_BIAS, as(t{b}, desc.bias_desc())}}" for b in bias),
        *words.zero_point(op),
        *operands,
    ]
    return [f"t{op['output']} = run(desc, {{{', '.join(given)}}});"]


def _dense(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    inputs, out = op["inputs"], op["output"]
    if tensors.dtype(out) == "int32":
        return _exact(
            tensors, op, _exact_convolution(tensors, op, [], [], []), _integer_dense(tensors, op)
        )
    bias = tensors.plain(inputs[2], [tensors.shape(out)[1]]) if len(inputs) == 3 else "Desc()"
    return [
        "inner_product_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    {tensors.any(inputs[0])}, {tensors.any(inputs[1])}, {bias},",
        f"    {tensors.any(out)}, with(ops));",
        *_run_weighted(tensors, op, operands),
    ]


def _integer_dense(tensors: Tensors, op: Operation) -> list[str]:
    """As a matmul, because only matmul supports zero points; it needs the weight transposed."""
    (data, weight), out = op["inputs"], op["output"]
    given = [
        f"{{DNNL_ARG_SRC, as(t{data}, {tensors.plain(data)})}}",
        "{DNNL_ARG_WEIGHTS, memory(turned, cpu(), rows.get_data_handle())}",
        *words.zero_point(op),
    ]
    return [
        f"memory rows = as(t{weight}, {tensors.plain(weight)});",
        "const Desc turned = rows.get_desc().permute_axes({1, 0});",
        f"matmul::primitive_desc desc(cpu(), {tensors.plain(data)}, turned,",
        f"    {tensors.plain(out)}, {words.attributes(op)});",
        f"t{out} = run(desc, {{{', '.join(given)}}});",
    ]


def _matmul(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    inputs, out = op["inputs"], op["output"]
    rank, lines, seen = len(tensors.shape(out)), [], []
    for name, side, tensor in zip("ab", ("transpose_a", "transpose_b"), inputs, strict=False):
        desc = tensors.plain(tensor, words.padded(tensors.shape(tensor), rank))
        lines.append(f"memory {name} = as(t{tensor}, {desc});")
        if op["attrs"].get(side):
            order = [*range(rank - 2), rank - 1, rank - 2]
            lines.append(f"{name} = transposed({name}, {words.dims(order)});")
        seen.append(f"{name}.get_desc()")
    bias = "Desc()"
    given = ["{DNNL_ARG_SRC, a}", "{DNNL_ARG_WEIGHTS, b}"]
    if len(inputs) == 3:
        bias = tensors.plain(inputs[2], words.padded([tensors.shape(out)[-1]], rank))
        given.append(f"{{DNNL_ARG_BIAS, as(t{inputs[2]}, {bias})}}")
    product = [
        f"matmul::primitive_desc desc(cpu(), {', '.join(seen)}, {bias},",
        f"    {tensors.plain(out)}, with(ops));",
        f"t{out} = run(desc, {{{', '.join([*given, *operands])}}});",
    ]
    exact = f"exact_matmul(a, b, {tensors.dims(out)})"
    return [*lines, *_exact(tensors, op, exact, product)]


def _pool(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    kind, attrs, (data,), out = op["kind"], op["attrs"], op["inputs"], op["output"]
    axes = int(kind[-2])
    window = attrs.get("pool_size", tensors.shape(data)[2:])
    strides, gaps, before, after = words.window(attrs, axes)
    counted = attrs.get("count_include_pad") or not any([*before, *after])
    algorithm = f"avg_{'include' if counted else 'exclude'}_padding"
    algorithm = "max" if "max" in kind else algorithm
    return [
        "pooling_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    algorithm::pooling_{algorithm}, {tensors.plain(data)},",
        f"    {tensors.plain(out)}, {words.dims(strides)}, {words.dims(window)},",
        f"    {words.dims(gaps)}, {words.dims(before)}, {words.dims(after)});",
        _run_plain(tensors, op, "SRC"),
    ]


def _run_plain(tensors: Tensors, op: Operation, *roles: str) -> str:
    given = [
        f"{{DNNL_ARG_{role}, as(t{t}, "
        f"{f'plain({tensors.dims(t)})' if role in STATISTICS else tensors.plain(t)})}}"
        for role, t in zip(roles, op["inputs"], strict=True)
    ]
    return f"t{op['output']} = run(desc, {{{', '.join(given)}}});"


def _softmax(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    algorithm = "softmax_log" if op["kind"] == "log_softmax" else "softmax_accurate"
    desc = tensors.plain(op["output"])
    axis = op["attrs"].get("axis", -1) % len(tensors.shape(op["output"]))
    return [
        "softmax_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    algorithm::{algorithm}, {desc}, {desc}, {axis});",
        _run_plain(tensors, op, "SRC"),
    ]


def _batch_norm(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    desc, epsilon = tensors.plain(op["output"]), words.number(op["attrs"].get("epsilon", 1e-5))
    return [
        "using F = normalization_flags;",
        "batch_normalization_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    {desc}, {desc}, {epsilon},",
        "    F::use_global_stats | F::use_scale | F::use_shift);",
        _run_plain(tensors, op, "SRC", "SCALE", "SHIFT", "MEAN", "VARIANCE"),
    ]


def _layer_norm(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    desc, epsilon = tensors.plain(op["output"]), words.number(op["attrs"].get("epsilon", 1e-5))
    return [
        "using F = normalization_flags;",
        "layer_normalization_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    {desc}, {desc}, {epsilon}, F::use_scale | F::use_shift);",
        _run_plain(tensors, op, "SRC", "SCALE", "SHIFT"),
    ]


def _eltwise(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    return [f"t{op['output']} = eltwise(t{op['inputs'][0]}, {words.eltwise(op['attrs'])});"]


def _binary(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    (a, b), out = op["inputs"], op["output"]
    rank = len(tensors.shape(out))
    sides = ", ".join(words.dims(words.padded(tensors.shape(t), rank)) for t in (a, b))
    return [
        f"t{out} = apply(t{a}, t{b}, {words.binary(op['attrs'])}, {sides}, {tensors.dims(out)});"
    ]


def _sum(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    first, *rest = op["inputs"]
    out, dims = op["output"], tensors.dims(op["output"])
    lines = [f"t{out} = as(t{first}, {tensors.plain(out)});"]
    return [
        *lines,
        *(
            f"t{out} = apply(t{out}, t{t}, algorithm::binary_add, {dims}, {dims}, {dims});"
            for t in rest
        ),
    ]


def _concat(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    axis = op["attrs"].get("axis", 0) % len(tensors.shape(op["output"]))
    descs = ", ".join(map(tensors.plain, op["inputs"]))
    roles = [f"MULTIPLE_SRC + {n}" for n in range(len(op["inputs"]))]
    return [
        f"const std::vector<Desc> parts = {{{descs}}};",
        f"concat::primitive_desc desc(cpu(), {tensors.plain(op['output'])}, {axis}, parts);",
        _run_plain(tensors, op, *roles),
    ]


def _slice(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    (data,), attrs = op["inputs"], op["attrs"]
    axis = attrs.get("axis", 0) % len(tensors.shape(data))
    numbers = f"{axis}, {attrs.get('begin', 0)}, {attrs['length']}, {attrs.get('step', 1)}"
    return [f"t{op['output']} = sliced(as(t{data}, {tensors.plain(data)}), {numbers});"]


def _lstm_cell(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    (gates, cell), order = op["inputs"], op["attrs"].get("order", [0, 1, 2, 3])
    descs = [f"as(t{t}, {tensors.plain(t)})" for t in (gates, cell)]
    return [f"t{op['output']} = lstm_cell({descs[0]}, {descs[1]}, {words.dims(order)});"]


def _reduce(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    if tensors.shape(op["inputs"][0]) == tensors.shape(op["output"]):
        # A reduction along an axis of size 1 returns the data; oneDNN rejects it.
        return [f"t{op['output']} = as(t{op['inputs'][0]}, {tensors.plain(op['output'])});"]
    alg = {"prod": "mul"}.get(op["attrs"]["alg"], op["attrs"]["alg"])
    return [
        f"reduction::primitive_desc desc(cpu(), algorithm::reduction_{alg},",
        f"    {tensors.plain(op['inputs'][0])}, {tensors.plain(op['output'])},",
        "    /*p=*/0.f, /*eps=*/0.f);",
        _run_plain(tensors, op, "SRC"),
    ]


def _resample(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    alg = op["attrs"].get("alg", "linear")
    return [
        "resampling_forward::primitive_desc desc(cpu(), prop_kind::forward_inference,",
        f"    algorithm::resampling_{alg}, {tensors.plain(op['inputs'][0])},",
        f"    {tensors.plain(op['output'])});",
        _run_plain(tensors, op, "SRC"),
    ]


def _reshape(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    return [f"t{op['output']} = as(t{op['inputs'][0]}, {tensors.plain(op['output'])});"]


def _transpose(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    # Scalars have one axis in the C++ code.
    (data,), positions = op["inputs"], inverse(tuple(op["attrs"]["axes"] or [0]))
    rows = f"as(t{data}, {tensors.plain(data)})"
    return [f"t{op['output']} = transposed({rows}, {words.dims(positions)});"]


def _quantized(tensors: Tensors, op: Operation, operands: list[str]) -> list[str]:
    """Calls a function of `onednn_quantized.h`, because no primitive rounds as Relay does."""
    kind, attrs, out = op["kind"], op["attrs"], op["output"]
    given = [f"t{t}" for t in op["inputs"]]
    if kind == "requantize" and len(given) == 5:
        given.append("memory()")
    if kind != "qadd":
        given.append(str(attrs.get("axis", -1) % len(tensors.shape(op["inputs"][0]))))
    dtype = tensors.dtype(out)
    if kind != "dequantize":
        limits = np.iinfo(dtype)
        low = max(attrs.get("low", limits.min), limits.min)
        high = min(attrs.get("high", limits.max), limits.max)
        rounding = ROUNDINGS[attrs.get("rounding", QUANTIZED[kind])]
        given += [f"Rounding::{rounding}", f"{low}.", f"{high}.", f"Type::{TYPES[dtype]}"]
    return [f"t{out} = {kind}({', '.join(given)});"]


WRITERS: dict[str, Callable[[Tensors, Operation, list[str]], list[str]]] = {
    "conv": _conv,
    "dense": _dense,
    "matmul": _matmul,
    "pool": _pool,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "batch_norm": _batch_norm,
    "layer_norm": _layer_norm,
    "eltwise": _eltwise,
    "binary": _binary,
    "sum": _sum,
    "concat": _concat,
    "slice": _slice,
    "lstm_cell": _lstm_cell,
    "reduce": _reduce,
    "resample": _resample,
    "reshape": _reshape,
    "transpose": _transpose,
    **dict.fromkeys(QUANTIZED, _quantized),
}
