"""Calls that TVM's integrations of other libraries support or refuse: one function for each.

A case is a module of small functions, named after the tested property; the first one is @main.
"""

from __future__ import annotations


class _Programs:
    """Small functions by name, with fresh variables and fixed constants."""

    def __init__(self, tvm, relay, np):
        self.tvm, self.relay, self.np = tvm, relay, np
        self.mod = tvm.IRModule()
        self.random = np.random.RandomState(0)

    def var(self, *shape, dtype="float32"):
        return self.relay.var("x", shape=shape, dtype=dtype)

    def constant(self, *shape, dtype="float32"):
        return self.relay.const(self.random.randint(0, 5, shape).astype(dtype))

    def number(self, value, dtype="float32"):
        return self.relay.const(value, dtype)

    def add(self, **bodies):
        for name, body in bodies.items():
            name = name if self.mod.functions else "main"
            function = self.relay.Function(self.relay.analysis.free_vars(body), body)
            self.mod[self.relay.GlobalVar(name)] = function

    def typed(self):
        return self.relay.transform.InferType()(self.mod)


def cublas(tvm, relay, np):
    """Products of all dtypes."""
    p, nn = _Programs(tvm, relay, np), relay.nn

    def dense(depth, left, right, out_dtype=""):
        return nn.dense(p.var(3, depth, dtype=left), p.var(5, depth, dtype=right), None, out_dtype)

    for left, right, out in (
        ("float32", "float32", ""),
        ("float16", "float16", ""),
        ("float16", "float16", "float32"),
        ("float64", "float64", ""),
        ("float64", "float64", "float32"),
        ("int32", "int32", ""),
        ("int8", "int8", "int32"),
        ("int8", "int8", "float32"),
        ("int8", "int8", "int16"),
        ("uint8", "int8", "int32"),
        ("uint8", "uint8", "int32"),
    ):
        p.add(**{f"dense_{left}_{right}_{out}": dense(8, left, right, out)})
    p.add(
        rows_of_six=dense(6, "int8", "int8", "int32"),
        matmul=nn.matmul(p.var(3, 4), p.var(4, 5)),
        matmul_transposed=nn.matmul(p.var(4, 3), p.var(5, 4), transpose_a=True, transpose_b=True),
        matmul_int8=nn.matmul(
            p.var(8, 4, dtype="int8"), p.var(8, 6, dtype="int8"), None, "int32", transpose_a=True
        ),
        batches=nn.batch_matmul(p.var(2, 3, 4), p.var(2, 5, 4)),
        around=nn.relu(nn.dense(nn.relu(p.var(3, 4)), p.var(5, 4))),
        two=nn.dense(nn.dense(p.var(3, 4), p.var(5, 4)), p.var(6, 5)),
    )
    return p.typed()


def cudnn(tvm, relay, np):
    """Softmaxes and convolutions."""
    p, nn = _Programs(tvm, relay, np), relay.nn

    def conv(padding=(1, 1), dtype="float32", **attrs):
        attrs = {"data_layout": "NCHW", "kernel_layout": "OIHW", **attrs}
        data = (1, 4, 8, 8) if attrs["data_layout"] == "NCHW" else (1, 8, 8, 4)
        kernel = (6, 4, 3, 3) if attrs["kernel_layout"] == "OIHW" else (3, 3, 4, 6)
        return nn.conv2d(
            p.var(*data, dtype=dtype),
            p.var(*kernel, dtype=dtype),
            channels=6,
            kernel_size=(3, 3),
            padding=padding,
            **attrs,
        )

    last = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    p.add(
        softmax=nn.softmax(p.var(2, 3, 4)),
        softmax_half=nn.softmax(p.var(2, 3, dtype="float16"), axis=0),
        softmax_int=nn.softmax(p.var(2, 3, dtype="int32")),
        log_softmax=nn.log_softmax(p.var(2, 3)),
        log_softmax_columns=nn.log_softmax(p.var(2, 3), axis=0),
        log_softmax_rows=nn.log_softmax(p.var(2, 3), axis=1),
        log_softmax_of_three=nn.log_softmax(p.var(2, 3, 4), axis=1),
        conv=conv(),
        conv_double=conv(dtype="float64"),
        conv_int=conv(dtype="int8"),
        conv_last=conv(**last),
        conv_uneven=conv(padding=(0, 1, 1, 1)),
        conv_strided=conv(padding=(1, 2, 1, 2), strides=(2, 1)),
        conv_relu=nn.relu(conv()),
        conv_bias=nn.bias_add(conv(), p.var(6)),
        conv_add=relay.add(conv(), p.var(6, 1, 1)),
        conv_bias_relu=nn.relu(nn.bias_add(conv(), p.var(6))),
        conv_bias_tanh=relay.tanh(nn.bias_add(conv(), p.var(6))),
        bias_of_uneven=nn.bias_add(conv(padding=(0, 1, 1, 1)), p.var(6)),
        bias_of_int=nn.relu(nn.bias_add(conv(dtype="int8"), p.var(6, dtype="int8"))),
    )
    return p.typed()


