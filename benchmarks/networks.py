"""The networks and stages of `relay_vs_tvm.py`, for both sides; imports neither."""

from __future__ import annotations

# Name -> module of relay.testing and arguments of its get_workload.
NETWORKS = {
    "mobilenet": ("mobilenet", {}),
    "resnet-18": ("resnet", {"num_layers": 18}),
    "resnet-50": ("resnet", {"num_layers": 50}),
}

# A pass, and after a comma which run of it.
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
