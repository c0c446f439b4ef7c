"""An entry of the plan of golden files, and steps that several entries share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Golden:
    """One golden file: the module that `before` makes of `case`, and its result of `step`.

    `step` is None for a golden file of the printer. `suffix` distinguishes files of one case.
    """

    case: str
    before: tuple[Any, ...]
    step: Any
    suffix: str = ""

    @property
    def steps(self) -> list[Any]:
        """All steps in order: `before`, and the step under test."""
        return [*self.before, *([] if self.step is None else [self.step])]

    @property
    def path(self) -> str:
        """The name of the file (see `files.golden_path`)."""
        if self.step is None:
            folder = "print"
        elif isinstance(self.step, str):
            folder = self.step
        elif "dnnl" in self.step:
            folder = self.step["dnnl"]
        elif "integration" in self.step:
            folder = self.step["integration"]
        else:
            folder = self.step.get("pass", "Sequential")
        stem = self.case.replace("/", "_").replace(".", "_")
        return f"{folder}/{stem}{self.suffix}.relay"


FOLD_SCALE_AXIS = {"pass": "FoldScaleAxis", "opt_level": 3}
DNNL_WHOLE_TABLE = {"pass": "MergeComposite", "table": "contrib.dnnl"}
DNNL_TABLE = {"pass": "MergeComposite", "table": "dnnl"}
TO_DNNL = {"pass": "AnnotateTarget", "targets": ["dnnl"]}
FOLDED = ("InferType", "SimplifyInference", "FoldConstant", FOLD_SCALE_AXIS)
# The stages of the DNNL pipeline, each with a golden file.
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
CHAINS = ("one_block", "two_blocks", "three_blocks", "parallel_blocks")
CONSTANT_CHAINS = ("one_block_constants", "two_blocks_constants")


def targets(*names: str, **options: Any) -> dict[str, Any]:
    return {"pass": "AnnotateTarget", "targets": list(names), **options}


def registered(name: str, functions: str) -> dict[str, str]:
    return {"pass": name, "registered": functions}


def annotate(rule: str) -> dict[str, str]:
    return {"annotate": rule}
