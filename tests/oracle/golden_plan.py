"""Which golden files there are: one line each, case, what ran before, the pass.

Files lie at `tests/golden/<pass>/<case><suffix>.relay` and `tests/golden/print/...`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import cases
from .cases import fake_quantized, layouts, lowering, mixing, padding


@dataclass(frozen=True)
class Golden:
    """One golden file: the module that `before` makes of `case`, and what `step` makes of it.

    `step` is None for a golden of the printer alone. `suffix` tells files of one case apart.
    """

    case: str
    before: tuple[Any, ...]
    step: Any
    suffix: str = ""

    @property
    def steps(self) -> list[Any]:
        """All steps that are run: the ones before, and the one that the file is about."""
        return [*self.before, *([] if self.step is None else [self.step])]

    @property
    def path(self) -> str:
        """Where the file lies below `tests/golden`."""
        if self.step is None:
            folder = "print"
        elif isinstance(self.step, str):
            folder = self.step
        elif "dnnl" in self.step:
            folder = self.step["dnnl"]
        else:
            folder = self.step.get("pass", "Sequential")
        stem = self.case.replace("/", "_").replace(".", "_")
        return f"{folder}/{stem}{self.suffix}.relay"


FOLD_SCALE_AXIS = {"pass": "FoldScaleAxis", "opt_level": 3}
DNNL_WHOLE_TABLE = {"pass": "MergeComposite", "table": "contrib.dnnl"}
DNNL_TABLE = {"pass": "MergeComposite", "table": "dnnl"}
TO_DNNL = {"pass": "AnnotateTarget", "targets": ["dnnl"]}
FOLDED = ("InferType", "SimplifyInference", "FoldConstant", FOLD_SCALE_AXIS)
# The stages of the DNNL pipeline, each of which gets a golden file.
DNNL_PIPELINE = (
    "InferType",
    "SimplifyInference",
    "FoldConstant",
    FOLD_SCALE_AXIS,
    DNNL_TABLE,
    TO_DNNL,
    "MergeCompilerRegions",
    "PartitionGraph",
)
BATCH_NORM_FOLDING = ["InferType", "SimplifyInference", "FoldConstant", "FoldScaleAxis"]

CHAINS = ("one_block", "two_blocks", "three_blocks", "parallel_blocks")
CONSTANT_CHAINS = ("one_block_constants", "two_blocks_constants")
COMPOSITES = {
    "chain": "dnnl",
    "external_use": "dnnl",
    "rejected": "dnnl",
    "commuted": "dnnl",
    "constants": "dnnl",
    "diamonds": "diamond",
    "kernels": "attributes",
}
ANNOTATABLE = (
    "elementwise",
    "projections",
    "concatenated_results",
    "concatenated_mixture",
    "concatenated_variables",
    "constant_operand",
    "tuple_result",
    "branches",
    "let",
    "diamond",
    "two_outputs",
    "chain_of_four",
)
SCALES = (
    "after_conv",
    "after_relu",
    "after_relu_negative",
    "after_bias",
    "after_bias_add",
    "after_depthwise",
    "after_grouped",
    "after_shared",
    "after_sum",
    "after_dense",
    "after_conv_scalar",
    "after_conv_variable_weight",
    "before_conv",
    "before_relu",
    "before_two_convs",
    "before_conv_shared",
)
TO_CHANNELS_FIRST = {
    "nn.conv2d": ["NCHW", "default"],
    "qnn.conv2d": ["NCHW", "default"],
    "nn.conv2d_transpose": ["NCHW", "default"],
    "nn.conv3d": ["NCDHW", "default"],
}
TRANSPOSED = "qnn.conv2d_transpose"
TO_CHANNELS_LAST = {"nn.conv2d": ["NHWC", "default"], "nn.max_pool2d": ["NHWC"]}
NORMS = (
    "plain",
    "channels_last",
    "unscaled",
    "uncentred",
    "second_result_used",
    "dropout",
)

QUANTIZED = (
    "quantize",
    "quantize_channels",
    "dequantize",
    "requantize",
    "convolution",
    "dense",
    "add",
    "mul",
    "concatenate",
    "weights",
)


def targets(*names: str, **options: Any) -> dict[str, Any]:
    return {"pass": "AnnotateTarget", "targets": list(names), **options}


def registered(name: str, functions: str) -> dict[str, str]:
    return {"pass": name, "registered": functions}


def annotate(rule: str) -> dict[str, str]:
    return {"annotate": rule}


def plan() -> list[Golden]:
    """Every golden file, in a fixed order. Raises ValueError when two would share a path."""
    entries = [
        *_printing(),
        *_inference(),
        *_simplifying(),
        *_folding(),
        *_composites(),
        *_annotating(),
        *_annotated_samples(),
        *_annotated_chains(),
        *_tagged_calls(),
        *_let_and_functions(),
        *_data_types(),
        *_functions_in_and_out(),
        *_fusing(),
        *_mixing(),
        *_quantized(),
        *_lowering(),
        *_simplifying_expressions(),
        *_dnnl_pipelines(),
        *_dnnl_integration(),
        *_layouts(),
        *_fake_quantized(),
        *_other_rewrites(),
        *_combining(),
        *_tidying(),
        *_differentiating(),
    ]
    paths = [entry.path for entry in entries]
    if doubles := {path for path in paths if paths.count(path) > 1}:
        raise ValueError(f"golden files with the same path: {sorted(doubles)}")
    return entries


def longest_runs(entries: list[Golden]) -> list[tuple[str, list[Any]]]:
    """Runs (case, steps) of which every entry's steps are a beginning: no step runs twice."""
    runs: list[tuple[str, list[Any]]] = []
    for entry in sorted(entries, key=lambda entry: -len(entry.steps)):
        if not any(
            case == entry.case and steps[: len(entry.steps)] == entry.steps for case, steps in runs
        ):
            runs.append((entry.case, entry.steps))
    return runs


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


