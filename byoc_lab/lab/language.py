"""`Language`: the interface that modules of another language than Relay offer to byoc_lab."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from byoc_lab.errors import ForeignModuleError
from byoc_lab.relay.ir.foreign import ForeignModule, adopted

if TYPE_CHECKING:
    from byoc_lab.lab.checking.bisected import Bisection
    from byoc_lab.lab.checking.coverage import Coverage
    from byoc_lab.lab.checking.validation import Report
    from byoc_lab.lab.explaining import Card, Explanations, PatternReport
    from byoc_lab.lab.linting.finding import Finding, Fix
    from byoc_lab.lab.tracing.stages import Trace


@runtime_checkable
class Language(Protocol):
    """A module that answers for its language, with the results of the functions of byoc_lab of
    these names, and their arguments; `findings_ahead` are those of `lint` with arguments. Relax has
    `relax.tracing.module.RelaxModule`."""

    language: str

    def trace(self, pipeline: Any, **options: Any) -> Trace: ...

    def explain(
        self, target: Any, call: Any, pipeline: Any, cards: Sequence[Card]
    ) -> Explanations[Any]: ...

    def explain_patterns(self, table: Any, others: Sequence[Any]) -> PatternReport: ...

    def validate(self, after: Any, inputs: Any, **options: Any) -> Report: ...

    def bisect(self, pipeline: Any, inputs: Any, era: str | None, **options: Any) -> Bisection: ...

    def coverage(self, backend: Any, pipeline: Any) -> Coverage: ...

    def fix(self, params: Any, pipeline: Any, backend: Any) -> Fix: ...

    def findings_ahead(self, pipeline: Any, backend: Any) -> Sequence[Finding]: ...


def in_language(obj: Any, who: str) -> Language | None:
    """A module of another language than Relay; None for anything else. who: the function that asks.

    Raises ForeignModuleError for a module that was saved.
    """
    mod = adopted(obj)
    if not isinstance(mod, ForeignModule):
        return None
    if not isinstance(mod, Language):
        raise ForeignModuleError(
            f"{who} needs the module of {mod.language} itself, and this one was saved, as text "
            f"and nodes; make it again where TVM is"
        )
    return mod
