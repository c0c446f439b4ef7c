"""`RelaxModule`: the representation of a Relax module in the laboratory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from byoc_lab.lab.language import Language
from byoc_lab.lab.linting import Finding, Findings, Fix, Severity
from byoc_lab.lab.linting.foreign import OF_PARTITIONED, OF_TABLES, lint_foreign
from byoc_lab.relax.backends import get
from byoc_lab.relax.ir.batch import sizes_for, with_sizes
from byoc_lab.relax.ir.calls import checked_relax
from byoc_lab.relax.patterns.report import explain_patterns
from byoc_lab.relax.tracing.findings import findings_of
from byoc_lab.relax.tracing.mirror import Mirror
from byoc_lab.relax.tracing.mirrored import MirroredModule
from byoc_lab.relax.tracing.recorder import RelaxTrace, trace
from byoc_lab.relax.tracing.script import Script
from byoc_lab.run.inputs import by_position
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

if TYPE_CHECKING:
    from byoc_lab.lab.checking.checker import Checker
    from byoc_lab.lab.checking.coverage import Coverage
    from byoc_lab.lab.checking.passes_run import PassesRun
    from byoc_lab.lab.explaining import Explanations, PatternReport


class RelaxModule(MirroredModule, Language):
    """A Relax module with the methods of `Language`."""

    @cached_property
    def findings(self) -> Sequence[Finding]:
        return [*self.known, *findings_of(self)]

    def trace(self, pipeline: Any, era: str | None = None, **options: Any) -> RelaxTrace:
        return trace(self.source, pipeline, RelaxModule, era, **options)

    def lint(
        self, pipeline: Any, backend: Any, rules: Any, ignore: Any, region_numbers: Any
    ) -> Findings:
        return lint_foreign(self, partial(self._found, pipeline, backend), rules, ignore)

    def _found(self, pipeline: Any, backend: Any) -> Sequence[Finding]:
        """The findings on the pattern table and on functions for back ends, for which the passes
        are run; then the findings on the initial module. Raises the error of a pass, unless there
        are findings on the initial module."""
        if pipeline is None and backend is None:
            return self.findings
        table = () if backend is None else get(backend).table()
        traced = self.trace(backend if pipeline is None else pipeline, patterns=table)
        initial, asked = traced.initial, RelaxModule(self.source, self.shared)
        assert isinstance(initial, RelaxModule)
        asked.to_come = initial.to_come
        here = asked.findings
        if traced.error is not None and all(f.severity is not Severity.ERROR for f in here):
            raise traced.error
        known = {f.message for f in here}
        made = (f for f in traced.findings if f.code in (*OF_TABLES, *OF_PARTITIONED))
        return [*(f for f in made if f.message not in known), *here]

    def fix(self, params: Any, pipeline: Any, backend: Any) -> Fix:
        from byoc_lab.relax.lab.fixing import fix_relax  # imports many modules, like others below

        return fix_relax(self.source, params, pipeline, backend)

    def explain(self, target: Any, call: Any, pipeline: Any) -> Explanations[Any]:
        from byoc_lab.relax.lab.explaining import explain

        return explain(self.source, target, pipeline)

    def explain_patterns(self, table: Any, others: Sequence[Any]) -> PatternReport:
        return explain_patterns(table, [self.source, *(other.source for other in others)])

    def coverage(self, backend: str, pipeline: Any) -> Coverage:
        from byoc_lab.relax.lab.covering import coverage

        return coverage(self.source, backend, pipeline)

    def checker(self, after: Any, inputs: Any, inside: bool, options: Mapping[str, Any]) -> Checker:
        from byoc_lab.relax.lab.validation import RelaxChecker

        return RelaxChecker(self.source, after, inside, options)

    def run_passes(self, pipeline: Any, inputs: Any, era: str | None) -> PassesRun:
        from byoc_lab.relax.lab.bisecting import passes_run

        source = checked_relax(self.source, "bisect")
        names = [name_of(param) for param in source["main"].params]
        sizes = sizes_for(source["main"], None if inputs is None else by_position(inputs, names))
        known = RelaxModule(with_sizes(source, sizes), Script(Mirror()))
        return passes_run(known.trace(pipeline, era), sizes)


def read(obj: Any) -> Any:
    """A Relax module or function in the laboratory's representation; other objects are
    unchanged."""
    tvm = import_tvm()
    if isinstance(obj, tvm.relax.Function):
        obj = tvm.IRModule.from_expr(obj)
    if not isinstance(obj, tvm.ir.IRModule):
        return obj
    return RelaxModule(obj, Script(Mirror()))
