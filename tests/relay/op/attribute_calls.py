"""Calls with many values of their attributes, for `test_golden_facts.py`: see `calls.py`.

For an operator with several attributes, every attribute takes each kind of its values at least
once. Tensors have unknown dimensions if dimensions are computed.
"""

from __future__ import annotations

from itertools import product


def grid(form: str, **values: tuple[object, ...]) -> list[str]:
    """`form` with every combination of values in its braces: `grid("f({a})", a=(1, 2))`."""
    combinations = product(*values.values())
    return [form.format(**dict(zip(values, v, strict=True))) for v in combinations]


X2, X3 = "V((2, 4, 8, 9))", "V((2, 4, 6, 8, 9))"
WINDOWS = ("", "strides=(2, 1)", "padding=(1, 2)", "padding=(1, 0, 2, 1)", "dilation=(2, 3)")
ONE_WINDOWS = ("", "strides=2", "padding=(1, 2)", "dilation=3")
ROOMS = (
    "strides=(2, 1, 1)",
    "padding=(1, 2, 0)",
    "padding=(1, 0, 2, 1, 0, 0)",
    "dilation=(2, 1, 2)",
)
LAYOUTS = "layout='NHWC'"

ATTRIBUTE_CALLS = [
    # Windows
    *grid(f"R.nn.conv2d({X2}, V((6, 4, 3, 2)), {{w}})", w=WINDOWS),
    *grid("R.nn.conv2d(V((A, 4, A, 9)), V((6, 4, 3, 2)), {w})", w=WINDOWS),
    *grid(
        f"R.nn.conv2d({X2}, R.var('w'), channels=8, kernel_size=(3, 2), {{more}})",
        more=("out_dtype='float64'", "out_layout='NHWC'", "data_layout='NHWC'", "strides=3"),
    ),
    "R.nn.conv2d(V((2, 8, 9, 4)), V((3, 2, 4, 6)), data_layout='NHWC', kernel_layout='HWIO')",
    "R.nn.conv2d(V((2, 8, 9, 4)), V((3, 2, 4, 1)), groups=4, channels=4, data_layout='NHWC', "
    "kernel_layout='HWOI')",
    "R.nn.conv2d(V((2, 1, 8, 9, 4)), V((2, 1, 3, 2, 4, 4)), data_layout='NCHW4c', "
    "kernel_layout='OIHW4i4o')",
    f"R.nn.conv2d({X2}, V((6, 5, 3, 2)))",
    f"R.nn.conv2d({X2}, V((6, 4, 3, 2)), channels=7)",
    f"R.nn.conv2d({X2}, V((6, 4, 3, 2)), kernel_size=(2, 2))",
    *grid("R.nn.conv1d(V((2, 4, 9)), V((6, 4, 3)), {w})", w=ONE_WINDOWS),
    "R.nn.conv1d(V((2, A, 4)), V((3, 4, 6)), data_layout='NWC', kernel_layout='WIO')",
    *grid(f"R.nn.conv3d({X3}, V((6, 4, 3, 2, 3)), {{w}})", w=("", *ROOMS)),
    *grid(
        "R.nn.conv2d_transpose(V((2, 4, 5, A)), V((4, 6, 3, 2)), {w})",
        w=(
            "",
            "strides=(2, 3)",
            "padding=(1, 0)",
            "strides=(2, 2), output_padding=(1, 0)",
            "dilation=(2, 1)",
        ),
    ),
    "R.nn.conv2d_transpose(V((2, 4, 5, 6)), V((4, 3, 3, 2)), groups=2, channels=6)",
    "R.nn.conv2d_transpose(V((2, 5, 6, 4)), R.var('w'), channels=6, kernel_size=(3, 2), "
    "data_layout='NHWC', kernel_layout='HWOI')",
    *grid(
        "R.nn.conv1d_transpose(V((2, 4, 5)), V((4, 6, 3)), {w})",
        w=("", "strides=(2,)", "strides=(3,), output_padding=(2,)", "padding=(1,)"),
    ),
    *grid(
        "R.nn.conv3d_transpose(V((2, 4, 5, 6, 7)), V((4, 6, 3, 2, 3)), {w})",
        w=("", "strides=(2, 1, 3)", "strides=(2, 2, 2), output_padding=(1, 0, 1)", "padding=1"),
    ),
    *grid(
        f"R.nn.{{kind}}_pool2d({X2}, (3, 2), {{w}})",
        kind=("max", "avg"),
        w=(
            "",
            "strides=(2, 1)",
            "padding=1",
            "padding=(1, 0, 0, 1)",
            "dilation=(2, 3)",
            "strides=(3, 2), ceil_mode=True",
            LAYOUTS,
            "out_layout='NHWC'",
        ),
    ),
    f"R.nn.avg_pool2d({X2}, (3, 2), padding=1, count_include_pad=True)",
    *grid(
        "R.nn.{kind}_pool1d(V((2, 4, A)), 3, {w})",
        kind=("max", "avg"),
        w=("strides=2", "padding=(1, 0)", "dilation=2", "layout='NWC'"),
    ),
    *grid(
        f"R.nn.{{kind}}_pool3d({X3}, (3, 2, 3), {{w}})",
        kind=("max", "avg"),
        w=("strides=2", "padding=1", "dilation=(1, 2, 1)", "strides=2, ceil_mode=True"),
    ),
    *grid("R.nn.global_{kind}_pool2d(V((2, A, A, 4)), {w})", kind=("max", "avg"), w=("", LAYOUTS)),
    *grid(
        "R.nn.adaptive_{kind}_pool2d(V((2, A, 7, 8)), {w})",
        kind=("max", "avg"),
        w=("None", "(1, 1)", "(3, 5)", "(3, 5), 'NHWC'"),
    ),
    *grid("R.nn.adaptive_{kind}_pool1d(V((2, 4, 8)), {w})", kind=("max", "avg"), w=("3", "None")),
    *grid(
        "R.nn.adaptive_{kind}_pool3d(V((2, 4, 5, 6, 7)), {w})",
        kind=("max", "avg"),
        w=("(2, 3, 4)", "None", "(2, 3, 4), 'NDHWC'"),
    ),
    # Layers
    *grid(
        "R.nn.upsampling(V((1, 4, 5, 6)), 2, 3, {w})",
        w=("", "method='bilinear'", "align_corners=True", LAYOUTS),
    ),
    *grid(
        "R.nn.upsampling3d(V((1, 4, 5, 6, 7)), 2, 3, 1.5, {w})",
        w=("", "method='trilinear'", "coordinate_transformation_mode='align_corners'"),
    ),
    *grid(
        "R.nn.pad(V((2, A)), ((1, 2), (0, 3)), {w})",
        w=("", "3.5", "pad_mode='edge'", "pad_mode='reflect'", "V(())"),
    ),
    *grid("R.nn.mirror_pad(V((3, 4)), ((1, 2), (0, 1)), '{m}')", m=("SYMMETRIC", "REFLECT")),
    *grid(
        "R.nn.dense(V((2, 4)), {w})", w=("R.var('w'), units=5", "V((5, 4)), out_dtype='float64'")
    ),
    "R.nn.dense(V((2, 3, 4), 'uint8'), V((5, 4), 'int8'), out_dtype='int32')",
    *grid(
        "R.nn.matmul(V((4, 4)), V((4, 4)), {w})",
        w=("", "transpose_a=True", "transpose_b=True", "units=4", "out_dtype='float64'"),
    ),
    *grid(
        "R.nn.batch_matmul(V((A, 4, 4)), V((1, 4, 4)), {w})",
        w=("", "transpose_a=True", "transpose_b=False", "out_dtype='float64'"),
    ),
    *grid(
        "R.nn.{op}(V((2, 3, A)), {axis})",
        op=("softmax", "log_softmax", "fast_softmax"),
        axis=("axis=0", "axis=-2"),
    ),
    *grid("R.nn.prelu(V((2, 3, A)), R.var('w'), {axis})", axis=("", "axis=0", "axis=2")),
    "R.nn.leaky_relu(V((2, 3)), 0.25)",
    *grid(
        "R.nn.lrn(V((2, 3, 4, 5)), {w})",
        w=("", "size=3", "axis=3", "bias=1.5", "alpha=.5, beta=.25"),
    ),
    *grid("R.nn.l2_normalize(V((2, 3, 4)), {w})", w=("1e-4", "0.5, [1]", "0.5, [0, 2]")),
    *grid(
        "R.nn.{op}(V((2, 3, 4)), V(({n},)), V(({n},)), {w})",
        op=("layer_norm",),
        n=(4,),
        w=("", "epsilon=.5", "center=False", "scale=False"),
    ),
    *grid("R.nn.layer_norm(V((2, 3, 4)), V((3,)), V((3,)), axis={a})", a=(1, -2)),
    *grid("R.nn.instance_norm(V((2, 3, 4)), V((3,)), V((3,)), {w})", w=("", "epsilon=.5")),
    *grid("R.nn.instance_norm(V((2, 3, 4)), V((4,)), V((4,)), axis={a})", a=(2,)),
    *grid(
        "R.nn.group_norm(V((2, 4, 5)), V((4,)), V((4,)), 2, {w})",
        w=("", "epsilon=.5", "center=False", "scale=False"),
    ),
    *grid(
        "R.nn.batch_norm(V((2, 3, 3)), R.var('a'), R.var('b'), R.var('c'), R.var('d'), {w})",
        w=("", "axis=2", "epsilon=.5", "center=False", "scale=False"),
    ),
    *grid("R.nn.bias_add(V((2, 3, A)), R.var('w'), {a})", a=("", "0", "-2")),
    *grid(
        "R.nn.{op}({w})",
        op=("depth_to_space",),
        w=("V((1, 8, 2, A)), 2", "V((1, 8, 2, 3)), 2, mode='CRD'", "V((1, 2, 3, 8)), 2, 'NHWC'"),
    ),
    *grid("R.nn.space_to_depth({w})", w=("V((1, 2, 4, A)), 2", "V((1, 4, 6, 2)), 2, 'NHWC'")),
    *grid("R.nn.dropout(V((2, 3)), {w})", w=("", "0.25")),
    *grid(
        "R.nn.nll_loss(V((2, 5, 3)), V((2, 3), 'int32'), V((5,)), {w})",
        w=("", "'sum'", "'none'", "'mean', 2"),
    ),
    *grid("R.nn.dilate(V((2, A)), {w})", w=("(2, 1)", "(3, 2), 1.5")),
    # Reductions, order
    *grid(
        "R.{op}(V((2, A, 4)), {w})",
        op=("sum", "max", "mean", "prod", "std", "variance", "logsumexp"),
        w=("", "1", "(0, 2), True", "-1"),
    ),
    *grid("R.{op}(V((2, 3, 4)), 1, {k}, True)", op=("min", "mean", "prod"), k=(False, True)),
    *grid("R.{op}(V((2, 3), 'bool'), {w})", op=("all", "any"), w=("", "1, True", "0, False, True")),
    *grid(
        "R.{op}(V((2, 3, 4)), {w})",
        op=("argmax", "argmin"),
        w=("", "1", "1, True", "(1,), False, True", "1, select_last_index=True"),
    ),
    *grid("R.variance(V((2, 3)), 1, {w})", w=("unbiased=True", "False, True, True")),
    *grid(
        "R.{op}(V((2, 3)), {w})",
        op=("cumsum", "cumprod"),
        w=("", "1", "0, 'float64'", "1, None, True"),
    ),
    *grid("R.sort(V((2, 3)), {w})", w=("", "0", "-1, False")),
    *grid("R.argsort(V((2, 3)), {w})", w=("", "0", "-1, False", "dtype='int64'")),
    *grid(
        "R.topk(V((4, 5)), {w})",
        w=(
            "",
            "3, 0",
            "2, ret_type='values'",
            "2, ret_type='indices', dtype='int64'",
            "2, is_ascend=True",
            "0",
        ),
    ),
    # Shapes and indices
    *grid(
        "R.strided_slice(V((5, 6, A)), {w})",
        w=(
            "[1], [4]",
            "[1, -3], [4, 6], [2, 1]",
            "[4, 0], [0, 6], [-2, 1]",
            "[1, 2], [2, -1], slice_mode='size'",
            "[1, 0], [4, 3], [1, 2], axes=[0, 1]",
            "[0], [2], axes=[2]",
        ),
    ),
    *grid(
        "R.take(V((3, 4, A)), V((2, 5), 'int32'), {w})",
        w=("", "1", "-1", "2, 0, 'wrap'", "0, mode='fast'"),
    ),
    "R.take(V((2, 4, 5)), V((2, 3), 'int32'), 1, 1)",
    *grid("R.gather(V((3, 4)), {a}, V((3, 2), 'int64'))", a=(1, -1)),
    *grid("R.gather_nd(V((2, 3, 4)), V(({m}, 5), 'int32'), {b})", m=(1, 2), b=(0,)),
    "R.gather_nd(V((2, 3, 4)), V((1, 2), 'int32'), 1)",
    *grid("R.one_hot(V((2, A), 'int32'), C(1.), C(0.), 4, {w})", w=("0, 'float32'", "-1, 'int8'")),
    *grid("R.repeat(V((2, A)), 3, {a})", a=("0", "1", "-1")),
    *grid("R.stack([V((2, 3)), V((2, A))], {a})", a=("0", "1", "-1")),
    *grid("R.split(V((6, A)), {w})", w=("3", "(1, 4)", "2, 0", "(2,), -2", "1")),
    *grid("R.reverse(V((2, 3)), {a})", a=("0", "-1")),
    *grid("R.reverse_sequence(V((3, 4)), V(({n},), 'int32'), {a})", n=(3, 4), a=("1, 0", "0, 1")),
    *grid("R.sequence_mask(V((3, 4)), V(({n},), 'int32'), {w})", n=(3, 4), w=("", "1.5", "0., 1")),
    *grid("R.expand_dims(V((2, A)), {w})", w=("0", "-1", "1, 2")),
    *grid("R.squeeze(V((1, A, 1)), {a})", a=("[0]", "[-1]", "[0, 2]")),
    *grid(
        "R.reshape(V((2, A, 4)), {w})",
        w=("(0, -1)", "(-3, 4)", "(-2,)", "(-4, 1, 2, -2)", "(0, 0, 0)", "(0, -1), allowzero=True"),
    ),
    *grid(
        "R.reshape_like(V((2, 3, 4)), V((6, 4)), {w})",
        w=("", "0, 2, 0, 1", "lhs_begin=2, rhs_begin=1"),
    ),
    *grid("R.arange(C(1.), C(9.), C(2.), {w})", w=("", "'float32'")),
    *grid("R.meshgrid([V((2,)), V((A,))], {w})", w=("", "'xy'")),
    *grid("R.matrix_set_diag(V((3, 4)), V(({n},)), {w})", n=(3,), w=("", "1", "0, 'LEFT_LEFT'")),
    "R.matrix_set_diag(V((3, 4)), V((2, 3)), (0, 1))",
    *grid("R.trilu(V((3, A)), C(1), {u})", u=(True, False)),
    *grid(
        "R.scatter_elements(V((3, 4)), V((3, 2), 'int64'), V((3, 2)), {w})",
        w=("", "1", "-1, 'add'", "0, 'min'", "0, 'mean'"),
    ),
    *grid("R.scatter_nd(V((3, 4)), V((1, 2), 'int64'), V((2, 4)), {w})", w=("", "'add'", "'max'")),
    *grid("R.slice_like(V((5, 6)), V((2, 3)), {a})", a=("None", "(1,)", "(-2,)")),
    *grid("R.layout_transform(V((2, 8, 3, 4)), {w})", w=("'NCHW', 'NHWC'", "'NCHW', 'NCHW4c'")),
    *grid("R.unique(V((A,), 'int32'), {w})", w=("", "False", "True, True")),
    *grid("R.searchsorted(V((2, 5)), V((2, 3)), {w})", w=("", "True", "False, 'int64'")),
    *grid("R.sliding_window(V((2, 7, 9)), {w})", w=("1, [2, 3], [1, 2]", "2, [3], [3]")),
    *grid("R.stft(V((2, 16)), 4, 2, 4, V((4,)), {w})", w=("False, True", "True, False")),
    *grid("R.clip(V((2, A)), {w})", w=("-1.5, 2", "0, 255")),
    *grid("R.cast(V((2, A)), '{t}')", t=("int8", "bool", "float16", "uint8")),
    *grid("R.full(C(3), {w})", w=("(2, 3)", "(2, 3), 'float32'", "()")),
    # Images
    *grid(
        "R.image.resize2d(V((1, 3, 8, A)), (4, 5), {w})",
        w=(
            "",
            "layout='NHWC'",
            "method='cubic'",
            "coordinate_transformation_mode='asymmetric'",
            "rounding_method='round'",
            "cubic_alpha=-.75, cubic_exclude=1",
            "out_dtype='float64'",
            "roi=(0., 0., 1., 1.)",
        ),
    ),
    *grid("R.image.resize1d(V((1, 3, A)), (4,), {w})", w=("", "layout='NCW', method='linear'")),
    *grid("R.image.resize3d(V((1, 3, 4, 5, 6)), (4, 5, 2), {w})", w=("", "method='cubic'")),
    *grid(
        "R.image.crop_and_resize(V((1, 9, 9, 3)), V((2, 4)), V((2,), 'int32'), (4, 5), "
        "'NHWC', {w})",
        w=("", "'nearest_neighbor'", "extrapolation_value=1.5", "out_dtype='float64'"),
    ),
    *grid(
        "R.image.grid_sample(V((1, 3, 8, 9)), V((1, 2, 4, A)), {w})",
        w=("", "'nearest'", "padding_mode='border'", "align_corners=False"),
    ),
    *grid(
        "R.image.dilation2d(V((1, 3, 8, 9)), V((3, 3, 2)), {w})",
        w=("", "strides=(2, 1)", "padding=(1, 0)", "dilations=(2, 1)", "out_dtype='float64'"),
    ),
    # Quantized
    *grid("R.qnn.op.quantize(V((2, A)), C(.5), C(3), {w})", w=("", "out_dtype='uint8'", "axis=0")),
    "R.qnn.op.quantize(V((2, 3)), C([.5, 1., 2.]), C([1, 2, 3]), axis=1)",
    *grid(
        "R.qnn.op.dequantize(V((2, A), 'int8'), C(.5), C(3), {w})",
        w=("", "axis=0", "out_dtype='float16'"),
    ),
    *grid(
        "R.qnn.op.requantize(V((2, 3), 'int32'), C(.5), C(3), C(.25), C(5), {w})",
        w=(
            "",
            "axis=1",
            "rounding='TONEAREST', compute_dtype='int64'",
            "out_dtype='uint8'",
            "compute_dtype='float32'",
        ),
    ),
    *grid(
        "R.qnn.op.conv2d(V((1, 4, 8, 9), 'uint8'), V((6, 4, 3, 2), 'int8'), C(3), C(0), C(.5), "
        "C(.25), (3, 2), 6, {w})",
        w=("", "(2, 1)", "padding=(1, 0)", "dilation=(2, 1)", "out_dtype='int16'"),
    ),
    *grid(
        "R.qnn.op.conv2d_transpose(V((1, 4, 5, 6), 'uint8'), V((4, 6, 3, 2), 'int8'), C(3), C(0), "
        "C(.5), C(.25), channels=6, kernel_size=(3, 2), {w})",
        w=("", "strides=(2, 1)", "padding=(1, 0)", "strides=(2, 2), output_padding=(1, 0)"),
    ),
    *grid(
        "R.qnn.op.{op}(V((2, 3), 'uint8'), V((3,), 'uint8'), C(.5), C(1), C(.25), C(2), C(1.), "
        "C(3), {w})",
        op=("add", "mul", "subtract"),
        w=("", "lhs_axis=0", "rhs_axis=0"),
    ),
]