def _activated(relay, p, x, name):
    """`x` followed by an activation, decomposed as CUTLASS's patterns require."""
    if name == "silu":
        return relay.multiply(x, relay.sigmoid(x))
    if name == "hardswish":
        gate = relay.clip(relay.add(x, p.number(3.0)), 0.0, 6.0)
        return relay.multiply(x, relay.divide(gate, p.number(6.0)))
    return {"relu": relay.nn.relu, "sigmoid": relay.sigmoid, "none": lambda y: y}[name](x)


def cutlass_products(tvm, relay, np):
    """Dense layers and batch matmuls."""
    p, nn = _Programs(tvm, relay, np), relay.nn

    def dense(dtype="float16", right=None, out_dtype=""):
        weight = p.var(5, 4, dtype=right or dtype)
        return nn.dense(p.var(3, 4, dtype=dtype), weight, None, out_dtype)

    def gelu(x, dtype, wide):
        scaled = relay.multiply(x, p.number(0.70710678, dtype))
        error = relay.erf(relay.cast(scaled, wide)) if wide else relay.erf(scaled)
        error = relay.cast(error, dtype) if wide else error
        gate = relay.add(relay.multiply(error, p.number(0.5, dtype)), p.number(0.5, dtype))
        return relay.multiply(gate, x)

    half = p.var(5, dtype="float16")
    p.add(
        dense=dense(),
        single=dense("float32"),
        double=dense("float64"),
        bytes=dense("uint8", "int8", "int32"),
        bias=nn.bias_add(dense(), half),
        sum=relay.add(dense(), half),
        bias_relu=nn.relu(nn.bias_add(dense(), half)),
        relu=nn.relu(dense()),
        gelu_half=gelu(nn.bias_add(dense(), half), "float16", "float32"),
        gelu_single=gelu(relay.add(dense("float32"), p.var(5)), "float32", None),
        gelu_half_narrow=gelu(nn.bias_add(dense(), half), "float16", None),
        gelu_without_bias=gelu(dense("float32"), "float32", None),
        batches=nn.batch_matmul(p.var(2, 3, 4), p.var(2, 5, 4)),
        batches_of_columns=nn.batch_matmul(p.var(2, 3, 4), p.var(2, 4, 5), transpose_b=False),
        batches_double=nn.batch_matmul(
            p.var(2, 3, 4, dtype="float64"), p.var(2, 5, 4, dtype="float64")
        ),
    )  # fmt: skip
    return p.typed()


