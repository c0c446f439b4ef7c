"""Calls of detection operators, packed bits and random numbers, in the form of `calls.py`."""

from __future__ import annotations

from tests.relay.op.attribute_calls import grid

BOXES = "V((1, 9, 6)), V((1,), 'int32'), V((1, 9), 'int32')"
X, W, HOLE = "V((1, 4, 8, 8))", "V((6, 4, 3, 3))", "R.var('o')"

VISION_CALLS = [
    *grid(
        "R.vision.multibox_prior(V((2, 3, 4, 5)), {a})",
        a=("", "(0.2, 0.3), (1, 2, 0.5)", "steps=(0.1, 0.2)", "offsets=(0, 1)", "clip=True"),
    ),
    "R.vision.multibox_prior(V((2, 3, 4)))",
    *grid(
        "R.vision.multibox_transform_loc(V((A, 3, 7)), V((A, 28)), V((1, 7, 4)), {a})",
        a=("", "clip=False, threshold=0.5", "variances=(1, .5, 2., 3)", "keep_background=True"),
    ),
    "R.vision.multibox_transform_loc(V((1, 3, 7)), V((1, 29)), V((1, 7, 4)))",
    "R.vision.multibox_transform_loc(V((1, 3, 7)), V((1, 28)), V((1, 8, 4)))",
    "R.vision.get_valid_counts(V((A, 9, 6)), 0)",
    "R.vision.get_valid_counts(V((2, 9, 6)), V(()), id_index=-1, score_index=0)",
    "R.vision.get_valid_counts(V((2, 9)), 0)",
    *grid(
        f"R.vision.non_max_suppression({BOXES}, {{a}})",
        a=(
            "",
            "V((), 'int32'), V(())",
            "3, 0.25, True, 5",
            "coord_start=1, score_index=0, id_index=-1",
            "return_indices=False, invalid_to_bottom=True",
        ),
    ),
    "R.vision.non_max_suppression(V((9, 6)), V((1,), 'int32'), V((1, 9), 'int32'))",
    *grid(
        "R.vision.all_class_non_max_suppression(V(({n}, 9, 4)), V((2, 3, 9)), {a})",
        n=("2", "A"),
        a=("", "4, 0.5, 0.25", "output_format='tensorflow'"),
    ),
    "R.vision.all_class_non_max_suppression(V((2, 9, 4)), V((3, 9)))",
    "R.vision.regular_non_max_suppression(V((2, 9, 4)), V((2, 9, 3)), 3, 7, 2, 0.3, 0.2)",
    *grid(
        "R.vision.roi_align(V((1, 3, A, 9)), V((5, 5)), (2, 3), 0.5, {a})",
        a=("", "2", "mode='max'", "layout='NHWC'", "layout='HWCN'"),
    ),
    *grid(
        "R.vision.roi_pool(V((1, 3, 8, 9)), V(({n}, 5)), (2, 3), 0.5, {a})",
        n=("5", "A"),
        a=("", "layout='NHWC'"),
    ),
    "R.vision.roi_pool(V((1, 3, 8, 9)), V((5,)), (2, 3), 0.5)",
    *grid(
        "R.vision.proposal(V((2, 6, 4, 5)), V((2, 12, 4, 5)), V((2, 3)), [8.], [.5, 1, 2], {a})",
        a=("16, .7, 100, 10, 16, False", "8, .5, -1, 5, 4, True"),
    ),
    "R.vision.proposal(V((2, 6, 4, 5)), V((2, 12, 4, 5)), V((2, 4)), [8.], [.5, 1, 2], 16, .7, "
    "100, 10, 16, False)",
    "R.vision.yolo_reorg(V((1, 4, 6, 8)), 2)",
    *grid(
        f"R.nn.deformable_conv2d({X}, {{o}}, {{w}}, channels=6, {{a}})",
        o=(HOLE,),
        w=(W, "R.var('w')"),
        a=(
            "kernel_size=(3, 3)",
            "kernel_size=(3, 3), padding=1, deformable_groups=2",
            "kernel_size=(3, 3), strides=(2, 1), dilation=(1, 2), out_dtype='float64'",
        ),
    ),
    f"R.nn.deformable_conv2d({X}, {HOLE}, {W}, channels=6)",
    f"R.nn.deformable_conv2d({X}, V((1, 17, 6, 6)), {W}, channels=6)",
    f"R.nn.deformable_conv2d({X}, {HOLE}, V((6, 3, 3, 3)), channels=6)",
    f"R.nn.deformable_conv2d({X}, {HOLE}, V((6, 2, 3, 3)), channels=6, groups=2)",
    f"R.nn.deformable_conv2d(V((1, 8, 8, 4)), {HOLE}, R.var('w'), channels=6, kernel_size=(3, 2), "
    "data_layout='NHWC', kernel_layout='HWIO', out_layout='NCHW')",
    *grid(
        "R.nn.correlation(V((1, 4, 9, 8)), V((1, 4, 9, 8)), {a}, 'NCHW')",
        a=("1, 4, 1, 1, 4, True", "3, 4, 2, 2, (4, 4, 5, 5), False", "1, 2, 3, 1, (0, 0), True"),
    ),
]
