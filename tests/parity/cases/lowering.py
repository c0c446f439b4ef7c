"""Quantized operators with each attribute and zero point that their lowering distinguishes.

Each case is a module with one function for each. Zero points: known to be 0 or not, a vector, or an
argument.
"""

from __future__ import annotations

from functools import partial

ROUNDINGS = ("None", "UPWARD", "TONEAREST")


def _module(tvm, relay, calls):
    """A module of calls, by the name of their function.

    Each call gets separate variables, because TVM cannot print a variable bound by two functions.
    """
    functions = {}
    for name, call in calls.items():
        own = {v: relay.var(v.name_hint, v.type_annotation) for v in relay.analysis.free_vars(call)}
        functions[relay.GlobalVar(name)] = relay.Function(list(own.values()), relay.bind(call, own))
    return tvm.IRModule(functions)


def _scale(relay, np, *values):
    return relay.const(np.array(values if len(values) > 1 else values[0], "float32"))


def _zero(relay, np, *values):
    return relay.const(np.array(values if len(values) > 1 else values[0], "int32"))


def _tensor(relay, name, *shape, dtype="int8"):
    return relay.var(name, shape=shape, dtype=dtype)


def _makers(relay, np):
    return partial(_scale, relay, np), partial(_zero, relay, np), partial(_tensor, relay)


def _requantizing(tvm, relay, np, compute_dtypes):
    scale, zero, tensor = _makers(relay, np)
    x = tensor("x", 2, 3, 4, dtype="int32")
    calls = {}
    for rounding in ROUNDINGS:
        for compute in compute_dtypes:

            def make(*pairs, axis=-1, out="int8", how=(rounding, compute)):
                return relay.qnn.op.requantize(x, *pairs, axis, *how, out)

            three = scale(0.1, 0.2, 0.3)
            target = scale(0.15), zero(-5)
            found = {
                "narrow": make(scale(0.1), zero(3), scale(0.3), zero(-5)),
                "unsigned": make(scale(0.1), zero(3), scale(0.3), zero(5), out="uint8"),
                "whole": make(scale(0.1), zero(3), scale(0.3), zero(-5), out="int32"),
                "half": make(scale(0.1), zero(3), scale(0.3), zero(0), out="int16"),
                "more": make(scale(0.9), zero(0), scale(0.1), zero(0)),
                "same": make(scale(0.1), zero(3), scale(0.1), zero(2)),
                "channels": make(three, zero(3), *target, axis=1),
                "channel_zeros": make(three, zero(3, 2, 1), *target, axis=1),
                "last": make(scale(0.1, 0.2, 0.3, 0.4), zero(0), scale(1.5), zero(0)),
            }
            calls |= {f"{name}_{rounding}_{compute}": call for name, call in found.items()}
    return _module(tvm, relay, calls)


def requantize(tvm, relay, np):
    """qnn.requantize in integer arithmetic, with each rounding."""
    return _requantizing(tvm, relay, np, ("None", "int64"))


def requantize_real(tvm, relay, np):
    """qnn.requantize in floating point, with each rounding."""
    return _requantizing(tvm, relay, np, ("float32", "float64"))


def convert(tvm, relay, np):
    """qnn.quantize, qnn.dequantize; qnn.requantize with zero points as arguments."""
    scale, zero, tensor = _makers(relay, np)
    real, x = tensor("r", 2, 3, 4, dtype="float32"), tensor("x", 2, 3, 4)
    argument = partial(tensor, dtype="int32")
    quantize, dequantize = relay.qnn.op.quantize, relay.qnn.op.dequantize
    three = scale(0.1, 0.2, 0.3)
    calls = {
        f"to_{dtype}": quantize(real, scale(0.1), zero(3), out_dtype=dtype)
        for dtype in ("int8", "uint8", "int16", "uint16")
    } | {
        "to_channels": quantize(real, three, zero(3), axis=1),
        "to_channel_zeros": quantize(real, three, zero(3, 2, 1), axis=-2),
        "to_arguments": quantize(real, tensor("s", dtype="float32"), argument("z")),
        "real": dequantize(x, scale(0.1), zero(3)),
        "real_half": dequantize(x, scale(0.1), zero(3), out_dtype="float16"),
        "real_channels": dequantize(x, three, zero(3), axis=1),
        "real_channel_zeros": dequantize(x, three, zero(3, 2, 1), axis=-2),
        "arguments": relay.qnn.op.requantize(
            x, scale(0.1), argument("a"), scale(0.3), argument("b")
        ),
    }
    return _module(tvm, relay, calls)


