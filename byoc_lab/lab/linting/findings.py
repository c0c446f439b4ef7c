"""`Findings`: the result of `lint`, which displays itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from byoc_lab.display import Shown
from byoc_lab.errors import counted
from byoc_lab.lab.linting.finding import Finding, Severity
from byoc_lab.lab.linting.reporters import report
from byoc_lab.printing import printable
from byoc_lab.relay.ir.module import IRModule


class Findings(Sequence[Finding], Shown):
    """The findings of one run, in the order of the module's text; displays itself.

    A finding caused by another finding is not listed here, but in the `consequences` of that
    finding. suppressed: the number of findings left out because of `ignore` or a comment.
    """

    def __init__(self, found: Sequence[Finding], mod: IRModule, suppressed: int = 0):
        self._found = list(found)
        self.mod = mod
        self.suppressed = suppressed

    def __len__(self) -> int:
        return len(self._found)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        return self._found[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    @property
    def errors(self) -> list[Finding]:
        return [f for f in self._found if f.severity is Severity.ERROR]

    @property
    def warnings(self) -> list[Finding]:
        return [f for f in self._found if f.severity is Severity.WARNING]

    @property
    def all(self) -> list[Finding]:
        """Every finding, each followed by its consequences."""
        return [f for cause in self._found for f in cause]

    def by_code(self, code: str) -> list[Finding]:
        return [f for f in self._found if f.code == code]

    def report(self, format: str = "text") -> str:
        """The findings as "text", "json", "sarif" or "github". Raises UnknownNameError."""
        return report(self._found, format)

    @printable
    def __str__(self) -> str:
        return self.report()

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'finding')}: {', '.join(f.code for f in self) or 'clean'}>"
