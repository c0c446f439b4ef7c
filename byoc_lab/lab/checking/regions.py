"""`RegionChecks`: checks every compiled region of a module on the reference's values of its
inputs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from byoc_lab.lab.checking.bounds.step import Array, flat
from byoc_lab.lab.checking.bounds.uncertain import EXACT_RUN, RegionCall, narrowed, observe
from byoc_lab.lab.checking.comparison import Comparison, compare_all
from byoc_lab.lab.checking.kernels import Kernel, RegionChecker
from byoc_lab.lab.checking.progress import Progress
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.hosts.host import LinkedRegion
from byoc_lab.run.inputs import bind_inputs


class RegionChecks:
    """Checks the regions of a typed module on one set of inputs after the other.

    comparisons: the regions' results, without inherited errors. kernels: the steps of each region,
    if `inside`. unexplained: regions with a wrong result although their kernels are right or could
    not be checked, each as one step. reached: the symbols of the regions that were called. last:
    the region whose code ran last. runs: the number of programs that ran to check the kernels of
    each region, the maximum over the sets of inputs. notes: what could not be checked.
    """

    def __init__(self, mod: IRModule, linked: Iterable[LinkedRegion], inside: bool, **options: Any):
        self.mod, self.inside, self.options = mod, inside, options
        self.linked = {r.symbol: r for r in linked if r.compiled is not None}
        self.comparisons: list[Comparison] = []
        self.kernels: list[Kernel] = []
        self.unexplained: list[Kernel] = []
        self.reached: set[str] = set()
        self.last: LinkedRegion | None = None
        self._checkers: dict[Function, RegionChecker] = {}
        self.runs: dict[str, int] = {}
        self.notes: dict[str, None] = {}

    def check(self, inputs: Any, progress: Progress | None = None, name: str = "") -> None:
        """Check each call of a region. progress: is called for each of them. name: the name of the
        inputs, if there are several sets. Raises RegionError for code that fails when it runs."""
        if not self.linked:
            return

        def on_region(call: RegionCall) -> tuple[Array, ...] | None:
            if progress is not None:
                progress.step(f"region @{call.symbol}")
            region = self.linked.get(call.symbol)
            if region is None:
                return None
            assert region.compiled is not None
            self.last = region
            # Rounded to the dtypes of the module.
            arguments = [narrowed(a) for a in call.arguments]
            return self.compare(region, arguments, region.compiled(*flat(tuple(arguments))), name)

        values = bind_inputs(self.mod["main"], inputs)
        observe(self.mod["main"], values, self.mod, EXACT_RUN, keep=False, regions=on_region)

    def compare(
        self, region: LinkedRegion, arguments: Sequence[Any], got: Sequence[Array], name: str = ""
    ) -> tuple[Array, ...]:
        """Compare the results of a region for its arguments, and its kernels if `inside`; returns
        the results of the reference. name: as for `check`."""
        self.reached.add(region.symbol)
        known = dict(zip(region.function.params, arguments, strict=True))
        wanted = bounded(region.function, known, self.mod, exact_constants=True, **self.options)
        compared = compare_all(got, wanted, f"@{region.symbol}")
        self.comparisons += compared
        if self.inside and region.codegen is not None:
            if region.function not in self._checkers:
                self._checkers[region.function] = RegionChecker(region, self.mod, **self.options)
            checker = self._checkers[region.function]
            checker.inputs = name
            before = checker.runs
            wrong = next((n for n, c in enumerate(compared) if not c.ok), None)
            found = checker.kernels(arguments, wrong is not None)
            self.kernels += found
            if wrong is not None and all(k.own.ok for k in found):
                value = (wanted.outputs[wrong], wanted.tolerances[wrong])
                whole = checker.whole(wrong, arguments, compared[wrong], got[wrong], *value)
                self.unexplained.append(whole)
            now = checker.runs - before
            self.runs[region.symbol] = max(self.runs.get(region.symbol, 0), now)
            self.notes.update(dict.fromkeys(checker.notes))
        return wanted.outputs
