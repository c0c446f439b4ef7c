"""Finds why a call is not offloaded, by examining patterns, predicates and regions in turn."""

from __future__ import annotations

from dataclasses import replace

from byoc_lab.errors import counted
from byoc_lab.lab.explaining.attempts import (
    Attempt,
    attempts_with,
    nearest_attempts,
)
from byoc_lab.lab.explaining.diagnosis import CHANGES, Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.naming import kind
from byoc_lab.lab.explaining.recipes import composers
from byoc_lab.lab.explaining.unmade import (
    computed_twice,
    in_composite_of_function,
    matched_with_its_function,
    taken_as_input,
    why_not_moved,
)
from byoc_lab.lab.linting.composites import NO_DOT, prefixes_of
from byoc_lab.passes.byoc.annotate_target import prefix_of
from byoc_lab.passes.framework.predicates import ask_operator, refusal
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Let, Var
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import needed_operators
from byoc_lab.relay.patterns.expectation import listed
from byoc_lab.relay.patterns.near_miss import bound_value
from byoc_lab.relay.patterns.patterns import ConstantPattern, ExprPattern

OF_PATTERNS = ("no-pattern", "sub-pattern", "unbound-constant")
"""Causes of calls that no pattern or predicate covers."""
MAX_NODES = 100
"""Maximum number of examined nodes of a decomposed call."""


def diagnose(inquiry: Inquiry, call: Call) -> Diagnosis:
    """Diagnose why `call`, a call of the input, is not offloaded."""
    subjects = inquiry.subjects(call)
    lacking = (s for s in subjects if s.op_name and not inquiry.may_take(s))
    subject = next(lacking, subjects[0])
    found = _found(inquiry, call, subject)
    merged = found.cause == "predicate" and inquiry.is_in_constant_composite(subject)
    computed = found.cause in OF_PATTERNS and inquiry.is_computed_constant(subject)
    if not (merged or computed):
        return found
    if merged:  # AnnotateTarget does not ask the predicate about calls inside composites
        found = replace(found, expected="an operand that is not a constant", found="constants")
    said = inquiry.called(subject)
    if not inquiry.was_computed_constant(call):
        said = f"{kind(subject)} that passes made from {inquiry.called(call)}"
    reason = f"{said} computes with constants alone, and no pass computed it"
    return replace(found, reason=_decomposed(inquiry, call, subject) + reason)


def _found(inquiry: Inquiry, call: Call, subject: Call) -> Diagnosis:
    return (
        _malformed(inquiry, subject)
        or computed_twice(inquiry, subject)
        or _given_back(inquiry, subject)
        or _by_chance(inquiry, subject)
        or _taken_by_another_target(inquiry, subject)
        or in_composite_of_function(inquiry, subject)
        or _misnamed(inquiry, subject)
        or _not_matched(inquiry, call, subject)
    )


def computed_from_parameters(inquiry: Inquiry, call: Call) -> Diagnosis | None:
    """The diagnosis of a decomposed call that left an operator with only weights as operands, if
    these weights are parameters; None for any other call. It is the cause if binding the weights
    offloads the call."""
    found = (_of_parameters(inquiry, call, s) for s in inquiry.subjects(call))
    return next(filter(None, found), None)


def _of_parameters(inquiry: Inquiry, call: Call, subject: Call) -> Diagnosis | None:
    weights = inquiry.weights
    own = [a.name_hint for a in call.args if isinstance(a, Var) and a.name_hint in weights]
    if subject.op is call.op or not own:
        return None
    leaves = {n.name_hint for n in _leaves(subject) or () if isinstance(n, Var)}
    if not leaves or not leaves.issubset(own):
        return None
    shown = ", ".join(f"%{n}" for n in sorted(leaves))
    return Diagnosis(
        "unbound-constant",
        f"{_decomposed(inquiry, call, subject)}{kind(subject)} computes with {shown} alone, a "
        f"parameter without a value: no pass can compute it before the network runs, and "
        f"{inquiry.target} does not support it",
        subject,
        expected="constants, or parameters that are bound to their values",
        found=f"parameters without values: {shown}",
        unbound=tuple(own),
    )


