"""Finds why a match has no composite, or several copies of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byoc_lab.errors import counted
from byoc_lab.lab.explaining.attempts import Attempt, attempts_with
from byoc_lab.lab.explaining.diagnosis import Diagnosis
from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.lab.explaining.naming import counts_in_words, kind
from byoc_lab.passes.framework.predicates import ask_check, refusal
from byoc_lab.relay.analysis.recomputed import call_sites, in_each_call
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns.below import root_operators
from byoc_lab.relay.patterns.grouping import group_at


def why_not_moved(inquiry: Inquiry, subject: Call, attempt: Attempt) -> Diagnosis | None:
    """The whole pattern matches, but its composite was not created."""
    name, graph = attempt.name, attempt.graph
    answer = attempt.check is None or ask_check(attempt.check, attempt.root, name)
    if not answer:
        reason = refusal(f"the check of {name}", attempt.root, answer)
        return Diagnosis(
            "check", reason, subject, attempt, "a match that the check accepts", reason
        )
    for node, user in used_outside(attempt):
        if not graph.dominates(attempt.root, user):
            uses = "uses"
            who = f"{inquiry.called(user)}, outside of the match,"
            if isinstance(user, Function):
                who, uses = f"{inquiry.result_of(user)}, outside of the match,", "is"
            return Diagnosis(
                "outside-user",
                f"{name} matches, and {who} {uses} the value of {inquiry.called(node)} inside",
                subject, attempt,
                f"{inquiry.called(node)} used inside the match alone",
                f"also used by {who.partition(',')[0]}",
                blocked=node, user=user,
            )  # fmt: skip
    for node in attempt.body:
        other = inquiry.composite(node) if isinstance(node, Call) else None
        if other == name:
            other = _of_this_name(inquiry, attempt, node)
        if other is not None:
            name = inquiry.labels[attempt.position]
            return Diagnosis(
                "order",
                f"{name} matches, and {other} took {inquiry.called(node)} before: entries are "
                f"tried in the order of the table",
                subject, attempt, f"{name} before {other}", f"{other} before {name}", other=other,
            )  # fmt: skip
    return _overlapped(inquiry, subject, attempt) or _changed_before(inquiry, subject, attempt)


def _of_this_name(inquiry: Inquiry, attempt: Attempt, node: Expr) -> str | None:
    """The earlier entry with the same name whose match contains a node; None if there is none."""
    for n in range(attempt.position):
        groups = inquiry.groups(n, attempt.graph) if inquiry.table[n][0] == attempt.name else ()
        if any(node in group.body for group in groups):
            return inquiry.labels[n]
    return None


def _overlapped(inquiry: Inquiry, subject: Call, attempt: Attempt) -> Diagnosis | None:
    """A different match of the same entry, nearer to the end of the function, contains a part of
    it."""
    for group in inquiry.groups(attempt.position, attempt.graph):
        shared = [n for n in group.nodes if n in attempt.body and n in group.body]
        if shared and group.root is not attempt.root:
            end = inquiry.called(group.root)
            return Diagnosis(
                "order",
                f"{attempt.name} matches, and its match that ends in {end} has "
                f"{inquiry.called(shared[0])}: of matches of one entry that overlap, the last "
                f"one in the function is kept",
                subject, attempt, "a match that overlaps with no later match of the entry",
                f"the match that ends in {end}",
            )  # fmt: skip
    return None


def _changed_before(inquiry: Inquiry, subject: Call, attempt: Attempt) -> Diagnosis | None:
    """An earlier entry made a composite of an operand or a user of the match, or of another node
    that the pattern compares. A composite of a user can prevent the match, because it may take a
    value inside the match as an argument."""
    operands = [p for n in attempt.body if isinstance(n, Call) for p in n.args]
    group = group_at(attempt.pattern, attempt.root, attempt.graph)
    assert group is not None  # the whole pattern matches
    # also inputs of the match, because a pattern may restrict its inputs
    compared = [n for nodes in group.taken.values() for n in nodes]
    users = [u for n in attempt.body for u in attempt.graph.outputs.get(n, ())]
    alone = inquiry.groups(attempt.position, attempt.graph)
    if not any(group.root is attempt.root for group in alone):
        users = []  # without other entries the match has no composite either
    words = ("an operand of the match", "a node that the pattern compares", "a user of the match")
    for word, nodes in zip(words, (operands, compared, users), strict=True):
        for node in nodes:
            other = inquiry.composite(node) if isinstance(node, Call) else None
            if other is not None and node not in attempt.body:
                return Diagnosis(
                    "order",
                    f"{attempt.name} matches as the only entry, and {other} made a composite of "
                    f"{inquiry.called(node)}, {word}, before",
                    subject, attempt, f"{attempt.name} before {other}",
                    f"{other} before {attempt.name}", other=other,
                )  # fmt: skip
    return None


def in_composite_of_function(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """A pattern that accepts any expression matched the function around the call."""
    if not inquiry.is_in_composite_of_function(subject):
        return None
    name, around = inquiry.composites(subject)[-1], _function_around(inquiry, subject)
    return Diagnosis(
        "no-operand",
        f"{name} matches {around} itself: its composite has no operands, and AnnotateTarget begins "
        f"a region at operands",
        subject,
        expected="a match that ends in an operator",
        found=f"a match of {around}",
        other=name,
    )


def matched_with_its_function(inquiry: Inquiry, subject: Call) -> str:
    """The entries that match the function around a call itself, as the end of a sentence; "" if
    there are none."""
    graph = inquiry.graph_of(subject)
    names = [
        inquiry.labels[n]
        for n, (_, pattern, _) in enumerate(inquiry.table)
        if graph is not None
        and root_operators(pattern) is None
        and not inquiry.is_of_another(n)
        and any(group.root is graph.root for group in inquiry.groups(n, graph))
    ]
    return "".join(
        f"; {name} matches {_function_around(inquiry, subject)} itself, and the operators in a "
        f"match are in no other match of its entry"
        for name in names
    )


def _function_around(inquiry: Inquiry, subject: Call) -> str:
    graph = inquiry.graph_of(subject)
    assert graph is not None
    return inquiry.called(graph.root)


def taken_as_input(inquiry: Inquiry, subject: Call, attempt: Attempt) -> Diagnosis | None:
    """The call matches an input of the pattern, which stays outside."""
    if attempt.fit.stops:
        return None
    return Diagnosis(
        "sub-pattern",
        f"in {attempt.name}, a part of the pattern that is not an operator, such as a wildcard, "
        f"stands for {inquiry.called(subject)}: inputs of a match stay outside",
        subject, attempt, "another value for the input of the match", inquiry.called(subject),
    )  # fmt: skip


def computed_twice(inquiry: Inquiry, subject: Call) -> Diagnosis | None:
    """A region of the target has a copy of the call, and so has the host."""
    homes = inquiry.outcome.homes
    copies = inquiry.outcome.follow(subject, inquiry.matching)
    inside = [n for n in copies if n in homes and homes[n].compiler == inquiry.target]
    if not inside or len(inside) == len(copies) or inside[0].op is not subject.op:
        return None
    home = homes[inside[0]]
    matches = (a for a in attempts_with(inquiry, subject) if a.name == home.composite)
    attempt = next((a for a in matches if not a.fit.stops and subject in a.fit.covered), None)
    reason = f"@{home.region} computes it, and the host computes it again"
    kept = [] if attempt is None else list(used_outside(attempt))
    if attempt is None or not kept:  # no user outside of the match is the reason
        return Diagnosis("computed-twice", reason, subject)
    needed = {n for v, _ in kept for n in post_order(v)}
    names = Counter(kind(n) for n in attempt.body if n in needed and isinstance(n, Call))
    value, user = kept[0]
    return Diagnosis(
        "computed-twice",
        f"{reason}: {inquiry.called(user)}, outside of the match of {attempt.name}, uses the value "
        f"of {inquiry.called(value)} inside, and its result flows into the match. Computed twice: "
        f"{counted(names.total(), 'operator')} ({counts_in_words(names)})"
        f"{_in_each_call(inquiry, subject)}",
        subject, attempt, f"{inquiry.called(value)} used inside the match alone",
        f"also used by {inquiry.called(user)}", blocked=value, user=user,
    )  # fmt: skip


def _in_each_call(inquiry: Inquiry, subject: Call) -> str:
    mod = inquiry.matched
    homes = (gv.name_hint for gv, f in mod.functions.items() if subject in set(post_order(f)))
    home = next(homes, "")
    return in_each_call(home, call_sites(mod)[home])


def used_outside(attempt: Attempt) -> Iterator[tuple[Expr, Expr]]:
    """The values inside a match that have users outside of it, each with one such user."""
    for value in attempt.body:
        if value is not attempt.root:
            for user in attempt.graph.outputs.get(value, ()):
                if user not in attempt.body:
                    yield value, user
