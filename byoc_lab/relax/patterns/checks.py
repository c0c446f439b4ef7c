"""Checks of entries for FuseOpsByPattern that also give the reason for a refusal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import ByocLabError, PredicateError
from byoc_lab.passes.framework.predicates import Refused, ask_check, refusal
from byoc_lab.relax.ir.types import is_tensor, is_tuple, unknown_sizes_of
from byoc_lab.relax.reference import any_counterpart
from byoc_lab.relax.to_relay import call_to_relay, match_to_relay
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.run.tvm_runtime import import_tvm

Predicate = Callable[[Any], "bool | Refused"]
Compiles = Callable[[Call], "str | None"]


class ReasonedCheck(ABC):
    """A check of an entry, called with TVM's context of a match."""

    def __call__(self, context: Any) -> bool:
        return self.why_not(context) is None

    @abstractmethod
    def why_not(self, context: Any) -> str | None:
        """The reason of a refusal, "" for a refusal without a reason; None if the check accepts."""


def why_refused(check: Any, context: Any, entry: str) -> str | None:
    """The result of an entry's check in the form of `ReasonedCheck.why_not`.

    Raises PredicateError if the check raises.
    """
    try:
        if isinstance(check, ReasonedCheck):
            return check.why_not(context)
        return _reason(check(context))
    except PredicateError:
        raise
    except Exception as error:
        raise PredicateError(
            f"the check of pattern {entry} raised {type(error).__name__}: {error}. It was "
            f"asked about {str(context.matched_expr)!r:.120}; return False for what is not "
            f"supported, and True for what is"
        ) from error


def _reason(answer: Any) -> str | None:
    if answer:
        return None
    return answer.reason if isinstance(answer, Refused) else ""


@dataclass(frozen=True)
class CallCheck(ReasonedCheck):
    """A predicate in `supports`, called with the matched Relax call."""

    supports: Predicate

    def why_not(self, context: Any) -> str | None:
        return _reason(self.supports(context.matched_expr))


@dataclass(frozen=True)
class EntryCheck(ReasonedCheck):
    """The check of an entry, if any. An error that it raises names the entry."""

    entry: str
    check: Any = None

    def why_not(self, context: Any) -> str | None:
        return None if self.check is None else why_refused(self.check, context, self.entry)


@dataclass(frozen=True)
class CompilableCheck(EntryCheck):
    """A check that also refuses calls that have no Relay form for the code generator of `register`,
    or that it does not compile. compiles: as for `register`."""

    compiles: Compiles | None = None

    def why_not(self, context: Any) -> str | None:
        refused = super().why_not(context)
        if refused is not None:
            return refused
        refused = next(filter(None, (why_not_compiled(c, context) for c in _calls(context))), None)
        if refused is not None or self.compiles is None:
            return refused
        # The operators of a match are translated together, as in the region: nn.dense is two
        # operators in Relax.
        try:
            made = match_to_relay(context, any_counterpart)
        except ByocLabError as error:
            return str(error)
        calls = (n for n in post_order(made) if isinstance(n, Call) and isinstance(n.op, Op))
        return next(filter(None, map(self.compiles, calls)), None)


@dataclass(frozen=True)
class RelayCheck(ReasonedCheck):
    """The check of an entry of a Relay table: whether a match in Relax is also a match in Relay.

    The matched part is imported into Relay (`match_to_relay`). The Relay pattern must match it,
    then the entry's check is called with it. As in Relay, no value inside the match may be used
    outside it.
    """

    entry: str
    pattern: DFPattern
    check: Predicate | None = None

    def why_not(self, context: Any) -> str | None:
        """Raises PredicateError if the check raises."""
        if import_tvm().relax.backend.utils.has_leaking_intermediate_variables(context):
            return "a value inside the match is used outside of it"
        unknown = next(filter(None, map(_unknown_sizes, _calls(context))), None)
        if unknown is not None:
            return unknown
        try:
            matched = match_to_relay(context, any_counterpart)
        except ByocLabError as error:
            return str(error)
        if not self.pattern.match(matched):
            shown = " ".join(str(matched).split())
            return f"in Relay it is {shown:.400}, which the Relay pattern does not match"
        answer = self.check is None or ask_check(self.check, matched, self.entry)
        return None if answer else refusal(self.entry, matched, answer)


def why_not_compiled(call: Any, context: Any) -> str | None:
    """The reason that a code generator of `register` cannot compile a region with this call of a
    match; None if it can."""
    unknown = _unknown_sizes(call)
    if unknown is not None:
        return unknown
    tuples = [arg for arg in call.args if isinstance(arg, import_tvm().relax.Var) and is_tuple(arg)]
    if tuples and all(arg in context.matched_bindings for arg in tuples):
        return None  # computed inside the match
    try:
        call_to_relay(call, any_counterpart)
    except ByocLabError as error:
        return str(error)
    return None


def _unknown_sizes(call: Any) -> str | None:
    """A sentence about the unknown sizes of a call; None if all sizes are known."""
    unknown = sorted(
        {str(s) for v in (*call.args, call) if is_tensor(v) for s in unknown_sizes_of(v)}
    )
    if not unknown:
        return None
    return (
        f"the size {' and '.join(unknown)} is not known, and code is generated for known sizes "
        f"(relax.transform.BindSymbolicVars gives them)"
    )


def _calls(context: Any) -> list[Any]:
    """The operator calls in a match."""
    tvm = import_tvm()
    return [
        value
        for value in context.matched_bindings.values()
        if isinstance(value, tvm.relax.Call) and isinstance(value.op, tvm.ir.Op)
    ]