def _composites() -> Iterator[Golden]:
    for name, table in COMPOSITES.items():
        merge = {"pass": "MergeComposite", "table": table}
        yield Golden(f"composites.{name}", ("InferType",), merge)
    optional = {"pass": "MergeComposite", "table": "optional"}
    yield Golden("composites.constants", ("InferType",), optional, "_kept_inside")
    yield Golden("conv_bn_relu.two_blocks_constants", FOLDED, DNNL_TABLE)
    for name in ("chain", "rejected"):
        yield Golden(f"composites.{name}", ("InferType", DNNL_TABLE), "DefuseOps")


def _annotating() -> Iterator[Golden]:
    for name in ANNOTATABLE:
        case = f"annotatable.{name}"
        annotated = ("InferType", targets("A", "B"))
        yield Golden(case, ("InferType",), targets("A", "B"))
        yield Golden(case, annotated, "MergeCompilerRegions")
        yield Golden(case, annotated, "PartitionGraph", "_unmerged")
        yield Golden(case, (*annotated, "MergeCompilerRegions"), "PartitionGraph")
    yield Golden("annotatable.elementwise", ("InferType",), targets("B", "A"), "_b_first")
    for name in ("projections", "concatenated_results", "concatenated_variables", "tuple_result"):
        calls_only = targets("A", "B", include_non_call_ops=False)
        yield Golden(f"annotatable.{name}", ("InferType",), calls_only, "_calls_only")
    yield Golden("annotatable.chain_of_four", ("InferType", targets("A")), targets("B"), "_again")
    yield Golden("annotations/M42", (), targets("A"))
    for case in cases.texts("upstream"):
        yield Golden(case, (), "MergeCompilerRegions")
        yield Golden(case, (), "PartitionGraph")
    composite = ("InferType", DNNL_TABLE)
    yield Golden("composites.chain", composite, TO_DNNL)
    yield Golden("composites.rejected", composite, TO_DNNL)


def _annotated_samples() -> Iterator[Golden]:
    for name in cases.texts("annotations"):
        yield Golden(name, (), "MergeCompilerRegions")
        yield Golden(name, (), "PartitionGraph")
    # Where merging changes the regions, what is partitioned afterwards.
    for code in ("G2", "G3", "G4", "M4", "M25b", "M26", "M26b"):
        before = ("MergeCompilerRegions",)
        yield Golden(f"annotations/{code}", before, "PartitionGraph", "_merged")


