"""One-sentence captions of stages, and the stage at which a trace opens."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from byoc_lab.errors import counted
from byoc_lab.lab.explaining import decode
from byoc_lab.lab.linting import Finding
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.view.messages import Outcome
from byoc_lab.relay.ir.expr import Expr

SIGNS = {"failed": "✖", "skipped": "⤼", "changed": "●", "unchanged": "○"}
MAX_CAUSE = 140  # maximum number of characters of an error's cause


def opening(trace: Trace) -> int:
    """The stage that a trace opens at: the first that failed, else the first that changed the
    module, else the first."""
    failed = (n for n, stage in enumerate(trace.stages) if stage.error is not None)
    changed = (n for n, stage in enumerate(trace.stages) if stage.changed)
    return next(failed, next(changed, 0))


def outcome(word: str) -> Outcome:
    """An outcome with its sign; kind: the word that the style sheet uses."""
    return {"sign": SIGNS[word], "word": word, "kind": word}


def outcome_text(stage: Stage) -> str:
    """The outcome of a stage: its sign and its word."""
    return f"{SIGNS[stage.outcome]} {stage.outcome}"


def seconds_text(seconds: float | None) -> str:
    """A time with two or three digits: "1.2 ms", "340 ms", "2.1 s"."""
    if seconds is None:
        return ""
    if seconds < 0.0995:
        return f"{seconds * 1e3:.1f} ms" if seconds < 0.00995 else f"{seconds * 1e3:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 9.95 else f"{seconds:.0f} s"


def caption(stage: Stage, summary: str = "", opens: bool = False) -> str:
    """Describe a stage in one sentence.

    summary: the summary of its changes, if known. opens: whether the trace opens at this stage; the
    sentence then says why.
    """
    if stage.error is not None:
        first = "The pipeline stops here: " if opens else ""
        return f"{first}{stage.name} raised {type(stage.error).__name__}."
    if stage.skipped:
        return f"{stage.name} did not run: {stage.skipped}."
    if not stage.changed:
        return f"{stage.name} ran and left the module unchanged."
    first = " makes the first change" if opens else ""
    many = len(stage.events)
    rewrites = f", in {counted(many, 'rewrite')}" if many else ""
    return f"{stage.name}{first}: {summary or 'the module changed'}{rewrites}."


def cause_of(error: Exception) -> str:
    """The first sentence of an error's message, on one line."""
    text = str(error).strip()
    first = text.splitlines()[0] if text else "no message"
    if len(first) > MAX_CAUSE:
        first = f"{first[: MAX_CAUSE - 1]}…"
    return first


def explained_by(error: Exception, findings: Sequence[Finding]) -> int | None:
    """The position of the finding that explains an error; None without such a finding.

    Prefers a finding of a rule named in the error message, then a finding at the error's node, then
    the first error.
    """
    rules = {rule for meaning in decode(error) for rule in meaning.rules}
    node = getattr(error, "node", None)
    wanted: tuple[Callable[[Finding], bool], ...] = (
        lambda f: f.code in rules,
        lambda f: isinstance(node, Expr) and f.node is node,
        lambda f: str(f.severity) == "error",
    )
    for holds in wanted:
        for n, finding in enumerate(findings):
            if holds(finding):
                return n
    return None
