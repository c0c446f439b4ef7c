"""`Language`: the interface that each language of modules (Relay and Relax) implements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from byoc_lab.errors import ForeignModuleError
from byoc_lab.late import Slot
from byoc_lab.relay.ir.foreign import ForeignModule, adopted

if TYPE_CHECKING:
    from byoc_lab.lab.checking.checker import Checker
    from byoc_lab.lab.checking.coverage import Coverage
    from byoc_lab.lab.checking.passes_run import PassesRun
    from byoc_lab.lab.explaining.explanations import Explanations
    from byoc_lab.lab.explaining.pattern_report import PatternReport
    from byoc_lab.lab.linting.finding import Fix
    from byoc_lab.lab.linting.findings import Findings
    from byoc_lab.lab.tracing.stages import Trace


class Language(ABC):
    """A module in its language.

    Each function of byoc_lab that takes modules of any language checks the arguments that all
    languages share, and calls one method for the rest: the method with its name, or `checker` (for
    `validate`) and `run_passes` (for `bisect`). The methods take the arguments of the functions.
    """

    language: str
    """Its name in messages: "relay"."""

    @abstractmethod
    def trace(self, pipeline: Any, era: str | None = None, **options: Any) -> Trace: ...

    @abstractmethod
    def lint(
        self, pipeline: Any, backend: Any, rules: Any, ignore: Any, region_numbers: Any
    ) -> Findings: ...

    @abstractmethod
    def fix(self, params: Any, pipeline: Any, backend: Any) -> Fix: ...

    @abstractmethod
    def explain(self, target: Any, call: Any, pipeline: Any) -> Explanations[Any]:
        """Explain all calls. call: the requested call, to check that it exists."""

    @abstractmethod
    def explain_patterns(self, table: Any, others: Sequence[Any]) -> PatternReport:
        """others: further modules of this language."""

    @abstractmethod
    def coverage(self, backend: str, pipeline: Any) -> Coverage: ...

    @abstractmethod
    def checker(self, after: Any, inputs: Any, inside: bool, options: Mapping[str, Any]) -> Checker:
        """A checker of the program `after`. inputs: the inputs that it will get, or None. inside:
        whether it checks inside regions. options: how tolerances are derived."""

    @abstractmethod
    def run_passes(self, pipeline: Any, inputs: Any, era: str | None) -> PassesRun:
        """Run the passes. inputs: their shapes replace unknown dimension sizes of the module."""


RELAY: Slot[Callable[[Any], Language]] = Slot()
"""Wraps a Relay module."""


def language_of(obj: Any, who: str) -> Language:
    """A module in its language; anything else is treated as Relay. who: the calling function, for
    messages.

    Raises ForeignModuleError for a saved module of another language.
    """
    mod = adopted(obj)
    if isinstance(mod, Language):
        return mod
    if isinstance(mod, ForeignModule):
        raise ForeignModuleError(
            f"{who} needs the original module of {mod.language}, but this is a saved copy; create "
            f"the module again with TVM installed"
        )
    return RELAY()(mod)