def cutlass_convolutions(tvm, relay, np):
    """Convolutions with the operators after them, and residual blocks."""
    p, nn = _Programs(tvm, relay, np), relay.nn

    def conv(x=None, channels=4, groups=1, **attrs):
        attrs = {"data_layout": "NHWC", "kernel_layout": "OHWI", **attrs}
        return nn.conv2d(
            p.var(1, 6, 6, 4) if x is None else x,
            p.var(channels, 3, 3, 4 // groups),
            channels=channels,
            kernel_size=(3, 3),
            padding=(1, 1),
            groups=groups,
            **attrs,
        )

    def biased(*args, **attrs):
        return nn.bias_add(conv(*args, **attrs), p.var(4), axis=-1)

    other = p.var(1, 6, 6, 4)
    p.add(conv=conv(), plain_relu=nn.relu(conv()), sum=relay.add(conv(), p.var(4)))
    p.add(depthwise=conv(groups=4), halves=conv(groups=2), twice=conv(channels=8, groups=4))
    for name in ("relu", "sigmoid", "silu", "hardswish", "none"):
        p.add(**{f"bias_{name}": _activated(relay, p, biased(), name)})
        for join in (relay.add, relay.multiply):
            block = join(_activated(relay, p, biased(), name), other)
            p.add(**{f"{name}_{join.__name__}": block})
            p.add(**{f"{name}_{join.__name__}_relu": nn.relu(block)})
    x = biased()
    p.add(
        itself=relay.add(x, relay.tanh(x)),
        wide=relay.add(biased(), p.var(4)),
        last=nn.conv2d(
            p.var(1, 6, 6, 4), p.var(3, 3, 4, 4), data_layout="NHWC", kernel_layout="HWIO",
            kernel_size=(3, 3), channels=4,
        ),
        first=nn.conv2d(p.var(1, 4, 6, 6), p.var(4, 4, 3, 3)),
        chain=nn.relu(biased(nn.relu(biased()))),
        back=nn.conv2d_transpose(
            p.var(1, 6, 6, 4), p.var(4, 3, 3, 5), channels=5, kernel_size=(3, 3),
            data_layout="NHWC", kernel_layout="IHWO",
        ),
    )  # fmt: skip
    return p.typed()


def bnns(tvm, relay, np):
    """Convolutions, pools, dense layers, norms."""
    p, nn = _Programs(tvm, relay, np), relay.nn

    def conv(weight=None, **attrs):
        return nn.conv2d(
            p.var(1, 4, 6, 6), p.constant(5, 4, 3, 3) if weight is None else weight, **attrs
        )

    def dense():
        return nn.dense(p.var(3, 4), p.constant(5, 4))

    def gelu(x, third=3.0):
        cubic = relay.multiply(relay.power(x, p.number(third)), p.number(0.044715))
        inner = relay.multiply(relay.add(cubic, x), p.number(np.float32(np.sqrt(2 / np.pi))))
        gate = relay.multiply(relay.add(relay.tanh(inner), p.number(1.0)), p.number(0.5))
        return relay.multiply(gate, x)

    def norm(axis, *shape):
        gamma, beta = (p.constant(shape[axis]) for _ in range(2))
        return nn.instance_norm(p.var(*shape), gamma, beta, axis=axis)

    flat = p.constant(5)
    p.add(
        conv=conv(),
        conv_of_variable=conv(p.var(5, 4, 3, 3)),
        conv_last=nn.conv2d(
            p.var(1, 6, 6, 4), p.constant(3, 3, 4, 5), data_layout="NHWC", kernel_layout="HWIO",
            channels=5, kernel_size=(3, 3),
        ),
        conv_half=nn.conv2d(
            p.var(1, 4, 6, 6, dtype="float16"), p.constant(5, 4, 3, 3, dtype="float16")
        ),
        bias=nn.bias_add(conv(), flat),
        bias_of_rows=nn.bias_add(conv(), p.constant(4), axis=2),
        bias_of_variable=nn.bias_add(conv(), p.var(5)),
        sum=relay.add(conv(), p.constant(5, 1, 1)),
        sum_of_four=relay.add(conv(), p.constant(1, 5, 1, 1)),
        sum_of_one=relay.add(conv(), p.constant(1)),
        sum_of_images=relay.add(conv(), p.constant(1, 5, 4, 4)),
        bias_relu=nn.relu(nn.bias_add(conv(), flat)),
        bias_sigmoid=relay.sigmoid(nn.bias_add(conv(), flat)),
        bias_tanh=relay.tanh(nn.bias_add(conv(), flat)),
        relu=nn.relu(conv()),
        sigmoid=relay.sigmoid(relay.add(conv(), p.constant(5, 1, 1))),
        relu_of_refused_bias=nn.relu(relay.add(conv(), p.constant(1))),
        max_pool=nn.max_pool2d(p.var(1, 4, 6, 6), pool_size=(2, 2)),
        avg_pool=nn.avg_pool2d(p.var(1, 4, 6, 6, dtype="float16"), pool_size=(2, 2)),
        global_max=nn.global_max_pool2d(p.var(1, 4, 6, 6)),
        global_avg_last=nn.global_avg_pool2d(p.var(1, 6, 6, 4), layout="NHWC"),
        dense=dense(),
        dense_of_variable=nn.dense(p.var(3, 4), p.var(5, 4)),
        dense_add=relay.add(dense(), flat),
        dense_bias_add=nn.bias_add(dense(), flat),
        dense_gelu=gelu(relay.add(dense(), flat)),
        dense_no_gelu=gelu(relay.add(dense(), flat), third=2.0),
        batches=nn.batch_matmul(p.var(2, 3, 4), p.var(2, 5, 4)),
        norm=norm(1, 2, 3, 4, 4),
        norm_of_image=norm(0, 3, 4, 4),
        norm_of_rows=norm(2, 2, 3, 4, 4),
        host=relay.exp(p.var(2, 3)),
    )  # fmt: skip
    return p.typed()


def arm_compute_lib(tvm, relay, np):
    """Floating point operators."""
    p, nn = _Programs(tvm, relay, np), relay.nn

    def conv(batch=1, size=3, groups=1, x=None, **attrs):
        depthwise = groups == 4
        shape = (size, size, 4, 1) if depthwise else (size, size, 4 // groups, 6)
        return nn.conv2d(
            p.var(batch, 8, 8, 4) if x is None else x,
            p.constant(*shape),
            channels=4 if depthwise else 6,
            kernel_size=(size, size),
            groups=groups,
            data_layout="NHWC",
            kernel_layout="HWOI" if depthwise else "HWIO",
            **attrs,
        )

    def pool(build, *shape, dtype="float32", **attrs):
        return build(p.var(*shape, dtype=dtype), **{"layout": "NHWC", **attrs})

    image = (1, 6, 6, 4)
    p.add(
        conv=conv(),
        conv_variable=nn.conv2d(
            p.var(1, 8, 8, 4), p.var(3, 3, 4, 6), channels=6, kernel_size=(3, 3),
            data_layout="NHWC", kernel_layout="HWIO",
        ),
        conv_of_two_images=conv(batch=2),
        conv_in_groups=conv(groups=2),
        conv_first=nn.conv2d(p.var(1, 4, 8, 8), p.constant(6, 4, 3, 3)),
        depthwise_three=conv(groups=4),
        depthwise_five=conv(size=5, groups=4, strides=(2, 2)),
        depthwise_seven=conv(size=7, groups=4),
        depthwise_strided=conv(groups=4, strides=(1, 2)),
        padded=conv(x=nn.pad(p.var(1, 6, 6, 4), ((0, 0), (1, 1), (1, 1), (0, 0)))),
        bias=nn.bias_add(conv(), p.constant(6), axis=3),
        bias_variable=nn.bias_add(conv(), p.var(6), axis=3),
        bias_relu=nn.relu(nn.bias_add(conv(), p.constant(6), axis=3)),
        relu=nn.relu(conv()),
        dense=nn.dense(p.var(2, 4), p.constant(5, 4)),
        dense_bias=nn.bias_add(nn.dense(p.var(2, 4), p.constant(5, 4)), p.constant(5)),
        dense_variable=nn.dense(p.var(2, 4), p.var(5, 4)),
        max_pool=pool(nn.max_pool2d, *image, pool_size=(2, 2)),
        max_pool_bytes=pool(nn.max_pool2d, *image, dtype="uint8", pool_size=(2, 2)),
        max_pool_apart=pool(nn.max_pool2d, *image, pool_size=(2, 2), dilation=(2, 2)),
        max_pool_first=pool(nn.max_pool2d, *image, layout="NCHW"),
        avg_pool=pool(nn.avg_pool2d, *image, pool_size=(2, 2)),
        avg_pool_half=pool(nn.avg_pool2d, *image, dtype="float16"),
        global_max=pool(nn.global_max_pool2d, *image, dtype="int8"),
        global_avg=pool(nn.global_avg_pool2d, *image),
        global_avg_first=pool(nn.global_avg_pool2d, *image, layout="NCHW"),
        squares=relay.sqrt(nn.avg_pool2d(relay.power(p.var(*image), p.number(2.0)), layout="NHWC")),
        cubes=relay.sqrt(nn.avg_pool2d(relay.power(p.var(*image), p.number(3.0)), layout="NHWC")),
        reshape=relay.reshape(p.var(2, 3), (6,)),
        reshape_double=relay.reshape(p.var(2, 3, dtype="float64"), (6,)),
        maximum=relay.maximum(p.var(2, 3), p.var(2, 3)),
        maximum_int=relay.maximum(p.var(2, 3, dtype="int32"), p.var(2, 3, dtype="int32")),
        add=relay.add(p.var(2, 3), p.var(3)),
        joined=relay.concatenate((p.var(2, 3), p.var(2, 4)), axis=1),
        chain=relay.reshape(nn.relu(relay.add(conv(), p.constant(6))), (-1,)),
    )  # fmt: skip
    return p.typed()


def arm_compute_lib_quantized(tvm, relay, np):
    """Operators of 8-bit tensors."""
    p, nn, qnn = _Programs(tvm, relay, np), relay.nn, relay.qnn.op

    def scale(value):
        return p.number(value, "float32")

    def zero(value):
        return p.number(value, "int32")

    def conv(scales=None, size=3, dtype="uint8", groups=1):
        kernel = (size, size, 4, 1) if groups == 4 else (size, size, 4, 6)
        return qnn.conv2d(
            p.var(1, 8, 8, 4, dtype=dtype),
            p.constant(*kernel, dtype=dtype),
            zero(3), zero(0), scale(0.5), scale(0.25) if scales is None else scales,
            kernel_size=(size, size), channels=kernel[3] * (4 if groups == 4 else 1),
            groups=groups, data_layout="NHWC",
            kernel_layout="HWOI" if groups == 4 else "HWIO", out_dtype="int32",
        )  # fmt: skip

    def requantized(x, out_dtype="uint8", axis=-1):
        return qnn.requantize(
            x, scale(0.125), zero(0), scale(0.75), zero(2), axis=axis, out_dtype=out_dtype
        )

    def dense(dtype="uint8", units=5):
        return qnn.dense(
            p.var(2, 4, dtype=dtype), p.constant(units, 4, dtype=dtype),
            zero(3), zero(0), scale(0.5), scale(0.25), units=units, out_dtype="int32",
        )  # fmt: skip

    def average(build, inner="int32", outer="uint8", dtype="uint8"):
        wide = relay.cast(p.var(1, 6, 6, 4, dtype=dtype), inner)
        return relay.cast(build(wide, layout="NHWC"), outer)

    def sums(dtype, lhs_scale=None):
        lhs_scale = scale(0.5) if lhs_scale is None else lhs_scale
        return qnn.add(
            p.var(1, 6, 6, 4, dtype=dtype), p.var(1, 6, 6, 4, dtype=dtype), lhs_scale, zero(1),
            scale(0.25), zero(2), scale(1.0), zero(3),
        )  # fmt: skip

    bias = p.constant(6, dtype="int32")
    p.add(
        conv=requantized(conv()),
        conv_signed=requantized(conv(dtype="int8"), "int8"),
        conv_wide=requantized(conv(), "int32"),
        conv_alone=conv(),
        conv_of_channels=requantized(conv(relay.const(np.full(6, 0.5, "float32")))),
        conv_bias=requantized(nn.bias_add(conv(), bias, axis=3)),
        conv_bias_relu=requantized(nn.relu(nn.bias_add(conv(), bias, axis=3))),
        depthwise=requantized(conv(groups=4)),
        depthwise_seven=requantized(conv(size=7, groups=4)),
        dense=requantized(dense()),
        dense_bias=requantized(nn.bias_add(dense("int8"), p.constant(5, dtype="int32")), "int8"),
        dense_wide=requantized(dense(), "int32"),
        average=average(nn.avg_pool2d),
        average_signed=average(nn.global_avg_pool2d, outer="int8", dtype="int8"),
        average_short=average(nn.avg_pool2d, inner="int16"),
        average_wide=average(nn.avg_pool2d, outer="int32"),
        sums=sums("uint8"),
        sums_signed=sums("int8"),
        relu=nn.relu(p.var(2, 3, dtype="uint8")),
    )
    return p.typed()


def arm_compute_lib_weights(tvm, relay, np):
    """Convolutions whose weights the code generator needs in another layout."""
    p = _Programs(tvm, relay, np)

    def conv(kernel, layout, groups=1):
        return relay.nn.conv2d(
            p.var(1, 8, 8, 4), p.constant(*kernel), channels=4, kernel_size=(3, 3), groups=groups,
            data_layout="NHWC", kernel_layout=layout,
        )  # fmt: skip

    p.add(
        plain=conv((3, 3, 4, 4), "HWIO"),
        depthwise=conv((3, 3, 4, 1), "HWOI", groups=4),
        already=conv((4, 3, 3, 4), "OHWI"),
        relu=relay.nn.relu(conv((3, 3, 4, 4), "HWIO")),
    )
    return p.typed()
