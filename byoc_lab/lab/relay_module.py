"""`RelayModule`: Relay as a `Language`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from byoc_lab.lab.language import Language
from byoc_lab.lab.linting.finding import Fix
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.lab.linting.fixing import fix_relay
from byoc_lab.lab.linting.relay import lint_relay
from byoc_lab.lab.tracing.recorder import is_of_user, trace_relay
from byoc_lab.lab.tracing.stages import Trace

if TYPE_CHECKING:
    from byoc_lab.lab.checking.checker import Checker
    from byoc_lab.lab.checking.coverage import Coverage
    from byoc_lab.lab.checking.passes_run import PassesRun
    from byoc_lab.lab.explaining.explanations import Explanations
    from byoc_lab.lab.explaining.pattern_report import PatternReport


class RelayModule(Language):
    """A Relay module that implements `Language`."""

    language = "relay"

    def __init__(self, mod: Any):
        self.mod = mod

    def trace(self, pipeline: Any, era: str | None = None, **options: Any) -> Trace:
        return trace_relay(self.mod, pipeline, era, **options)

    def lint(
        self, pipeline: Any, backend: Any, rules: Any, ignore: Any, region_numbers: Any
    ) -> Findings:
        given = self._followed(pipeline)
        return lint_relay(self.mod, given, backend, rules, ignore, region_numbers)

    def fix(self, params: Any, pipeline: Any, backend: Any) -> Fix:
        return fix_relay(self.mod, params, self._followed(pipeline), backend)

    def _followed(self, pipeline: Any) -> Any:
        members = pipeline if isinstance(pipeline, (list, tuple)) else [pipeline]
        if not any(map(is_of_user, members)):
            return pipeline
        # imported here because it imports much
        from byoc_lab.lab.explaining.unfolding import lint_context

        return lint_context(self.mod, pipeline)

    def explain(self, target: Any, call: Any, pipeline: Any) -> Explanations[Any]:
        # imported here because it imports much
        from byoc_lab.lab.explaining.calls import explain_relay

        return explain_relay(self.mod, target, call, pipeline)

    def explain_patterns(self, table: Any, others: Sequence[Any]) -> PatternReport:
        from byoc_lab.lab.explaining.entries import explain_relay_patterns

        return explain_relay_patterns(table, [self.mod, *(other.mod for other in others)])

    def coverage(self, backend: str, pipeline: Any) -> Coverage:
        from byoc_lab.lab.checking.covering import cover_relay

        return cover_relay(self.mod, backend, pipeline)

    def checker(self, after: Any, inputs: Any, inside: bool, options: Mapping[str, Any]) -> Checker:
        from byoc_lab.lab.checking.relay_checker import RelayChecker

        return RelayChecker(self.mod, after, inputs, inside, options)

    def run_passes(self, pipeline: Any, inputs: Any, era: str | None) -> PassesRun:
        from byoc_lab.lab.checking.bisection import run_relay_passes

        return run_relay_passes(self.mod, pipeline, inputs, era)
