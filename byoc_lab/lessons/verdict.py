"""The verdict on an answer: passed or not, the mistake, a picture of it, hints in three steps."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from byoc_lab.printing import printable
from byoc_lab.relay.ir.module import IRModule

NOT_HERE = "cannot be judged here"


@dataclass(frozen=True, eq=False)
class Mistake:
    """A mistake in an answer.

    key: its kind, which selects the hint. message: what was found and what was expected. picture:
    the module that shows it, if any.
    """

    key: str
    message: str
    picture: IRModule | None = None


@dataclass(frozen=True, eq=False)
class Verdict:
    """The result of a check: passed or not, and the message for the student.

    mistake: the kind of the mistake; empty if the answer passed. hints: three steps, the first for
    this mistake. picture: the module that shows the mistake, if any. judged: whether the answer
    could be judged on this machine.
    """

    passed: bool
    messages: tuple[str, ...] = ()
    mistake: str = ""
    hints: tuple[str, ...] = ()
    picture: IRModule | None = None
    judged: bool = True

    def __bool__(self) -> bool:
        return self.passed

    @printable
    def __str__(self) -> str:
        lines = [self.head, *(f"- {message}" for message in self.messages)]
        if self.hints:
            lines.append(f"hint: {self.hints[0]}")
            lines.append(f"(verdict.hint(2) and verdict.hint({len(self.hints)}) say more)")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def head(self) -> str:
        """The verdict in a few words."""
        if not self.judged:
            return NOT_HERE
        return "passed" if self.passed else "not yet"

    def hint(self, step: int = 1) -> str:
        """The hint with this number, from 1 (where to look) to 3; empty if there is none."""
        return self.hints[step - 1] if 0 < step <= len(self.hints) else ""

    def to_html(self) -> str:
        """The verdict with its picture as HTML that needs no kernel."""
        items = "".join(f"<li><pre>{html.escape(message)}</pre></li>" for message in self.messages)
        steps = "".join(
            f"<details><summary>Hint {n}</summary>{html.escape(hint)}</details>"
            for n, hint in enumerate(self.hints, 1)
        )
        return f"<b>{self.head}</b><ul>{items}</ul>{self._drawn()}{steps}"

    def _drawn(self) -> str:
        if self.picture is None:
            return ""
        from byoc_lab.lab.view.graph import graph

        view = graph(self.picture)
        drawn = view._repr_svg_()
        return drawn if drawn is not None else f"<pre>{html.escape(str(view))}</pre>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.to_html()}
