"""Names of TVM's own integrations of vendors' libraries, for errors about unknown back ends."""

from __future__ import annotations

from byoc_lab.errors import nearest

IN_COMPAT = ("arm_compute_lib", "bnns", "cublas", "cudnn", "cutlass")
"""Integrations whose pattern tables `import byoc_lab.compat.integrations` registers."""
NOT_HERE = (
    "clml", "cmsis-nn", "coremlcompiler", "ethos-n", "ethos-u", "tensorrt", "torch", "vitis_ai"
)  # fmt: skip
"""Integrations of TVM 0.16 that byoc_lab does not have."""


def unregistered(name: str, known: list[str]) -> str:
    """The end of an error message about a name that is not in `known`."""
    if name in IN_COMPAT:
        return (
            f"{name!r} is one of TVM's integrations, whose table is in byoc_lab.compat: `import "
            f"byoc_lab.compat.integrations` registers it, and `python -m byoc_lab.compat -m "
            f"byoc_lab.cli` is the command line with it. It can be explained, annotated and "
            f"partitioned; it generates no code."
        )
    if name in NOT_HERE:
        return (
            f"{name!r} is one of TVM's integrations, and byoc_lab does not have its table; "
            f"{nearest(name, known)}"
        )
    return nearest(name, known)
