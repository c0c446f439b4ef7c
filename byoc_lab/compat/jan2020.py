"""TVM's Relay as it was in January 2020, for scripts of that month.

    from byoc_lab.compat.jan2020 import relay, transform, tvm

Differences from the current behaviour: PartitionGraph creates closures, `nn.conv2d` keeps its
padding as given, `relay.build_module.optimize` and `relay.build_config` exist, and constants are
also folded inside closures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import byoc_lab
from byoc_lab import passes
from byoc_lab import relay as _relay
from byoc_lab.compat import passes as compat_passes
from byoc_lab.compat.ir import records
from byoc_lab.passes import PassContext, Sequential
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule

ERA = "2020-01"


class _Overlay:
    """A namespace that overrides some names of another one."""

    def __init__(self, base: Any, **own: Any):
        self._base = base
        self.__dict__.update(own)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._base, name)


def partition_graph() -> passes.PartitionGraph:
    """The partitioner of January 2020."""
    return passes.PartitionGraph(era=ERA)


def optimize(
    mod: IRModule, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """Runs the passes that `relay.build` ran before code generation, as far as they concern BYOC.

    Closures of other compilers were inside @main, so these passes also changed them. Passes above
    the level of the active PassContext do not run. Returns the module and the remaining parameters.
    """
    steps = Sequential(
        [
            passes.InferType(),
            passes.SimplifyInference(),
            passes.FoldConstant(era=ERA),
            passes.BackwardFoldScaleAxis(),
            passes.ForwardFoldScaleAxis(),
            passes.FoldConstant(era=ERA),
        ]
    )
    if params:
        mod = mod.copy()
        mod["main"] = _relay.build_module.bind_params_by_name(mod["main"], params)
    return steps(mod), {}


def conv2d(data: Expr, weight: Expr, **attributes: Any) -> Call:
    """`nn.conv2d` before padding was normalized to four numbers (February 2020)."""
    op = Op.get("nn.conv2d")
    pairs = ("strides", "padding", "dilation", "kernel_size")
    values = {
        name: (v, v) if name in pairs and isinstance(v, int) else v
        for name, v in attributes.items()
    }
    return Call(op, [data, weight], op.definition.attrs.make(values))


transform = _Overlay(
    passes,
    **{name: getattr(compat_passes, name) for name in compat_passes.__all__},
    PartitionGraph=partition_graph,
    build_config=PassContext,
    PassContext=PassContext,
)
relay = _Overlay(
    _relay,
    transform=transform,
    build_config=PassContext,
    build_module=_Overlay(_relay.build_module, optimize=optimize, build_config=PassContext),
    nn=_Overlay(_relay.nn, conv2d=conv2d),
)
tvm = _Overlay(byoc_lab, relay=relay, transform=transform, ir=records)
