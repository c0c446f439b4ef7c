"""The case of MergeCompilerRegions that does not finish."""

from __future__ import annotations

import time

from byoc_lab import relay
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, lint_says, run_passes
from byoc_lab.lessons.cases.networks import typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule

LAYERS = 40


class MergeHang(DumpCase):
    """MergeCompilerRegions runs for hours on a network in which every layer uses all earlier ones.

    For each region, the pass records the regions that it must not be merged with, and passes them
    on to later regions. In April 2020 it recorded them in a list. In DenseNet, every layer takes
    the results of all earlier layers. So a region enters the list once for each path through the
    network, and the number of paths doubles with each layer. The change replaced the list by a set.
    """

    name = "merge-hang"
    title = "MergeCompilerRegions does not finish on DenseNet"
    reference = (
        'apache/tvm pull request 5227, "[RELAY][FIX] Fix hang in MergeCompilerRegions", April 2020'
    )
    link = "https://github.com/apache/tvm/pull/5227"
    era = "April 2020"
    fix = "Keep the regions that must not be merged in a set (all later versions do)."
    cause = ""
    recorded = "MergeCompilerRegions: no result (the module is right; the pass does not return)"

    def program(self) -> IRModule:
        """A block in which each layer adds the results of all earlier ones, annotated."""
        results: list[Expr] = [relay.var("x", shape=(4,))]
        for _ in range(LAYERS):
            total = results[0]
            for earlier in results[1:]:
                total = relay.add(total, earlier)
            results.append(relay.nn.relu(total))
        return run_passes(typed(results[-1]), [AnnotateTarget("dnnl")])

    def shown(self) -> Symptom:
        ways = [1]
        for _ in range(LAYERS):
            ways.append(sum(ways))
        return Symptom(f"a list without duplicates removed has {ways[-1]:,} entries here")

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(self.program())

    def today(self) -> str:
        mod = self.program()
        start = time.perf_counter()
        MergeCompilerRegions()(mod)
        return f"{LAYERS} layers take {time.perf_counter() - start:.2f} s"