def _annotated_chains() -> Iterator[Golden]:
    for name in CHAINS:
        case = f"conv_bn_relu.{name}"
        for rule in ("vars", "conv_args"):
            annotated = ("InferType", annotate(rule))
            yield Golden(case, annotated, "MergeCompilerRegions", f"_{rule}")
            yield Golden(case, annotated, "PartitionGraph", f"_{rule}")
            merged = (*annotated, "MergeCompilerRegions")
            yield Golden(case, merged, "PartitionGraph", f"_{rule}_merged")
    for name in CONSTANT_CHAINS:
        case = f"conv_bn_relu.{name}"
        for rule in ("conv_args", "all_inputs"):
            yield Golden(case, ("InferType", annotate(rule)), "PartitionGraph", f"_{rule}")
            folded = (*FOLDED, annotate(rule))
            yield Golden(case, folded, "PartitionGraph", f"_folded_{rule}")
        unbound = {"pass": "PartitionGraph", "bind_constants": False}
        annotated = ("InferType", annotate("all_inputs"))
        yield Golden(case, annotated, unbound, "_unbound")
    annotated = ("InferType", annotate("vars"))
    simplified = (*annotated, "SimplifyInference")
    yield Golden("conv_bn_relu.one_block", simplified, "PartitionGraph", "_simplified")
    named = {"pass": "PartitionGraph", "mod_name": "net-1"}
    yield Golden("conv_bn_relu.one_block", annotated, named, "_named")
    twice = (*annotated, "PartitionGraph")
    yield Golden("conv_bn_relu.one_block", twice, "PartitionGraph", "_twice")


def _tagged_calls() -> Iterator[Golden]:
    for name in ("single", "lets"):
        case = f"tagged_calls.{name}"
        for table, suffix in (("match_key", "_undotted"), ("match_key.call", "")):
            merge = {"pass": "MergeComposite", "table": table}
            composed = ("InferType", merge)
            annotated = (*composed, targets("match_key"))
            yield Golden(case, ("InferType",), merge, suffix)
            yield Golden(case, composed, targets("match_key"), suffix)
            yield Golden(case, annotated, "MergeCompilerRegions", suffix)
            merged = (*annotated, "MergeCompilerRegions")
            yield Golden(case, merged, "PartitionGraph", suffix)
    merge = {"pass": "MergeComposite", "table": "match_key.call"}
    mended = ("InferType", merge, targets("match_key"), "drop_let_begins")
    yield Golden("tagged_calls.lets", mended, "PartitionGraph", "_mended")
    mended = (*mended, "MergeCompilerRegions")
    yield Golden("tagged_calls.lets", mended, "PartitionGraph", "_mended_merged")
    mended = ("InferType", targets("A", "B"), "drop_let_begins")
    yield Golden("annotatable.let", mended, "PartitionGraph", "_mended")
    graph = ("InferType", "ToGraphNormalForm", merge, targets("match_key"))
    yield Golden("tagged_calls.lets", graph, "PartitionGraph", "_graph_form")
    graph = (*graph, "MergeCompilerRegions")
    yield Golden("tagged_calls.lets", graph, "PartitionGraph", "_graph_form_merged")
    yield Golden("tagged_calls.lets", ("InferType",), "ToGraphNormalForm")
    yield Golden("tagged_calls.lets", ("InferType",), "RemoveUnusedFunctions")


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


def _functions_in_and_out() -> Iterator[Golden]:
    # Where TVM fails, and byoc_lab does not: a function that is called twice, or used as a value.
    ours = ("nested_arguments", "twice", "value")
    for name in cases.texts("inlining"):
        if not name.endswith(ours):
            yield Golden(name, (), "Inline")
    outline = "OutlineCompilerFunctionsWithExistingGlobalSymbols"
    extern = "MarkCompilerFunctionsAsExtern"
    for name in cases.texts("outlining"):
        yield Golden(name, (), outline)
    for name in ("two_compilers", "globals"):
        for step in (outline, extern):
            only_a = {"pass": step, "compiler_filter": "A"}
            yield Golden(f"outlining/{name}", (), only_a, "_only_a")
    yield Golden("outlining/globals", (), extern)
    yield Golden("outlining/two_compilers", (outline,), extern, "_outlined")
    for name, undone in (
        ("globals", ["a_0"]),
        ("globals", ["a_0", "b_0"]),
        ("used_twice", ["a_0"]),
        ("no_composite", ["a_0"]),
        ("used_twice", []),
    ):
        step = {"pass": "InlineCompilerFunctionsBoundTo", "names": undone}
        yield Golden(f"outlining/{name}", (), step, "".join(f"_{n}" for n in undone) or "_none")


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
    # TVM rounds reals by casts on a machine that has no SSE 4.1.
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