# After matching -----------------------------------------------------------------------------------


def _malformed(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """The call is annotated, but a pass refuses the regions of the function."""
    stage, error = inquiry.failed, inquiry.outcome.trace.error
    if stage is None or not inquiry.is_annotated(subject):
        return None
    raised = f"{type(error).__name__}: {error}"
    reason = f"it is annotated for {inquiry.target}, and {stage.name} raises {raised}"
    return Diagnosis("malformed", reason, subject, other=stage.name)


def _given_back(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """The call was in a region of the target, but a later pass took it out."""
    home = inquiry.partitioned_home(subject)
    if home is None or home.compiler != inquiry.target:
        return None
    later, is_gone = inquiry.taken_out(subject, home.region)
    reason = f"it was in region @{home.region}, which {later} gave back to the host"
    if not is_gone:
        reason = f"it was in region @{home.region}, and {later} took it out of regions"
    path = inquiry.path_apart(subject)
    if path:
        reason += (
            f"; that region was not merged with the one of {inquiry.called(path[0])}, because "
            f"together they would make a cycle"
        )
    cause = "merge" if path else "pruned"
    return Diagnosis(cause, reason, subject, path=path, other=later)


def _by_chance(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """A check or predicate that decides about the call answers differently when it is asked
    again."""
    found = ("one answer, each time that it is asked", "different answers")
    for attempt in attempts_with(inquiry, subject) if inquiry.outcome.changing else ():
        whole = not attempt.fit.stops and subject in attempt.fit.covered
        if whole and inquiry.is_changing(attempt.check):
            said = f"{attempt.name} matches, and its check {CHANGES} match"
            return Diagnosis("check", said, subject, attempt, *found, by_chance=True)
    if inquiry.is_changing(inquiry.predicate(subject)):
        said = f"the predicate of {inquiry.target} for {subject.op_name} {CHANGES} call"
        return Diagnosis("predicate", said, subject, None, *found, by_chance=True)
    return None


def _taken_by_another_target(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """A different target took the call, which this target would also take."""
    home, target, targets = (
        inquiry.partitioned_home(subject), inquiry.target, inquiry.annotated_targets,
    )  # fmt: skip
    if home is None or home.compiler == target or target not in targets:
        return None
    if not _is_supported_alone(inquiry, subject):
        return None
    composite = next(reversed(inquiry.composites(subject)), None)
    if composite is not None:
        return Diagnosis(
            "order",
            f"MergeComposite put it into {composite}, which AnnotateTarget gives to "
            f"{home.compiler}: it asks {target} about operators outside of composites alone",
            subject,
            expected=f"{subject.op_name} outside of a composite",
            found=composite,
            other=composite,
        )
    if targets.index(target) < targets.index(home.compiler):
        return None
    return Diagnosis(
        "order",
        f"{home.compiler} takes it: AnnotateTarget asks {', '.join(targets)} in this order",
        subject,
        expected=f"{target} before {home.compiler}",
        found=f"{home.compiler} before {target}",
        other=home.compiler,
    )


def _misnamed(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """A pattern matched, but AnnotateTarget cannot assign the composite to a target."""
    target, targets = inquiry.target, inquiry.annotated_targets
    if inquiry.annotate_target is None:
        return None
    # AnnotateTarget only sees outermost composites
    composite = next(reversed(inquiry.composites(subject)), None)
    if (
        composite is not None
        and not inquiry.is_in_constant_composite(subject)
        and prefix_of(composite) not in targets
    ):
        own = prefixes_of([target])
        return Diagnosis(
            "name",
            f"it matches {composite!r}, and no composite of that name is annotated: "
            f"AnnotateTarget takes names that begin with {prefixes_of(targets) or 'nothing'}",
            subject,
            expected=f"a name that begins with {own}" if own else NO_DOT,
            found=repr(composite),
            other=composite,
        )
    if target not in targets and _is_supported_alone(inquiry, subject):
        return Diagnosis(
            "name",
            f"AnnotateTarget asks {', '.join(map(repr, targets))}, not {target!r}",
            subject,
            expected=repr(target),
            found=", ".join(map(repr, targets)),
        )
    return None


# Matching -----------------------------------------------------------------------------------------


def _not_matched(inquiry: Inquiry, call: Call, subject: Call) -> Diagnosis:
    found = _left_on_host(inquiry, call, subject)
    if not inquiry.is_unused(subject):
        return found
    graph = inquiry.graph_of(subject)
    assert graph is not None and isinstance(graph.root, Function)
    reason = f"{inquiry.result_of(graph.root)} does not depend on it; {found.reason}"
    return replace(found, cause="unused", reason=reason)


def _left_on_host(inquiry: Inquiry, call: Call, subject: Call) -> Diagnosis:
    attempts = list(attempts_with(inquiry, subject))
    whole = [a for a in attempts if not a.fit.stops and subject in a.fit.covered]
    found = [d for a in whole if (d := why_not_moved(inquiry, subject, a))]
    refused = _refused_alone(inquiry, subject)
    order = ("order", "outside-user", "check")
    best = min(found, key=lambda d: order.index(d.cause), default=None)
    if best is not None and not (refused and _says_the_same(refused, best, subject)):
        return best
    if refused is not None:
        nearest = max(attempts, key=lambda a: a.fit.rank, default=None)
        return Diagnosis(
            refused.cause, refused.reason, subject, nearest, refused.expected, refused.found
        )
    if whole and inquiry.is_in_constant_composite(subject):
        return Diagnosis(
            "no-operand",
            f"{whole[0].name} matches constants alone: its composite has no operands, and "
            f"AnnotateTarget begins a region at operands",
            subject, whole[0], "an operand that is not a constant", "constants",
        )  # fmt: skip
    if whole:
        reason = f"{whole[0].name} matches, and the passes put it into no region"
        return Diagnosis("unknown", f"{reason} of {inquiry.target}", subject, whole[0])
    part = [a for a in attempts if a.fit.stops]
    if not part:
        found_input = (d for a in attempts if (d := taken_as_input(inquiry, subject, a)))
        return next(found_input, None) or _without_pattern(inquiry, call, subject)
    return _partial(inquiry, call, subject, nearest_attempts(subject, part))


def _without_pattern(inquiry: Inquiry, call: Call, subject: Call) -> Diagnosis:
    found = inquiry.called(subject)
    if inquiry.predicate(subject) is not None and not subject.args:
        reason = f"AnnotateTarget begins a region at operands, and {found} has none"
        return Diagnosis(
            "no-operand", _decomposed(inquiry, call, subject) + reason, subject, found=found
        )
    reason = f"{inquiry.target} supports neither {found} nor a pattern with it"
    later, registered = (
        inquiry.matched_later(subject.op_name), inquiry.registered_with(subject.op_name),
    )  # fmt: skip
    for name, condition in composers(inquiry, subject).items():
        reason = (
            f"no pattern of {inquiry.target} has {found}, and {name} moves it into a region only "
            f"if {condition}"
        )
    if later:
        reason = (
            f"the first MergeComposite has no pattern with {found}, and {later[0]}, which a later "
            f"one has, made no composite of it"
        )
    elif registered:
        reason = (
            f"the pipeline matches no pattern with {found}, such as {registered[0]}, which "
            f"{inquiry.target} is registered with"
        )
    reason += matched_with_its_function(inquiry, subject)
    if not subject.op_name:
        reason = f"{inquiry.target} computes operators, and this is a {found}"
    return Diagnosis(
        "no-pattern", _decomposed(inquiry, call, subject) + reason, subject, found=found
    )


def _decomposed(inquiry: Inquiry, call: Call, subject: Call) -> str:
    """The pass that replaced a call, in words; empty if the call was not replaced."""
    if subject.op is call.op:
        return ""
    name, wanted = inquiry.pass_that_replaced(call), ""
    entries = (inquiry.table[n] for n in inquiry.entries_with(call.op_name))
    of_target = [(n, p) for n, p, _ in entries if n.startswith(f"{inquiry.target}.")]
    asking = [n for n, pattern in of_target if call.op_name in needed_operators(pattern)]
    if asking:
        others = f" and {counted(len(asking) - 1, 'other pattern')}" if len(asking) > 1 else ""
        wanted = f", which {asking[0]}{others} {'ask' if others else 'asks'} for,"
    return f"{name} replaced {inquiry.called(call)}{wanted} by other operators; "


def _says_the_same(refused: Diagnosis, check: Diagnosis, subject: Call) -> bool:
    """Whether to report the refusal of the single call instead of the check's refusal of its match.
    As in `Backend.why_not`: if the match ends with the call and both have the same reason."""
    assert check.attempt is not None
    ends_here = check.attempt.root is subject
    return check.cause == "check" and (ends_here or refused.reason in check.reason)


def _refused_alone(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """The diagnosis of a call that the back end's predicate for the operator refuses."""
    predicate = inquiry.predicate(subject)
    if predicate is None:
        return None
    answer = ask_operator(predicate, subject, inquiry.target)
    if answer:
        return None
    reason = getattr(answer, "reason", None) or refusal(inquiry.target, subject, answer)
    return Diagnosis(
        "predicate", reason, subject, None, f"a call that {inquiry.target} accepts", reason
    )


def _is_supported_alone(inquiry: Inquiry, subject: Call) -> bool:
    """Whether the back end has a predicate for the operator, which accepts the call."""
    return inquiry.predicate(subject) is not None and _refused_alone(inquiry, subject) is None


def _partial(inquiry: Inquiry, call: Call, subject: Call, attempts: list[Attempt]) -> Diagnosis:
    """The diagnosis of a partial match: the expression at the mismatch decides the cause."""
    attempt = attempts[0]
    stop = attempt.fit.stops[0]
    expected = listed(a.fit.stops[0].expected for a in attempts)
    found, where = stop.seen(inquiry.described), ""
    if stop.below is not None and not stop.reused:
        where = f" as the user of {inquiry.called(stop.below)}"
        if stop.found is stop.below:
            found = "nothing that uses it"
        elif isinstance(stop.found, Function):
            found = f"no user: it is {inquiry.result_of(stop.found)}"
    elif stop.user is not None and not stop.reused:
        where = f" as an operand of {inquiry.called(stop.user)}"
    bound = bound_value(stop.found, attempt.graph)
    if bound is not None and bound is stop.below and not attempt.graph.outputs[stop.found]:
        found, bound = "nothing that uses it", None
    cause, why = "sub-pattern", ""
    if bound is not None:
        cause, why = (
            "let",
            f", which a let binds to {inquiry.called(bound)}; no match crosses a let",
        )
    elif isinstance(stop.found, Var) and wants_constant(stop.pattern):
        if stop.found.name_hint not in inquiry.data:
            cause, why = "unbound-constant", ", a parameter that is not bound to its value"
    elif isinstance(stop.found, Let):
        cause, why = "let", ": a let stands between them; no match crosses a let"
    who = f"{attempt.name} expects"
    if len(attempts) > 1:
        who = f"{attempt.name} and {counted(len(attempts) - 1, 'other pattern')} expect"
    reason = f"{_decomposed(inquiry, call, subject)}{who} {expected}{where}, found {found}{why}"
    unbound = (stop.found.name_hint,) if isinstance(stop.found, Var) else ()
    return Diagnosis(cause, reason, subject, attempt, expected, found, unbound=unbound)


def _leaves(node: Expr) -> set[Expr] | None:
    """The variables and constants from which a call is computed; None for a large graph, or one
    with nodes other than operator calls."""
    leaves: set[Expr] = set()
    seen: set[Expr] = {node}
    todo = [node]
    while todo:
        at = todo.pop()
        if isinstance(at, (Constant, Var)):
            leaves.add(at)
        elif not isinstance(at, Call) or not at.op_name or len(seen) > MAX_NODES:
            return None
        else:
            new = [a for a in at.args if a not in seen]
            seen.update(new)
            todo += new
    return leaves


def wants_constant(pattern: DFPattern) -> bool:
    """Whether a pattern matches only constants."""
    return any(
        isinstance(p, ConstantPattern)
        or (isinstance(p, ExprPattern) and isinstance(p.expr, Constant))
        for p in (pattern, *pattern.same_root())
    )
