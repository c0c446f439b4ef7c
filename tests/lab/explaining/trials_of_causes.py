"""Verifies the causes that explain states, on random cases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from byoc_lab import PassContext, trace
from byoc_lab.compat.passes.simplify.dead_code_elimination import DeadCodeElimination
from byoc_lab.lab.explaining import Explanation, explain
from byoc_lab.lab.explaining.explanation import WITHOUT_LETS
from byoc_lab.passes import MergeComposite, ToGraphNormalForm
from byoc_lab.relay import IRModule
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.regions import RegionSet
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern
from byoc_lab.relay.patterns.below import post_order_patterns
from byoc_lab.relay.patterns.grouping import find_groups, group_at
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.matcher import Matcher
from byoc_lab.relay.patterns.patterns import CallPattern
from tests.lab.explaining.random_tables import TARGET, Drawn

OF_PIPELINE = ("needs-pass", "skipped-pass", "pruned", "merge", "name", "malformed")
"""The causes that lie in the pipeline, not in the module or the back end."""
Table = Sequence[tuple[Any, ...]]


def tried_of_another_group(case: Drawn, group: Any) -> None:
    """The change of another group offloads each call of this group that it is said to offload."""
    change = group.change
    if change is None or group.own_change is not None:
        return
    with change.setup.context:
        again = explain(change.setup.mod, TARGET, pipeline=list(change.setup.passes))
    for one in group:
        if one.offloaded_by(change):
            (there,) = again.of(change.calls.get(one.typed, one.typed))
            assert there.status != "host", case.said(one)


def check_raises(case: Drawn, check: Any) -> bool:
    """A check that reads op.name, which raises for a composite operand."""
    return check is not None and "name" in check.__code__.co_names


# Causes -------------------------------------------------------------------------------------------


def tried(case: Drawn, one: Explanation, result: IRModule) -> None:
    if one.offloaded:
        regions = {g.name_hint: f for g, f in result.functions.items() if "Compiler" in f.attrs}
        became = re.match(r"became ([\w.]+)", one.reason)
        name = became[1] if became else one.name
        assert names_in([regions[str(one.region)]])[name], case.said(one)
        return
    entry = next((e for e in case.table if one.nearest and e[0] == one.nearest.name), None)
    attempts = {
        "no-pattern": no_pattern, "check": check, "predicate": predicate, "order": order,
        "outside-user": outside_user, "sub-pattern": no_match, "let": let,
        "unbound-constant": no_match, "computed-twice": computed_twice,
        "needs-pass": needs_pass, "skipped-pass": skipped_pass, "pruned": given_back,
        "merge": given_back, "name": misnamed, "malformed": malformed,
        "unknown": left_out, "unused": unused,
    }  # fmt: skip
    if one.change is not None:
        tried_change(case, one)
    if WITHOUT_LETS in one.reason and one.cause not in OF_PIPELINE:
        in_graph_form(case, one)
        return
    if one.cause in ("sub-pattern", "let", "unbound-constant"):
        is_input = "inputs of a match stay outside" in one.reason
        if one.nearest.matched == one.nearest.total:
            assert is_input and beside_a_match(case, one, entry), case.said(one)
    if one.cause is not None:
        assert attempts[one.cause](case, one, entry), case.said(one)
    if one.cause == "sub-pattern" and "no user: it is the result" in one.reason:
        assert completes(case, one), case.said(one)


def tried_change(case: Drawn, one: Explanation) -> None:
    assert one.change is not None
    setup = one.change.setup
    with setup.context:
        (again,) = explain(setup.mod, TARGET, one.change.call, list(setup.passes))
    assert again.status == ("offloaded" if one.change.region else "removed"), case.said(one)


def no_pattern(case: Drawn, one: Explanation, entry: Any) -> bool:
    op = Op.get(one.name)
    calls = (
        p for _, pattern, _ in case.table for p in post_order_patterns(pattern)
        if isinstance(p, CallPattern)
    )  # fmt: skip
    graph = IndexedGraph(op)
    return one.name not in case.supports and not any(Matcher(graph).match(c.op, op) for c in calls)


def check(case: Drawn, one: Explanation, entry: Any) -> bool:
    _, pattern, asked = entry
    return any(not asked(root) for root in matches_with(case, pattern, one.typed))


def predicate(case: Drawn, one: Explanation, entry: Any) -> bool:
    return not case.supports[one.name](one.typed)


def order(case: Drawn, one: Explanation, entry: Any) -> bool:
    if entry is None:  # an earlier target is asked first
        asked_first = replace(case, targets=[TARGET])
        return explain(case.mod, TARGET, one.call, asked_first.passes())[0].cause != "order"
    _, pattern, asked = entry
    accepted = [r for r in matches_with(case, pattern, one.typed) if asked is None or asked(r)]
    if "overlap" in one.reason:
        return bool(accepted)
    alone = explain(case.mod, TARGET, one.call, case.passes([entry]))
    causes = ("order", "computed-twice")
    return bool(accepted) and (alone[0].offloaded or alone[0].cause in causes)


def outside_user(case: Drawn, one: Explanation, entry: Any) -> bool:
    _, pattern, asked = entry
    roots = [r for r in matches_with(case, pattern, one.typed) if asked is None or asked(r)]
    moved = {g.root for graph in graphs(case) for g in find_groups(pattern, graph)}
    return any(r not in moved for r in roots)


def no_match(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether no pattern of the table has a match that includes the call."""
    return not any(matches_with(case, pattern, one.typed) for _, pattern, _ in case.table)


