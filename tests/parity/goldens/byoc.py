"""The golden files of the BYOC passes: composites, annotations, partitions, DNNL."""

from __future__ import annotations

from collections.abc import Iterator

from .. import cases
from .entry import (
    CHAINS,
    CONSTANT_CHAINS,
    DNNL_PIPELINE,
    DNNL_TABLE,
    DNNL_WHOLE_TABLE,
    FOLDED,
    TO_DNNL,
    Golden,
    annotate,
    targets,
)

COMPOSITES = {
    "chain": "dnnl", "external_use": "dnnl", "rejected": "dnnl", "commuted": "dnnl",
    "constants": "dnnl", "diamonds": "diamond", "kernels": "attributes",
}  # fmt: skip
ANNOTATABLE = (
    "elementwise", "projections", "concatenated_results", "concatenated_mixture",
    "concatenated_variables", "constant_operand", "tuple_result", "branches", "let", "diamond",
    "two_outputs", "chain_of_four",
)  # fmt: skip


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
    # Cases in which merging changes the regions, with their partitions.
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
    corrected = ("InferType", merge, targets("match_key"), "drop_let_begins")
    yield Golden("tagged_calls.lets", corrected, "PartitionGraph", "_corrected")
    corrected = (*corrected, "MergeCompilerRegions")
    yield Golden("tagged_calls.lets", corrected, "PartitionGraph", "_corrected_merged")
    corrected = ("InferType", targets("A", "B"), "drop_let_begins")
    yield Golden("annotatable.let", corrected, "PartitionGraph", "_corrected")
    graph = ("InferType", "ToGraphNormalForm", merge, targets("match_key"))
    yield Golden("tagged_calls.lets", graph, "PartitionGraph", "_graph_form")
    graph = (*graph, "MergeCompilerRegions")
    yield Golden("tagged_calls.lets", graph, "PartitionGraph", "_graph_form_merged")
    yield Golden("tagged_calls.lets", ("InferType",), "ToGraphNormalForm")
    yield Golden("tagged_calls.lets", ("InferType",), "RemoveUnusedFunctions")


def _functions_in_and_out() -> Iterator[Golden]:
    # Cases in which TVM fails and byoc_lab does not: a function called twice, or used as a value.
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


def _dnnl_pipelines() -> Iterator[Golden]:
    for name in ("small_net_constants", "mobilenet_constants"):
        for stage in range(1, len(DNNL_PIPELINE)):
            before, step = DNNL_PIPELINE[:stage], DNNL_PIPELINE[stage]
            yield Golden(f"networks.{name}", before, step)


def _dnnl_integration() -> Iterator[Golden]:
    """TVM's whole table on every chain; its rewrites; pruned regions."""
    chains = [f"{root}_chains" for root in ("conv1d", "conv2d", "conv3d", "deconv2d", "dense")]
    sums = (
        "sums", "residual_blocks", "added_from_the_left", "residual_without_bias",
        "residual_before_tanh",
    )  # fmt: skip
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


def _integrations() -> Iterator[Golden]:
    """The supported calls of TVM's other integrations: single calls, and whole networks."""
    taken = ("cublas", "cudnn", "bnns", "arm_compute_lib", "cutlass")
    for name in taken:
        whole = {"integration": name, "opt_level": 3}
        questions = {
            "arm_compute_lib": (name, f"{name}_quantized"),
            "cutlass": (f"{name}_products", f"{name}_convolutions"),
        }
        for case in questions.get(name, (name,)):
            yield Golden(f"integrations.{case}", (), whole)
    networks = {"cublas": ("mlp", "small_net"), "cudnn": ("mlp", "squeezenet"), "bnns": ("mlp",)}
    for name, contained in networks.items():
        for network in contained:
            yield Golden(f"networks.{network}_constants", (), {"integration": name})
    yield Golden(
        "integrations.arm_compute_lib_weights",
        (),
        {"integration": "arm_compute_lib", "function": "preprocess_module", "opt_level": 3},
    )


GROUPS = (
    _composites,
    _annotating,
    _annotated_samples,
    _annotated_chains,
    _tagged_calls,
    _functions_in_and_out,
    _dnnl_pipelines,
    _dnnl_integration,
    _integrations,
)
