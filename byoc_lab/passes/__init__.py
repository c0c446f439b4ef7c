"""The passes: one pass, one file. `relay.transform` is this package under TVM's name.

All modules of the folders below are discovered and imported here. Each pass class in them is
available by its name (`make_pass("FoldConstant")`), so adding a file is enough to add a pass.
Passes that only scripts written for TVM use are in `byoc_lab.compat.passes`.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import UnknownAttributeError, UnsupportedNameError, nearest
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.decorators import (
    UserModulePass,
    UserPass,
    function_pass,
    module_pass,
)
from byoc_lab.passes.framework.discovery import discover
from byoc_lab.passes.framework.hook import Event, listening
from byoc_lab.passes.framework.infer_type import InferTypeLocal
from byoc_lab.passes.framework.instrument import PassInfo
from byoc_lab.passes.framework.passes import (
    COMPAT_PASSES,
    FunctionPass,
    ModulePass,
    Pass,
    Sequential,
    make_pass,
    pass_names,
    register_pass,
)
from byoc_lab.passes.framework.pattern_rewrite import PatternRewrite
from byoc_lab.passes.framework.pipelines import named_pipeline, pipeline_names, register_pipeline
from byoc_lab.passes.layout.convert_layout import LayoutConfig

PASSES = discover(
    __name__, {Pass, ModulePass, FunctionPass, PatternRewrite, Sequential, UserPass, UserModulePass}
)
globals().update(PASSES)


def __getattr__(name: str) -> Any:
    if name in COMPAT_PASSES:
        raise UnsupportedNameError(
            f"{name} is a pass that only scripts written for TVM use: "
            f"from byoc_lab.compat.passes import {name}"
        )
    raise UnknownAttributeError(f"{__name__} has no {name!r}", lambda: nearest(name, __all__))


__all__ = [
    "Event", "FunctionPass", "InferTypeLocal", "LayoutConfig", "ModulePass",
    "Pass", "PassContext", "PassInfo", "Sequential", "function_pass", "listening",
    "make_pass", "module_pass", "named_pipeline", "pass_names", "pipeline_names",
    "register_pass", "register_pipeline", *PASSES,
]  # fmt: skip