def matrices(tvm, relay, np):
    """qnn.dense and qnn.batch_matmul."""
    scale, zero, tensor = _makers(relay, np)
    argument = partial(tensor, dtype="int32")
    zeros = {f"{a}_{b}": (zero(a), zero(-b)) for a in (0, 1, 3) for b in (0, 2)}
    zeros["arguments"] = argument("a"), argument("b")
    calls = {}
    for name, pair in zeros.items():
        rest = (*pair, scale(0.5), scale(0.25))
        calls[f"matmul_{name}"] = relay.qnn.op.batch_matmul(
            tensor("x", 2, 3, 4), tensor("y", 2, 5, 4), *rest
        )
        calls[f"dense_{name}"] = relay.qnn.op.dense(tensor("x", 2, 4), tensor("w", 5, 4), *rest, 5)
    vector = zero(3), zero(1, 2, 3, 4, 5), scale(0.5), scale(0.25)
    calls["dense_vector"] = relay.qnn.op.dense(tensor("x", 2, 4), tensor("w", 5, 4), *vector, 5)
    return _module(tvm, relay, calls)


def _convolutions(tvm, relay, np, forms, channels, groups=1):
    """Each of `forms`, name -> (data shape, weight shape, options), with each pair of zero
    points."""
    scale, zero, tensor = _makers(relay, np)
    zeros = {f"{a}_{b}": (zero(a), zero(b)) for a, b in ((0, 0), (3, 0), (0, 2), (3, 2), (1, 1))}
    zeros["vector"] = zero(3), zero(*range(channels))
    zeros["arguments"] = tensor("a", dtype="int32"), tensor("b", dtype="int32")
    calls = {}
    for form, (data, weight, options) in forms.items():
        layout = options.get("kernel_layout", "OIHW")
        size = tuple(weight[layout.index(axis)] for axis in "HW")
        for name, pair in zeros.items():
            calls[f"{form}_{name}"] = relay.qnn.op.conv2d(
                tensor("x", *data), tensor("w", *weight), *pair, scale(0.5), scale(0.25),
                size, channels, groups=groups, **options,
            )  # fmt: skip
    return _module(tvm, relay, calls)


def convolution(tvm, relay, np):
    """qnn.conv2d with one group, in each layout."""
    last = (1, 6, 7, 4)
    forms = {
        "first": ((1, 4, 6, 7), (6, 4, 3, 3), {"padding": (1, 2)}),
        "one": ((1, 4, 6, 7), (6, 4, 1, 1), {}),
        "strided": ((1, 4, 6, 7), (6, 4, 1, 1), {"strides": (2, 2)}),
        "dilated": ((1, 4, 6, 7), (6, 4, 3, 3), {"dilation": (2, 2)}),
    } | {
        kernel: (
            last,
            tuple({"O": 6, "I": 4, "H": 3, "W": 3}[axis] for axis in kernel),
            {"data_layout": "NHWC", "kernel_layout": kernel, "strides": (1, 2)},
        )
        for kernel in ("HWIO", "HWOI", "OHWI")
    }
    return _convolutions(tvm, relay, np, forms, 6)


def grouped(tvm, relay, np):
    """qnn.conv2d with two groups."""
    forms = {
        "narrow": ((1, 4, 6, 7), (6, 2, 3, 3), {"padding": (1, 1)}),
        "wide": ((1, 4, 6, 7), (6, 2, 3, 3), {"out_dtype": "int64"}),
    }
    return _convolutions(tvm, relay, np, forms, 6, groups=2)


def depthwise(tvm, relay, np):
    """qnn.conv2d with as many groups as channels."""
    last = {"data_layout": "NHWC", "kernel_layout": "HWOI"}
    forms = {
        "first": ((1, 4, 6, 7), (4, 1, 3, 3), {"padding": (1, 1)}),
        "one": ((1, 4, 6, 7), (4, 1, 1, 1), {"strides": (2, 2)}),
        "last": ((1, 6, 7, 4), (3, 3, 4, 1), last),
    }
    return _convolutions(tvm, relay, np, forms, 4, groups=4)