def beside_a_match(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether the pattern matches at a node that is computed from the call."""
    matches = (n for g in graphs(case) for n in g.nodes if Matcher(g).match(entry[1], n))
    return any(one.typed in set(post_order(n)) for n in matches)


def let(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether no match includes the call and a change offloads it; `tried` runs the change
    again."""
    return no_match(case, one, entry) and one.change is not None


def unused(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether the call is removed with the lets whose variables are unused, and by a change, which
    `tried` runs again."""
    (stage,) = trace(case.mod, [DeadCodeElimination()]).stages
    left = [n for n in stage.images(one.typed) if isinstance(n, Call)]
    return not left and one.change is not None and not one.change.region


def in_graph_form(case: Drawn, one: Explanation) -> None:
    """In graph normal form the call has the same cause, or the cause computed-twice, which is
    verified there."""
    (stage,) = trace(case.mod, [ToGraphNormalForm()]).stages
    assert stage.after is not None and stage.after is not stage.before, case.said(one)
    graph = replace(case, mod=stage.after)
    call = next(n for n in stage.images(one.typed) if isinstance(n, Call))
    (again,) = explain(graph.mod, TARGET, call, graph.passes())
    expected = "computed-twice" if one.cause == "let" else one.cause
    assert again.cause == expected, case.said(one)
    tried(graph, again, trace(graph.mod, graph.passes()).result)


def computed_twice(case: Drawn, one: Explanation, entry: Any) -> bool:
    before = names_in(case.mod.functions.values())
    after = trace(case.mod, case.passes()).result.functions.values()
    host = names_in(f for f in after if "Compiler" not in f.attrs)
    region = names_in(f for f in after if "Compiler" in f.attrs)
    return host[one.name] + region[one.name] > before[one.name] and bool(region[one.name])


def needs_pass(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether the named passes are missing or in the wrong order, as stated; `tried` verifies that
    the change offloads the call."""
    missing = one.reason.partition(";")[0]
    names = [p.name for p in case.passes()]
    moved = re.fullmatch(r"the pipeline runs (\w+) (before|after) (\w+)", missing)
    if moved is not None:
        is_earlier = names.index(moved[1]) < names.index(moved[3])
        return is_earlier == (moved[2] == "before") and one.change is not None
    found = re.fullmatch(
        r"the pipeline does not run (.+?)( again, right)?( before (\w+))?", missing
    )
    assert found is not None and one.change is not None, case.said(one)
    earlier = names[: names.index(found[4])] if found[4] else names
    return all((name in earlier) == bool(found[2]) for name in found[1].split(" and "))


def left_out(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether all parts of a pattern match."""
    return one.nearest is not None and one.nearest.matched == one.nearest.total


def skipped_pass(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether the context skips the named passes, for the stated reason."""
    found = re.match(
        r"(?:the PassContext disables (?P<off>[\w ,]+?)(?:; without that, |;|$))?"
        r"(?:the PassContext has opt_level (?P<has>\d) and skips (?P<levels>[^;]+))?",
        one.reason,
    )
    assert found is not None
    off = re.split(r", | and ", found["off"] or "")
    with PassContext(
        opt_level=case.opt_level, disabled_pass=[n for n in case.disabled if n not in off]
    ):
        stages = trace(case.mod, case.passes()).stages
    levels = {s.name: s.needs_level for s in stages if s.skipped}
    needed = {
        name: int(level)
        for names, level in re.findall(r"([\w ,]+?), which needs? (\d)", found["levels"] or "")
        for name in re.split(r", | and ", names.removeprefix(", and "))
    }
    return (
        one.change is not None
        and bool(found["off"] or needed)
        and found["has"] in (None, str(case.opt_level))
        and (not found["off"] or set(off) <= set(case.disabled))
        and all(levels[name] == level for name, level in needed.items())
    )


def given_back(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Without the pass that returned the region to the host, the call is offloaded.

    Regions that were not merged are joined by a path through a call outside both.
    """
    again = [p for p in case.passes() if p.name not in {q.name for q in case.last}]
    (without,) = explain(case.mod, TARGET, one.call, again)
    regions = {g.name_hint for g, f in trace(case.mod, again).result.functions.items()}
    named = re.match(r"it was in region @(\w+), which InlineRegions gave back", one.reason)
    if not in_a_region(without) or named is None or named[1] not in regions:
        return False
    if one.cause == "pruned":
        return not one.path
    ends = explain(case.mod, TARGET, pipeline=again)
    homes = [ends[n].region for n in one.path]  # type: ignore[call-overload]
    joined = all(a in set(post_order(b)) for a, b in pairwise(one.path))
    return joined and homes[0] != homes[-1] and any(h not in (homes[0], homes[-1]) for h in homes)


def misnamed(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether the target is not asked, or no target is asked for the composite's name, and right
    names change the cause."""
    if "AnnotateTarget asks" in one.reason and TARGET in case.targets:
        return False
    composite = re.match("it matches '([^']+)'", one.reason)
    if composite is not None:
        prefix, dot, _ = composite[1].partition(".")
        if not composites(case, case.table)[composite[1]] or (dot and prefix in case.targets):
            return False
    table = [(f"{TARGET}.{n.rpartition('.')[2]}", p, c) for n, p, c in case.table]
    renamed = replace(case, table=table, targets=[TARGET])
    (again,) = explain(case.mod, TARGET, one.call, renamed.passes())
    later = ("malformed", "pruned", "merge", "computed-twice")
    return in_a_region(again) or again.cause in (later if composite is None else later[:1])


def malformed(case: Drawn, one: Explanation, entry: Any) -> bool:
    """Whether the named pass raises the stated error, and the calls stated as annotated are exactly
    the calls in its regions."""
    run = trace(case.mod, case.passes())
    raised = f"{run.stages[-1].name} raises {type(run.error).__name__}: {run.error}"
    found = explain(case.mod, TARGET, pipeline=case.passes())
    canonical = {"nn.bias_add": "add"} if "CanonicalizeOps" in {p.name for p in case.first} else {}
    told = Counter(canonical.get(e.name, e.name) for e in found if e.cause == one.cause)
    inside = names_in_regions(run.final["main"])
    return raised in one.reason and told <= inside and set(told) == set(inside)


def names_in_regions(function: Function) -> Counter[str]:
    """The operators in the regions that annotations form for the target, with copies."""
    regions, names = RegionSet(function), Counter[str]()
    for node in post_order(function):
        region = regions.of(node)
        if isinstance(node, Call) and region is not None and region.target == TARGET:
            made = isinstance(node.op, Function)
            names.update(
                names_in([node.op]) if made else [] if is_annotation(node) else [node.op_name]
            )
    return names


def completes(case: Drawn, one: Explanation) -> bool:
    """Whether more parts of the pattern match with the missing user."""
    entry = next((n, p) for n, p, _ in case.table if n == one.nearest.name)
    body = case.mod["main"].body
    if not isinstance(body, Call):
        return True
    for operator in re.split(", | or ", one.expected):
        op = Op.get(operator) if operator in ("tanh", "exp", "nn.relu", "sigmoid") else None
        if op is None:
            return True
        new = IRModule.from_expr(Function(case.mod["main"].params, Call(op, [body])))
        told = explain(new, TARGET, body, case.passes([(*entry, None)]))[0]
        if told.offloaded or told.reason != one.reason:
            return True
    return False


def in_a_region(one: Explanation) -> bool:
    """Whether a region computes a call, even if the host computes it again."""
    return one.offloaded or one.cause == "computed-twice"


# Helpers ------------------------------------------------------------------------------------------


def composites(case: Drawn, table: Table) -> Counter[str]:
    after = MergeComposite(list(table))(case.mod)
    return Counter(str(f.attrs["Composite"]) for f in made_in(after))


def made_in(mod: IRModule) -> Iterator[Function]:
    for node in post_order(*mod.functions.values()):
        if isinstance(node, Function) and "Composite" in node.attrs:
            yield node


def graphs(case: Drawn) -> list[IndexedGraph]:
    return [IndexedGraph(f) for f in case.mod.functions.values()]


def matches_with(case: Drawn, pattern: DFPattern, call: Call) -> list[Any]:
    """The last calls of the matches that would offload a call of the module."""
    ends = [(group_at(pattern, n, g), n) for g in graphs(case) for n in g.nodes]
    return [root for group, root in ends if group is not None and call in group.nodes]


def names_in(functions: Any) -> Counter[str]:
    nodes = post_order(*functions)
    return Counter(n.op_name for n in nodes if isinstance(n, Call) and n.op_name)
