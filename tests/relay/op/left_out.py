"""Operators and functions of TVM 0.16 that byoc_lab lacks, with reasons, and stricter checks."""

from __future__ import annotations

FORK = "the fork has it, upstream TVM 0.16 does not"
WINOGRAD = "made by AlterOpLayout for one target's schedule; no importer emits it"
VM = "made by the lowering to TVM's virtual machine, which byoc_lab does not support"
ETHOS = "a layer of the Arm Ethos-U back end, made by its own passes"
TRAINING = "only training needs it; byoc_lab compiles for inference"
SPARSE = "made by the pass that makes weights sparse; no importer of inference networks emits it"
BITS = "arithmetic on packed bits, of one target's schedules; no importer emits it"
RANDOM = "draw random numbers with NumPy, and pass them as inputs or constants"
TUNING = "made by a tuner for the layout that it found"

VISION_OF_THE_FORK = (
    "categorical",
    "extract_image_patches",
    "invert_permutation",
    "max_pool2d_location",
    "psroipooling",
    "standard_normal",
    "unpooling",
)

# Names, or their prefixes -> reason.
LEFT_OUT: dict[str, str] = {
    "annotation.bitpack_": "marks of the VTA accelerator's graph packing",
    "annotation.cast_hint": "a mark of the old automatic quantization, relay.quantize",
    "annotation.with_funcid": FORK,
    "auto_scheduler_layout_transform": TUNING,
    "cache_": FORK,
    "call_lowered": "made by the lowering to TIR, which byoc_lab does not support",
    "celu": FORK,
    "contrib.ethosu.": ETHOS,
    "debug": "calls a Python function of TVM's debugger while the network runs",
    "hardmax": FORK,
    "hardswish": FORK,
    "memory.": VM,
    "meta_schedule_layout_transform": TUNING,
    "nn.avg_pool2d_grad": TRAINING,
    "nn.bitpack": BITS,
    "nn.bitserial_": BITS,
    "nn.contrib_conv2d_gemm_": WINOGRAD,
    "nn.contrib_conv2d_winograd_": WINOGRAD,
    "nn.contrib_conv3d_winograd_": WINOGRAD,
    "nn.fsmn": FORK,
    "nn.internal.sparse_dense_padded": "made by AlterOpLayout for CUDA",
    "nn.conv2d_backward_weight": TRAINING,
    "nn.max_pool2d_grad": TRAINING,
    "nn.max_pool2d_with_argmax": FORK,
    "nn.sparse_": SPARSE,
    "nn.swish": FORK,
    "parser.MetaRef": "internal to the parser, which removes it",
    "relay.op.annotation.simulated_quantize": "the old automatic quantization, relay.quantize",
    "scatter": FORK,
    "random.": RANDOM,
    "segment_": FORK,
    "sparse_": SPARSE,
    "dyn.sparse_": SPARSE,
    **{f"vision.{name}": FORK for name in VISION_OF_THE_FORK},
    "vm.": VM,
    "where_softmax": FORK,
}

# Functions that byoc_lab lacks, or that have other parameters in the fork -> reason.
FUNCTIONS: dict[str, str] = {
    "copy_shape_func": "a shape function, which only TVM's virtual machine calls",
    "segment_prod": FORK,
    "nn.contrib_conv2d_gemm_weight_transform": WINOGRAD,
    "nn.contrib_conv2d_gemm_without_weight_transform": WINOGRAD,
    "nn.contrib_conv2d_winograd_nnpack_weight_transform": WINOGRAD,
    "nn.contrib_conv2d_winograd_weight_transform": WINOGRAD,
    "nn.contrib_conv2d_winograd_without_weight_transform": WINOGRAD,
    "nn.contrib_conv3d_winograd_weight_transform": WINOGRAD,
    "nn.contrib_conv3d_winograd_without_weight_transform": WINOGRAD,
    "dyn.sparse_": SPARSE,
    "nn.avg_pool2d_grad": TRAINING,
    "nn.bitpack": BITS,
    "nn.bitserial_": BITS,
    "nn.conv2d_backward_weight": TRAINING,
    "nn.max_pool2d_grad": TRAINING,
    "nn.max_pool2d_with_argmax": FORK,
    "nn.sparse_": SPARSE,
    "random.": RANDOM,
    "sparse_": SPARSE,
    "qnn.op.requantize_config": "TVM's function accepts any keyword; it refuses unknown ones later",
    "qnn.op.leaky_relu": "the fork's Python function has fewer parameters than its operator",
    "annotation.function_on_device": "the fork's Python code calls a missing C++ function",
    **{f"vision.{name}": FORK for name in VISION_OF_THE_FORK},
}

# Calls that TVM types but cannot compute: byoc_lab refuses them.
STRICTER = {"nn.dense(V((2, 4)), V((3, 5)))"}

# Calls with other types than in TVM -> reason.
SWAPPED = "TVM 0.16 swaps the height and the width of the kernel"
OTHERWISE: dict[str, str] = {
    "R.nn.conv2d_transpose(V((2, 4, 5, 6)), V((4, 3, 3, 2)), groups=2, channels=6)": "TVM 0.16 "
    "infers the channels of one group, but computes the channels of both groups",
    **{
        f"R.nn.conv3d_transpose(V((2, 4, 5, 6, 7)), V((4, 6, 3, 2, 3)), {attrs})": SWAPPED
        for attrs in (
            "",
            "strides=(2, 1, 3)",
            "strides=(2, 2, 2), output_padding=(1, 0, 1)",
            "padding=1",
        )
    },
}

# Arguments without a type that byoc_lab infers and TVM does not ("sample, argument").
SOLVED = {  # grouped convolutions: TVM compares its channels with the channels of all groups
    "nn.conv2d(%x0, %x1, groups=2, channels=6, kernel_size=[3, 3]), 1",
    "nn.conv2d(%x0, %x1, groups=4, channels=4, kernel_size=[3, 3]), 1",
}