def transposed(tvm, relay, np):
    """qnn.conv2d_transpose, which only Legalize lowers."""
    scale, zero, tensor = _makers(relay, np)
    call = relay.qnn.op.conv2d_transpose(
        tensor("x", 1, 3, 5, 5), tensor("w", 3, 4, 3, 3), zero(3), zero(2), scale(0.5), scale(0.25),
        strides=(2, 1), padding=(1, 0), kernel_size=(3, 3), channels=4,
    )  # fmt: skip
    return _module(tvm, relay, {"main": call})


def sums(tvm, relay, np):
    """qnn.add, qnn.subtract, qnn.mul and qnn.concatenate."""
    scale, zero, tensor = _makers(relay, np)
    x, y = tensor("x", 2, 3, 4), tensor("y", 2, 3, 4)
    unsigned = [tensor(name, 2, 3, 4, dtype="uint8") for name in "uv"]
    target = scale(0.5), zero(1)
    pairs = (scale(0.1), zero(3), scale(0.2), zero(-2))
    along = {"lhs_axis": 1, "rhs_axis": 1}
    three = scale(0.1, 0.02, 0.3), scale(0.2, 0.5, 0.4)
    calls = {}
    for name in ("add", "subtract", "mul"):
        op = getattr(relay.qnn.op, name)
        calls |= {
            name: op(x, y, *pairs, *target),
            f"{name}_same": op(x, y, *target, *target, *target),
            f"{name}_zeros": op(
                x, y, scale(0.1), zero(0), scale(0.2), zero(0), scale(0.5), zero(0)
            ),
            f"{name}_unsigned": op(*unsigned, scale(0.1), zero(3), scale(0.2), zero(2), *target),
            f"{name}_channels": op(x, y, three[0], zero(3), three[1], zero(-2), *target, **along),
            f"{name}_channel_zeros": op(
                x, y, three[0], zero(3, 4, 5), three[1], zero(0), *target, **along
            ),
            f"{name}_broadcast": op(x, tensor("b", 3, 1), *pairs, *target),
        }
    scales = relay.Tuple([scale(0.5), scale(0.3)])
    zeros = relay.Tuple([zero(1), zero(-4)])
    halves = relay.split(x, 2, 0).astuple()
    concatenate = relay.qnn.op.concatenate
    calls["concatenate"] = concatenate(relay.Tuple([x, y]), scales, zeros, *target, 1)
    calls["concatenate_halves"] = concatenate(halves, scales, zeros, *target, -1)
    return _module(tvm, relay, calls)


def network(tvm, relay, np):
    """Two quantized convolutions, a residual sum, pooling and a dense layer."""
    scale, zero, _ = _makers(relay, np)
    op = relay.qnn.op

    def weight(*shape):
        random = np.random.RandomState(sum(shape))
        return relay.const(random.randint(-100, 100, shape).astype("int8"))

    def conv(x, scales):
        y = op.conv2d(
            x, weight(4, 4, 3, 3), zero(2), zero(0), scale(0.05), scales,
            (3, 3), 4, padding=(1, 1),
        )  # fmt: skip
        y = relay.nn.bias_add(y, relay.const(np.arange(4).astype("int32")))
        return op.requantize(
            y, scale(0.0005, 0.001, 0.002, 0.0008), zero(0), scale(0.1), zero(2), 1
        )

    x = relay.var("x", shape=(1, 4, 6, 6))
    first = op.quantize(x, scale(0.05), zero(2))
    y = conv(conv(first, scale(0.01, 0.02, 0.04, 0.016)), scale(0.01, 0.02, 0.04, 0.016))
    y = op.add(y, first, scale(0.1), zero(2), scale(0.05), zero(2), scale(0.12), zero(-1))
    y = relay.nn.batch_flatten(relay.nn.max_pool2d(y, (2, 2), (2, 2)))
    y = op.dense(y, weight(5, 36), zero(-1), zero(3), scale(0.12), scale(0.02), 5)
    y = op.requantize(y, scale(0.0024), zero(0), scale(0.2), zero(0), rounding="TONEAREST")
    return _module(tvm, relay, {"main": relay.nn.softmax(op.dequantize(y, scale(0.2), zero(0)))})


NAMES = (
    "requantize", "convert", "matrices", "convolution", "grouped", "depthwise", "sums", "network",
)  # fmt: skip
