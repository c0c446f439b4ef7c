"""The passes: one pass, one file. `relay.transform` is this package under TVM's name.

Every module of the folders below is imported here by discovery, and each pass class in it is
available by its name (`make_pass("FoldConstant")`), so adding a pass is adding a file.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import TYPE_CHECKING, Any

from byoc_lab.passes.framework.context import PassContext, PassInfo
from byoc_lab.passes.framework.decorators import function_pass, module_pass
from byoc_lab.passes.framework.hook import Event, listening
from byoc_lab.passes.framework.infer_type import InferTypeLocal
from byoc_lab.passes.framework.passes import (
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
from byoc_lab.passes.simplify.combine_parallel import CombineParallel

_BASES = {Pass, ModulePass, FunctionPass, CombineParallel, PatternRewrite, Sequential}


def _discover() -> list[str]:
    names = []
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        module = importlib.import_module(info.name)
        for name, cls in vars(module).items():
            own = inspect.isclass(cls) and cls.__module__ == module.__name__
            if own and issubclass(cls, Pass) and cls not in _BASES and not name.startswith("_"):
                globals()[name] = cls
                register_pass(name, cls)
                names.append(name)
    return names


_NAMES = _discover()

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


__all__ = [
    "Event", "FunctionPass", "InferTypeLocal", "LayoutConfig", "ModulePass",
    "Pass", "PassContext", "PassInfo", "Sequential", "function_pass", "listening",
    "make_pass", "module_pass", "named_pipeline", "pass_names", "pipeline_names",
    "register_pass", "register_pipeline", *_NAMES,
]  # fmt: skip
