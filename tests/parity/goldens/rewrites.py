"""The golden files of the printer and of all passes except those of BYOC."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import cases
from ..cases import fake_quantized, layouts, lowering, mixing, padding, symbolic
from .entry import (
    CHAINS,
    CONSTANT_CHAINS,
    DNNL_PIPELINE,
    DNNL_TABLE,
    FOLD_SCALE_AXIS,
    FOLDED,
    TO_DNNL,
    Golden,
    annotate,
    registered,
)

BATCH_NORM_FOLDING = ["InferType", "SimplifyInference", "FoldConstant", "FoldScaleAxis"]
SCALES = (
    "after_conv", "after_relu", "after_relu_negative", "after_bias", "after_bias_add",
    "after_depthwise", "after_grouped", "after_shared", "after_sum", "after_dense",
    "after_conv_scalar", "after_conv_variable_weight", "before_conv", "before_relu",
    "before_two_convs", "before_conv_shared", "before_projected", "before_gates",
    "after_gate_of_scaled", "after_blocked", "after_blocked_channels_last",
    "after_blocked_relu_and_bias", "after_blocked_scalar", "after_mixed_blocks",
    "after_blocked_depthwise", "after_blocked_conv3d", "before_blocked",
    "before_blocked_channels_last", "before_blocked_relu", "before_blocked_depthwise",
)  # fmt: skip
TO_CHANNELS_FIRST = {
    "nn.conv2d": ["NCHW", "default"],
    "qnn.conv2d": ["NCHW", "default"],
    "nn.conv2d_transpose": ["NCHW", "default"],
    "nn.conv3d": ["NCDHW", "default"],
}
TRANSPOSED = "qnn.conv2d_transpose"
TO_CHANNELS_LAST = {"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]}
NORMS = (
    "plain", "channels_last", "unscaled", "uncentred", "second_result_used", "dropout",
)  # fmt: skip
QUANTIZED = (
    "quantize", "quantize_channels", "dequantize", "requantize", "convolution", "dense", "add",
    "mul", "concatenate", "weights",
)  # fmt: skip


def _printing() -> Iterator[Golden]:
    partitioned = ("InferType", annotate("all_inputs"), "PartitionGraph")
    yield Golden("conv_bn_relu.two_blocks", (), None, "_untyped")
    yield Golden("conv_bn_relu.two_blocks", ("InferType",), None, "_typed")
    yield Golden("conv_bn_relu.two_blocks", ("InferType", annotate("vars")), None, "_annotated")
    yield Golden("conv_bn_relu.two_blocks", partitioned, None, "_partitioned")
    yield Golden("conv_bn_relu.one_block_constants", ("InferType",), None)
    yield Golden("networks.small_net_constants", ("InferType",), None)
    yield Golden("networks.small_net_constants", (*FOLDED, DNNL_TABLE), None, "_composite")
    yield Golden("networks.small_net_constants", DNNL_PIPELINE, None, "_partitioned")
    yield Golden("networks.small_net_constants", ("ToANormalForm",), None, "_anf")
    yield Golden("networks.mobilenet", ("InferType",), None)
    yield Golden("networks.mobilenet", ("SimplifyInference",), None, "_simplified")
    yield Golden("tagged_calls.lets", ("InferType",), None)
    tagged = {"pass": "MergeComposite", "table": "match_key.call"}
    yield Golden("tagged_calls.lets", ("InferType", tagged), None, "_composite")
    for name in ("projections", "branches", "let", "constant_operand"):
        yield Golden(f"annotatable.{name}", ("InferType",), None)
    for name in (*cases.texts("lets"), *cases.texts("folding"), *cases.texts("functions")):
        yield Golden(name, (), None)


def _inference() -> Iterator[Golden]:
    for name in CHAINS:
        yield Golden(f"conv_bn_relu.{name}", (), "InferType")
    for name in (
        "networks.small_net",
        "composites.chain",
        "norms.plain",
        "norms.channels_last",
        "annotatable.projections",
        "annotatable.branches",
        "annotatable.let",
        "annotatable.constant_operand",
        "tagged_calls.single",
        "tagged_calls.lets",
    ):
        yield Golden(name, (), "InferType")


def _symbolic_lengths() -> Iterator[Golden]:
    for name in symbolic.NAMES:
        yield Golden(f"symbolic.{name}", (), "InferType")
    before: tuple[Any, ...] = ("InferType",)
    for step in (DNNL_TABLE, TO_DNNL, "MergeCompilerRegions", "PartitionGraph"):
        yield Golden("symbolic.network", before, step)
        before = (*before, step)
    for step in ("FuseOps", "ToANormalForm", "EliminateCommonSubexpr"):
        yield Golden("symbolic.network", ("InferType",), step)


def _simplifying() -> Iterator[Golden]:
    for name in NORMS:
        yield Golden(f"norms.{name}", ("InferType",), "SimplifyInference")
    for name in (*CHAINS, *CONSTANT_CHAINS):
        yield Golden(f"conv_bn_relu.{name}", ("InferType",), "SimplifyInference")
    annotated = ("InferType", annotate("vars"))
    yield Golden("conv_bn_relu.one_block", annotated, "SimplifyInference", "_annotated")
    partitioned = (*annotated, "PartitionGraph")
    yield Golden("conv_bn_relu.one_block", partitioned, "SimplifyInference", "_partitioned")
    for name in ("small_net", "mobilenet"):
        yield Golden(f"networks.{name}", ("InferType",), "SimplifyInference")


def _folding() -> Iterator[Golden]:
    for name in (*cases.texts("folding"), "functions/external"):
        yield Golden(name, (), "FoldConstant")
    simplified = ("InferType", "SimplifyInference")
    for name in CONSTANT_CHAINS:
        case = f"conv_bn_relu.{name}"
        yield Golden(case, simplified, "FoldConstant")
        yield Golden(case, (*simplified, "FoldConstant"), FOLD_SCALE_AXIS)
        yield Golden(case, ("InferType", annotate("all_inputs")), "FoldConstant", "_annotated")
    at_default_level = Golden(
        "conv_bn_relu.one_block_constants",
        (*simplified, "FoldConstant"),
        "FoldScaleAxis",
        "_default_level",
    )
    yield at_default_level
    for name in SCALES:
        yield Golden(f"scales.{name}", ("InferType",), FOLD_SCALE_AXIS)
    for name in ("networks.small_net", "networks.mobilenet", "conv_bn_relu.two_blocks"):
        yield Golden(name, simplified, FOLD_SCALE_AXIS, "_variables")
    for level in (2, 3):
        step = {"sequential": BATCH_NORM_FOLDING, "opt_level": level}
        yield Golden("conv_bn_relu.two_blocks_constants", (), step, f"_level_{level}")


def _let_and_functions() -> Iterator[Golden]:
    for name in cases.texts("lets"):
        for step in (
            "ToANormalForm",
            "ToBasicBlockNormalForm",
            "ToGraphNormalForm",
            "DeadCodeElimination",
        ):
            yield Golden(name, (), step)
        inline = {"pass": "DeadCodeElimination", "inline_once": True}
        yield Golden(name, (), inline, "_inline_once")
    impure = {"pass": "DeadCodeElimination", "ignore_impurity": True}
    yield Golden("lets/reference", (), impure, "_ignore_impurity")
    yield Golden("functions/unused", (), "RemoveUnusedFunctions")
    entries = {"pass": "RemoveUnusedFunctions", "entry_functions": ["main", "unused"]}
    yield Golden("functions/unused", (), entries, "_two_entries")
    yield Golden("functions/external", (), "ToANormalForm")
    for name in cases.texts("scopes"):
        yield Golden(name, (), "ToBasicBlockNormalForm")


def _fusing() -> Iterator[Golden]:
    typed, folded = ("InferType",), ("InferType", "FoldConstant")
    for name in cases.texts("fusing"):
        yield Golden(name, typed, "FuseOps")
    apart = {"pass": "FuseOps", "fuse_opt_level": 0}
    short = {"pass": "FuseOps", "config": {"relay.FuseOps.max_depth": 3}}
    linked = {"pass": "FuseOps", "config": {"relay.FuseOps.link_params": True}}
    for name in ("diamond", "tuples", "scopes"):
        yield Golden(f"fusing/{name}", typed, apart, "_level_0")
        yield Golden(f"fusing/{name}", typed, short, "_short")
        yield Golden(f"fusing/{name}", (*typed, "FuseOps"), "DefuseOps")
    yield Golden("fusing/constants", folded, "FuseOps", "_folded")
    yield Golden("fusing/constants", folded, linked, "_linked")
    for name in ("networks.small_net", "networks.mobilenet", "conv_bn_relu.two_blocks_constants"):
        yield Golden(name, ("InferType", "SimplifyInference"), "FuseOps")
    yield Golden("networks.small_net_constants", DNNL_PIPELINE, "FuseOps", "_partitioned")


def _mixing() -> Iterator[Golden]:
    keeps = {"relay.ToMixedPrecision.keep_orig_output_dtype": True}
    for name in mixing.NAMES:
        for dtype in ("float16", "bfloat16"):
            step = {
                "pass": "ToMixedPrecision", "mixed_precision_type": dtype, "missing_op_mode": 2,
            }  # fmt: skip
            yield Golden(f"mixing.{name}", ("InferType",), step, f"_{dtype}")
        kept = {"pass": "ToMixedPrecision", "missing_op_mode": 2, "config": keeps}
        yield Golden(f"mixing.{name}", ("InferType",), kept, "_kept")


def _quantized() -> Iterator[Golden]:
    for name in QUANTIZED:
        whole = {"pass": "FoldConstant", "fold_qnn": True}
        yield Golden(f"quantized.{name}", ("InferType",), "FoldConstant")
        yield Golden(f"quantized.{name}", ("InferType",), whole, "_folded")


def _lowering() -> Iterator[Golden]:
    typed = ("InferType",)
    plain = {"pass": "Legalize", "legalize_map_attr_name": "FTVMQnnCanonicalize"}
    tables = {"pass": "Legalize", "legalize_map_attr_name": "FTVMQnnLegalize"}
    for name in lowering.NAMES:
        yield Golden(f"lowering.{name}", typed, plain, "_plain")
    for name in cases.texts("quantizing"):
        yield Golden(name, typed, plain, "_plain")
    # TVM rounds floats by casts on a machine without SSE 4.1.
    yield Golden("lowering.requantize_real", typed, {**plain, "target": "c"}, "_plain")
    yield Golden("lowering.transposed", typed, tables, "_tables")
    yield Golden("quantizing/functions", typed, tables, "_tables")


def _simplifying_expressions() -> Iterator[Golden]:
    typed = ("InferType",)
    yield Golden("canonical/bias_add", typed, "CanonicalizeOps")
    for name in cases.texts("canonical"):
        yield Golden(name, typed, "EliminateCommonSubexpr")
    for name in cases.texts("simplifying"):
        yield Golden(name, typed, "SimplifyExpr")
    folded = (*FOLDED, "CanonicalizeOps", "InferType")
    for name in ("small_net_constants", "mobilenet_constants"):
        yield Golden(f"networks.{name}", folded, "SimplifyExpr")
        yield Golden(f"networks.{name}", FOLDED, "EliminateCommonSubexpr")
        yield Golden(f"networks.{name}", FOLDED, "CanonicalizeOps")


def _data_types() -> Iterator[Golden]:
    for name in cases.texts("adt"):
        yield Golden(name, (), None)
        for step in ("InferType", "ToANormalForm", "ToGraphNormalForm", "FoldConstant"):
            yield Golden(name, (), step)
        inline = {"pass": "DeadCodeElimination", "inline_once": True}
        yield Golden(name, (), "DeadCodeElimination")
        yield Golden(name, (), inline, "_inline_once")


def _layouts() -> Iterator[Golden]:
    to_first = {"pass": "ConvertLayout", "desired_layouts": TO_CHANNELS_FIRST}
    to_last = {"pass": "ConvertLayout", "desired_layouts": TO_CHANNELS_LAST}
    typed = ("InferType",)
    for name in layouts.NAMES:
        yield Golden(f"layouts.{name}", typed, to_first)
    for name in ("depthwise", "channels_first", "blocks"):
        yield Golden(f"layouts.{name}", typed, to_last, "_to_last")
    for name in ("relu", "pooled", "channels", "blocked_bias", "one_blocked_bias"):
        yield Golden(f"layouts.{name}", typed, registered("AlterOpLayout", "channels_first"))
    canonical = ("InferType", "CanonicalizeOps")
    for name in ("bias_add", "quantized"):
        yield Golden(f"layouts.{name}", canonical, to_first, "_canonical")
    yield Golden("layouts.chain", typed, registered("AlterOpLayout", "weight_only"))
    yield Golden("layouts.blocks", typed, registered("AlterOpLayout", "pool_in_blocks"))
    yield Golden("layouts.narrow", canonical, registered("AlterOpLayout", "data_in_blocks"))
    for name, op in (("resized", "image.resize2d"), ("quantized_transposed", TRANSPOSED)):
        wanted = ["NCHW", "default"] if op == TRANSPOSED else ["NCHW"]
        chosen = {"pass": "ConvertLayout", "desired_layouts": {op: wanted}}
        yield Golden(f"layouts.{name}", typed, chosen, "_chosen")
    for name in ("chain", "channels_first"):
        yield Golden(f"layouts.{name}", typed, registered("Legalize", "scaled"))


def _fake_quantized() -> Iterator[Golden]:
    typed, integers = ("InferType",), "FakeQuantizationToInteger"
    for name in (*fake_quantized.NAMES, "single"):
        yield Golden(f"fake_quantized.{name}", typed, integers)
    one_by_one = {"pass": integers, "use_qat": True}
    yield Golden("fake_quantized.single", typed, one_by_one, "_qat")
    yield Golden("fake_quantized.quotients", typed, "DivToMul")


def _other_rewrites() -> Iterator[Golden]:
    # The smallest float32 number cannot be read back from a text with six digits.
    for name in sorted({*padding.NAMES} - {"max_pool"}):
        yield Golden(f"padding.{name}", ("InferType",), "FoldExplicitPadding")
    yield Golden("functions/costly", ("InferType",), "FastMath")
    taken = {"pass": "SimplifyFCTranspose", "target_weight_name": ["w", "v"]}
    yield Golden("weights/transposed", ("InferType",), taken)


def _combining() -> Iterator[Golden]:
    typed = ("InferType",)

    def combine(what: str, branches: int = 2, **options: Any) -> dict[str, Any]:
        return {"pass": f"CombineParallel{what}", "min_num_branches": branches, **options}

    yield Golden("parallel.convolutions", typed, combine("Conv2D"))
    yield Golden("parallel.convolutions", typed, combine("Conv2D", 3), "_three")
    yield Golden("parallel.dense", typed, combine("Dense"))
    for name in ("dense", "joined_dense", "moved_dense"):
        yield Golden(f"parallel.{name}", typed, combine("Dense", to_batch=False), "_joined")
    yield Golden("parallel.products", typed, combine("BatchMatmul"))


def _tidying() -> Iterator[Golden]:
    for name, step in (
        ("shapes", "DynamicToStatic"),
        ("casts", "CanonicalizeCast"),
        ("pieces", "FlattenAtrousConv"),
    ):
        yield Golden(f"tidying.{name}", ("InferType",), step)


GROUPS = (
    _printing,
    _inference,
    _symbolic_lengths,
    _simplifying,
    _folding,
    _let_and_functions,
    _fusing,
    _mixing,
    _quantized,
    _lowering,
    _simplifying_expressions,
    _data_types,
    _layouts,
    _fake_quantized,
    _other_rewrites,
    _combining,
    _tidying,
)
