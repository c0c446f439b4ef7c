"""`Explanations`: the answers about the calls of a module of Relay."""

from __future__ import annotations

from byoc_lab.lab.explaining.answers import Answers
from byoc_lab.lab.explaining.explanation import Explanation, diagnose_all


class Explanations(Answers[Explanation]):
    """The explanations of the calls of a module, in its order; displays itself as a table.

    `explanations[call]` is the one of a call, `explanations.host` has those that are not offloaded,
    `explanations.by_cause` has these by cause. `explanations.warnings`: answers of checks and
    predicates of the back end that count as True and may not be meant so.
    """

    @property
    def by_cause(self) -> dict[str, list[Explanation]]:
        """Those that are not offloaded, by cause, the most frequent cause first."""
        diagnose_all(self.host)
        return super().by_cause
