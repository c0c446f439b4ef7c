"""The networks and stages of both sides of `relay_vs_tvm.py`; imports neither side."""

from __future__ import annotations

# {name: module of relay.testing and arguments of its get_workload}
NETWORKS = {
    "mobilenet": ("mobilenet", {}),
    "resnet-18": ("resnet", {"num_layers": 18}),
    "resnet-50": ("resnet", {"num_layers": 50}),
}

# A pass, and after a comma the index of its run.
STAGES = (
    "InferType",
    "CanonicalizeOps",
    "SimplifyInference",
    "FoldConstant",
    "FoldScaleAxis",
    "FoldConstant, again",
    "MergeComposite",
    "AnnotateTarget",
    "MergeCompilerRegions",
    "PartitionGraph",
)
