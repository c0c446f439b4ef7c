"""`RelaxModule`: a module of Relax as the laboratory sees it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from byoc_lab.lab.explaining import Card
from byoc_lab.lab.linting import Finding, Severity
from byoc_lab.lab.linting.foreign import OF_TABLES
from byoc_lab.relax.backends import get
from byoc_lab.relax.ir.batch import sizes_for, with_sizes
from byoc_lab.relax.ir.calls import checked_relax
from byoc_lab.relax.patterns.report import explain_patterns
from byoc_lab.relax.tracing.findings import findings_of
from byoc_lab.relax.tracing.mirror import Mirror
from byoc_lab.relax.tracing.mirrored import MirroredModule
from byoc_lab.relax.tracing.recorder import trace
from byoc_lab.relax.tracing.script import Script
from byoc_lab.run.inputs import by_position
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm


class RelaxModule(MirroredModule):
    """A module of Relax that answers for its language: see `lab.language.Language`."""

    @cached_property
    def findings(self) -> Sequence[Finding]:
        return [*self.known, *findings_of(self)]

    def trace(self, pipeline: Any, **options: Any) -> Any:
        return trace(self.source, pipeline, RelaxModule, **options)

    def explain(self, target: Any, call: Any, pipeline: Any, cards: Sequence[Card]) -> Any:
        from byoc_lab.relax.lab.explaining import explain  # which imports much

        found = explain(self.source, target, pipeline, cards=cards)
        return found if call is None else found.of(call)

    def validate(self, after: Any, inputs: Any, **options: Any) -> Any:
        from byoc_lab.relax.lab.validation import validate

        return validate(self.source, after, inputs, **options)

    def bisect(self, pipeline: Any, inputs: Any, era: str | None, **options: Any) -> Any:
        from byoc_lab.relax.lab.bisecting import bisect

        source = checked_relax(self.source, "bisect")
        names = [name_of(param) for param in source["main"].params]
        arguments = None if inputs is None else by_position(inputs, names)
        sizes = sizes_for(source["main"], arguments)
        known = RelaxModule(with_sizes(source, sizes), Script(Mirror()))
        return bisect(known.trace(pipeline, era=era), inputs, sizes, **options)

    def fix(self, params: Any, pipeline: Any, backend: Any) -> Any:
        from byoc_lab.relax.lab.fixing import fixed

        return fixed(self.source, params, pipeline, backend)

    def findings_ahead(self, pipeline: Any, backend: Any) -> Sequence[Finding]:
        """The findings of a pattern table where the passes are run, then those of the module that
        they are still to run on. Raises the error of a pass, if no finding of the module is one."""
        table = () if backend is None else get(backend).table()
        traced = self.trace(backend if pipeline is None else pipeline, patterns=table)
        asked = RelaxModule(self.source, self.shared)
        asked.to_come = traced.initial.to_come
        here = asked.findings
        if traced.error is not None and all(f.severity is not Severity.ERROR for f in here):
            raise traced.error
        return [*(f for f in traced.findings if f.code in OF_TABLES), *here]

    def coverage(self, backend: Any, pipeline: Any) -> Any:
        from byoc_lab.relax.lab.covering import coverage

        return coverage(self.source, backend, pipeline)

    def explain_patterns(self, table: Any, others: Sequence[Any]) -> Any:
        return explain_patterns(table, [self.source, *(other.source for other in others)])


def read(obj: Any) -> Any:
    """A module or function of Relax for the laboratory; any other object as it is."""
    tvm = import_tvm()
    if isinstance(obj, tvm.relax.Function):
        obj = tvm.IRModule.from_expr(obj)
    if not isinstance(obj, tvm.ir.IRModule):
        return obj
    return RelaxModule(obj, Script(Mirror()))