def _dnnl_pipelines() -> Iterator[Golden]:
    for name in ("small_net_constants", "mobilenet_constants"):
        for stage in range(1, len(DNNL_PIPELINE)):
            before, step = DNNL_PIPELINE[:stage], DNNL_PIPELINE[stage]
            yield Golden(f"networks.{name}", before, step)


def _dnnl_integration() -> Iterator[Golden]:
    """TVM's whole table on every chain; its rewrites; regions that do not pay."""
    chains = [f"{root}_chains" for root in ("conv1d", "conv2d", "conv3d", "deconv2d", "dense")]
    sums = ("sums", "residual_blocks", "residual_without_bias", "residual_before_tanh")
    for name in (*chains, *sums, "light_regions"):
        yield Golden(f"dnnl.{name}", ("InferType",), DNNL_WHOLE_TABLE)
    for name in ("layer_norm", "layer_norm_by_variance"):
        yield Golden(f"dnnl.{name}", (), {"dnnl": "rewrite_layer_norm"})
    for name in ("dense_reshape_bias", "dense_reshape_bias_gelu"):
        yield Golden(f"dnnl.{name}", (), {"dnnl": "rewrite_dense_bias_gelu_reshape_last"})
    whole = {"dnnl": "partition_for_dnnl"}
    rewritten = ("layer_norm", "dense_reshape_bias_gelu")
    for name in (*chains, *sums, *rewritten, "light_regions"):
        yield Golden(f"dnnl.{name}", (), whole)
    for name in ("small_net", "resnet18", "squeezenet", "mlp", "dqn", "dcgan"):
        yield Golden(f"networks.{name}_constants", (), whole)
    legalize = {"dnnl": "legalize_group_conv"}
    yield Golden("networks.small_net_constants", FOLDED, legalize)
    yield Golden("networks.small_net", ("InferType",), legalize)
    cut = ("InferType", DNNL_WHOLE_TABLE, TO_DNNL, "MergeCompilerRegions", "PartitionGraph")
    for name in ("sums", "light_regions"):
        yield Golden(f"dnnl.{name}", cut, {"dnnl": "prune_dnnl_subgraphs"})
    yield Golden("dnnl.resnet_v1_stages", (), {"dnnl": "rewrite_resnetv1"})
    to_real = {"dnnl": "legalize_qnn_for_dnnl"}
    composed = {**to_real, "then": [DNNL_WHOLE_TABLE]}
    cut_out = [DNNL_WHOLE_TABLE, TO_DNNL, "MergeCompilerRegions", "PartitionGraph"]
    apart = {**to_real, "then": cut_out}
    for name in ("conv", "conv_sum", "conv_last", "dense"):
        case = f"dnnl.quantized_{name}"
        yield Golden(case, (), to_real)
        yield Golden(case, (), composed, "_composite")
        yield Golden(case, (), apart, "_partitioned")


def _layouts() -> Iterator[Golden]:
    to_first = {"pass": "ConvertLayout", "desired_layouts": TO_CHANNELS_FIRST}
    to_last = {"pass": "ConvertLayout", "desired_layouts": TO_CHANNELS_LAST}
    typed = ("InferType",)
    for name in layouts.NAMES:
        yield Golden(f"layouts.{name}", typed, to_first)
    for name in ("depthwise", "channels_first", "blocks"):
        yield Golden(f"layouts.{name}", typed, to_last, "_to_last")
    for name in ("relu", "pooled", "channels"):
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
    # The least float32 does not survive a text with six digits.
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
    for name in ("dense", "joined_dense"):
        yield Golden(f"parallel.{name}", typed, combine("Dense", to_batch=False), "_joined")
    yield Golden("parallel.products", typed, combine("BatchMatmul"))


def _tidying() -> Iterator[Golden]:
    for name, step in (
        ("shapes", "DynamicToStatic"),
        ("casts", "CanonicalizeCast"),
        ("pieces", "FlattenAtrousConv"),
    ):
        yield Golden(f"tidying.{name}", ("InferType",), step)


def _differentiating() -> Iterator[Golden]:
    for name in cases.texts("gradients"):
        yield Golden(name, ("InferType",), "FirstOrderGradient")
