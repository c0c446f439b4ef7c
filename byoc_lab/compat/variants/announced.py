"""Passes that TVM reports to instruments under other names, or as several steps."""

from __future__ import annotations

from byoc_lab import passes
from byoc_lab.compat import passes as compat_passes
from byoc_lab.passes import ModulePass, PassContext, PassInfo, module_pass
from byoc_lab.relay.ir.module import IRModule


class PartitionGraph(passes.PartitionGraph):
    """byoc_lab's pass; instruments see it as a sequence of its steps, as in TVM."""

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.opt_level, "sequential") if self.era is None else super().info

    def steps(self) -> dict:
        return {
            name: module_pass(lambda mod, ctx, step=step: step(mod), opt_level=0, name=name)
            for name, step in super().steps().items()
        }


class MergeCompilerRegions(ModulePass):
    """byoc_lab's pass; instruments see it as a sequence that contains the pass, as in TVM."""

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.opt_level, "sequential")

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return passes.MergeCompilerRegions()(mod)


class CombineParallelConv2D(compat_passes.CombineParallelConv2D):
    """byoc_lab's pass, under the name that TVM reports to instruments."""

    @property
    def info(self) -> PassInfo:
        return PassInfo(self.opt_level, "CombineParallelConv2d", self.required)


__all__ = ["CombineParallelConv2D", "MergeCompilerRegions", "PartitionGraph"]
