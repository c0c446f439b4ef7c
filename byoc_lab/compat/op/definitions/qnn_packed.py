"""qnn.contrib_dense_pack: qnn.dense with the weight in a blocked layout."""

from __future__ import annotations

from byoc_lab.compat.op.definitions import packed  # noqa: F401 (defines the plain operator)
from byoc_lab.relay.op.qnn.linear import NAMES, define_linear

define_linear(
    "qnn.contrib_dense_pack",
    lambda attrs: None,
    "qnn.dense with the weight in a blocked layout, such as NC16n4c.",
    f"{NAMES} kernel_layout=weight_layout units out_dtype",
)
