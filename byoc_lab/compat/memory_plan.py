"""`tvm.relay.backend._backend`: where a fused function keeps its results, for who asks for it."""

from __future__ import annotations

from dataclasses import dataclass

from byoc_lab.compat.graph_json import planned
from byoc_lab.relay.attrs import Attrs
from byoc_lab.relay.expr import Expr, Function
from byoc_lab.relay.op.device import VIRTUAL_DEVICE

ANY_DEVICE = -1


@dataclass(frozen=True)
class StorageInfo:
    """Storage of the tensors of a node: by number, for which kinds of device, of how many bytes."""

    storage_ids: list[int]
    device_types: list[int]
    storage_sizes: list[int]
    virtual_devices: list[Attrs]


@dataclass(frozen=True)
class StaticMemoryPlan:
    """`expr_to_storage_info`: for each node of the function that has a value, its StorageInfo."""

    expr_to_storage_info: dict[Expr, StorageInfo]


def GraphPlanMemory(func: Function) -> StaticMemoryPlan:
    """The plan for a function of groups, as FuseOps makes it. Raises BuildError for others."""
    found = {}
    for node, results in planned(func).items():
        found[node] = StorageInfo(
            [storage.number for storage in results],
            [ANY_DEVICE] * len(results),
            [storage.size for storage in results],
            [VIRTUAL_DEVICE.make()] * len(results),
        )
    return StaticMemoryPlan(found)


__all__ = ["GraphPlanMemory", "StaticMemoryPlan", "StorageInfo"]
