"""What the browser shows, as plain data: computed here, drawn there.

The state is a JSON object (schema 1):

    schema        1
    kind          "trace", "diff" or "module"
    title         of the whole
    tab           the panel that is open at first: "graph" or "findings"
    stat_labels   {key: [word for one, for several]} for the numbers in `stats`, in display order
    modules       every different module once; stages refer to them by position:
        lines     [[text, node id or null], ...]
        names     {"%3": node id, "@main": node id}: what a name in the text stands for
        findings  [{code, name, severity, message, what_to_do, node, line, function, operand}]
                  operand: the name on that line that it is about ("%10"), or null
        stats     {key: number}
        graph     SVG text, or null; graph_note: why there is none
    stages        in order; a "module" has one, with `before` null:
        name, group (of the sequence it is in), changed, seconds (or null), summary
        skipped   why the pass did not run, or ""
        before, after     positions in `modules`, or null (after: the pass failed)
        hunks     [[sign, line before, line after, count], ...] with sign "=", "+", "-" or "~"
        changes   [{kind, text, before, after}] and changes_total
        events    [{rule, reason, before, after, before_text, after_text}] and events_total
        steps     what `rewrites.py` says of the first events; there only in a saved page
        error     null or {type, message, node}

Node ids ("n12") follow a node through the stages: while the same object survives, where the diff
pairs its line with another, and where it says that the node moved. So one id chooses a node
everywhere. Lines count from 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.lab.view.graph import GraphView
from byoc_lab.lab.view.twins import Twins
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Var, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.printer import Line, print_lines

SCHEMA = 1
MOST_EVENTS = 1000  # of one stage; the rest is counted, and stays in the trace
STAT_LABELS = {  # one of them, several of them
    "offloaded": ["operator in a region", "operators in regions"],
    "host": ["operator on the host", "operators on the host"],
    "regions": ["region", "regions"],
    "functions": ["function", "functions"],
}
_SIGNS = {"same": "=", "added": "+", "removed": "-", "changed": "~"}

State = dict[str, Any]


def text_lines(obj: IRModule | Expr) -> list[Line]:
    """The lines that the view shows: no version, no metadata, no empty lines."""
    lines = print_lines(obj, show_meta_data=False, header=False)
    return [line for line in lines if line.text.strip()]


def trace_state(trace: Any, graphs: bool = True) -> State:
    """The state of a `Trace`. `graphs=False` leaves out the drawings: most of the time."""
    return Builder(graphs).trace(trace)


def module_state(
    mod: IRModule | Expr, findings: Iterable[Any] = (), title: str = "", tab: str = "graph"
) -> State:
    """The state of one module (or function, or expression), with findings to show in it."""
    return {**Builder(True).module_only(mod, list(findings), title), "tab": tab}


def diff_state(diff: Any, title: str = "") -> State:
    """The state of a `Diff`."""
    return Builder(True).diff_only(diff, title)


class Ids:
    """Names for nodes. Copies of a variable are one node: InferType makes a copy of each."""

    def __init__(self) -> None:
        self._ids: dict[Hashable, str] = {}
        self._made = 0

    @staticmethod
    def _key(node: Expr) -> Hashable:
        return node.vid if isinstance(node, Var) else node

    def get(self, node: Expr | None) -> str | None:
        return None if node is None else self._ids.get(self._key(node))

    def of(self, node: Expr) -> str:
        """The id of a node, made now if it has none."""
        if self._key(node) not in self._ids:
            self._made += 1
            self._ids[self._key(node)] = f"n{self._made}"
        return self._ids[self._key(node)]

    def inherit(self, node: Expr, ancestor: Expr) -> None:
        self._ids.setdefault(self._key(node), self.of(ancestor))


class Builder:
    """Puts one state together. `ids`: those of an earlier state, where nodes are to keep theirs."""

    def __init__(self, graphs: bool, ids: Ids | None = None):
        self.graphs = graphs
        self.ids = ids or Ids()
        self.modules: list[State] = []
        self.known: dict[Hashable, int] = {}

    # ---- whole states -------------------------------------------------------------------------

    def trace(self, trace: Any) -> State:
        stages = [self.stage(stage) for stage in trace.stages]
        return self.state("trace", str(trace.title), stages)

    def module_only(self, mod: Any, findings: list[Any], title: str) -> State:
        n = self.module(mod, text_lines(mod), findings)
        hunks = [["=", 0, 0, len(self.modules[n]["lines"])]]
        stage = _stage(title or _title(mod), False, None, None, n, hunks)
        return self.state("module", title or _title(mod), [stage])

    def diff_only(self, diff: Any, title: str) -> State:
        b, a, hunks = self.compare(diff)
        changed = any(sign != "=" for sign, *_ in hunks)
        stage = _stage(title or "Difference", changed, None, b, a, hunks)
        self.add_changes(stage, diff)
        return self.state("diff", stage["name"], [stage])

    def state(self, kind: str, title: str, stages: list[State]) -> State:
        return {
            "schema": SCHEMA,
            "kind": kind,
            "title": title,
            "tab": "graph",
            "stat_labels": STAT_LABELS,
            "modules": self.modules,
            "stages": stages,
        }

    # ---- one stage ----------------------------------------------------------------------------

    def stage(self, stage: Any) -> State:
        if stage.after is None:
            b = self.module(stage.before, text_lines(stage.before), stage.findings_before)
            a, hunks = None, [["=", 0, 0, len(self.modules[b]["lines"])]]
        else:
            delta = stage.diff()
            b, a, hunks = self.compare(delta, stage.findings_before, stage.findings_after)
        made = _stage(stage.name, bool(stage.changed), stage.seconds, b, a, hunks)
        made["group"], made["skipped"] = stage.group, stage.skipped
        if stage.changed:
            self.add_changes(made, delta)
        made["events_total"] = len(stage.events)
        result = Twins(stage.after) if stage.after is not None and stage.events else None
        made["events"] = [self.event(e, result) for e in stage.events[:MOST_EVENTS]]
        if stage.error is not None:
            made["error"] = self.error(stage.error)
        return made

    def compare(
        self, delta: Any, found_before: Iterable[Any] = (), found_after: Iterable[Any] = ()
    ) -> tuple[int, int, list[list[Any]]]:
        """The two modules of a diff and its rows as hunks; ids are handed on to what a node became,
        unless the node itself lives on."""
        rows = delta.rows()
        before = _typed(delta.before, [r.before for r in rows if r.before is not None])
        after = _typed(delta.after, [r.after for r in rows if r.after is not None])
        b = self.module(delta.before, before, found_before)
        taken = {self.ids.get(line.node) for line in after}
        pairs = [(r.before.node, r.after.node) for r in rows if r.before and r.after]
        for old, new in pairs + [(c.before, c.after) for c in delta.changes]:
            if old is not None and new is not None and self.ids.get(old) not in taken:
                self.ids.inherit(new, old)
                taken.add(self.ids.get(old))
        return b, self.module(delta.after, after, found_after), _hunks(rows)

    def add_changes(self, stage: State, delta: Any) -> None:
        stage["summary"] = str(delta.summary)
        stage["changes_total"] = len(delta.changes)
        stage["changes"] = [
            {
                "kind": c.kind,
                "text": c.text,
                "before": self.ids.get(c.before),
                "after": self.ids.get(c.after),
            }
            for c in delta.changes[:MOST_EVENTS]
        ]

    def event(self, event: Any, result: Twins | None) -> State:
        after = event.after
        if result is not None and after is not None and self.ids.get(after) is None:
            after = result.find(after)
        return {
            "rule": event.rule,
            "reason": event.reason,
            "before": self.ids.get(event.before),
            "after": self.ids.get(after),
            "before_text": describe(event.before) if event.before is not None else "",
            "after_text": describe(event.after) if event.after is not None else "",
        }

    def error(self, error: Exception) -> State:
        node = getattr(error, "node", None)
        return {
            "type": type(error).__name__,
            "message": str(error),
            "node": self.ids.get(node) if isinstance(node, Expr) else None,
        }

    # ---- one module ---------------------------------------------------------------------------

    def module(self, mod: Any, lines: list[Line], findings: Iterable[Any]) -> int:
        """The position of a module in `modules`, added when it is not there yet."""
        key = tuple((line.text, id(line.node)) for line in lines)
        if key in self.known:
            return self.known[key]
        shown: list[list[str | None]] = []
        names: dict[str, str] = {}
        at: dict[str | None, int] = {}
        for n, line in enumerate(lines):
            ident = self.ids.of(line.node) if line.node is not None else None
            shown.append([line.text, ident])
            at.setdefault(ident, n)
            for name, node in line.refs.items():
                if not isinstance(node, GlobalVar):
                    names[name] = self.ids.of(node)
            if line.defines and ident:
                names[line.defines] = ident
            for p in line.node.params if isinstance(line.node, Function) else ():
                at.setdefault(self.ids.of(p), n)
        for gv, func in mod.items() if isinstance(mod, IRModule) else ():
            names[f"@{gv.name_hint}"] = self.ids.of(func)
        view = GraphView(mod)
        made: State = {
            "lines": shown,
            "names": names,
            "findings": [self.finding(f, at, lines) for f in findings],
            "stats": {
                **view.picture.stats(),
                "functions": len(mod) if isinstance(mod, IRModule) else 1,
            },
            "graph": None,
            "graph_note": "",
        }
        if self.graphs:
            try:
                made["graph"] = view.draw(self.ids.get)
            except (BuildError, MissingDependencyError) as problem:
                made["graph_note"] = str(problem)
        self.modules.append(made)
        self.known[key] = len(self.modules) - 1
        return self.known[key]

    def finding(self, finding: Any, at: dict[str | None, int], lines: list[Line]) -> State:
        node = self.ids.get(finding.node)
        place = at.get(node) if node else None
        return {
            "code": finding.code,
            "name": finding.name,
            "severity": str(getattr(finding.severity, "value", finding.severity)).lower(),
            "message": finding.message,
            "what_to_do": finding.what_to_do or "",
            "node": node,
            "line": place,
            "function": finding.function,
            "operand": _operand(finding, lines[place]) if place is not None else None,
        }


def _stage(
    name: str, changed: bool, seconds: float | None, b: int | None, a: int | None, hunks: list[Any]
) -> State:
    return {
        "name": name,
        "group": "",
        "skipped": "",
        "changed": changed,
        "seconds": seconds,
        "summary": "",
        "before": b,
        "after": a,
        "hunks": hunks,
        "changes": [],
        "changes_total": 0,
        "events": [],
        "events_total": 0,
        "error": None,
    }


def _operand(finding: Any, line: Line) -> str | None:
    """What a line calls the argument that a finding is about."""
    if finding.argument is None or not isinstance(finding.node, Call):
        return None
    wanted = finding.node.args[finding.argument]
    return next((name for name, node in line.refs.items() if node is wanted), None)


def _typed(mod: Any, untyped: list[Line]) -> list[Line]:
    """The lines of a diff, which have no type comments, as the same lines with them."""
    typed: dict[str | None, list[Line]] = {}
    for line in text_lines(mod):
        typed.setdefault(line.function, []).append(line)
    functions = dict.fromkeys(line.function for line in untyped)
    lines = [line for function in functions for line in typed.get(function, ())]
    return lines if len(lines) == len(untyped) else untyped


def _hunks(rows: Iterable[Any]) -> list[list[Any]]:
    """Rows as runs of one kind: [sign, first line before, first line after, count]."""
    hunks: list[list[Any]] = []
    b = a = 0
    for row in rows:
        sign = _SIGNS[row.kind]
        if hunks and hunks[-1][0] == sign:
            hunks[-1][3] += 1
        else:
            hunks.append([sign, b, a, 1])
        b += row.before is not None
        a += row.after is not None
    return hunks


def _title(obj: Any) -> str:
    return "IRModule" if isinstance(obj, IRModule) else describe(obj)
