"""The state that the browser draws, as plain data: `messages.State`, built by `Builder`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, MutableMapping, Sequence
from typing import Any

from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.linting import Finding
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.tracing.nodes import has_origin
from byoc_lab.lab.view import messages
from byoc_lab.lab.view.drawing.pass_fold import PassFold
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.drawing.scene import scene_of
from byoc_lab.lab.view.messages import State
from byoc_lab.lab.view.states.about import about
from byoc_lab.lab.view.states.captions import caption, cause_of, explained_by, opening
from byoc_lab.lab.view.states.computed import Computed
from byoc_lab.lab.view.states.hunks import constants_on, lines_and_hunks, text_lines
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.stage import WORDS, lineage_of, new_stage, stage_of
from byoc_lab.passes import Event
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.text.printer_lines import Line

MAX_EVENTS = 1000  # maximum number of events of one stage; further events are only counted
STAT_LABELS = {  # singular and plural
    "offloaded": ["operator in a region", "operators in regions"],
    "host": ["operator on the host", "operators on the host"],
    "regions": ["region", "regions"],
    "functions": ["function", "functions"],
}

NO_LINEAGE: messages.Lineage = {"origins": {}, "rules": {}, "computed": {}}
Drawn = MutableMapping[Hashable, messages.Drawing]  # module content -> its graph


def nested_text(stage: Stage) -> str:
    """The names of the passes that ran inside a stage, each with its number of runs; "" if there
    are none."""
    counts = Counter(inner.name for inner in stage.nested)
    named = [name if n == 1 else f"{name} ({n} times)" for name, n in counts.items()]
    return f"inside it ran {', '.join(named)}" if named else ""


def trace_state(trace: Trace) -> State:
    """The state of a `Trace`."""
    return Builder().trace(trace)


def module_state(
    mod: IRModule | Expr, findings: Iterable[Finding] = (), title: str = "", tab: str = "graph"
) -> State:
    """The state of a module, function or expression, with the findings to show in it."""
    return {**Builder().module_only(mod, list(findings), title), "tab": tab}


def diff_state(diff: Diff) -> State:
    """The state of a `Diff`."""
    return Builder().diff_only(diff)


class Builder:
    """Builds one state. `ids`: the ids of an earlier state, so that nodes keep their ids; `drawn`:
    the drawings of that state; `fold`: the groups to draw; computed if not given."""

    def __init__(
        self, ids: Ids | None = None, drawn: Drawn | None = None, fold: PassFold | None = None
    ):
        self.fold = fold
        self.ids = ids or Ids()
        self.modules: list[messages.Module] = []
        self.known: dict[Hashable, int] = {}
        self.drawn: Drawn = {} if drawn is None else drawn
        self.replaced: dict[int, list[str]] = {}  # stage -> ids of nodes that replaced a node
        self.lineage: dict[int, messages.Lineage] = {}  # origins and rules of a stage's nodes
        self.followed: list[Stage] = []  # stages whose nodes have ids
        self.computed: Computed | None = None  # the computed constants of the trace
        self.opens = 0
        # region numbers of modules whose earlier stages are known
        self.numbers: dict[IRModule, Numbers] = {}

    # ---- complete states ----------------------------------------------------------------------

    def trace(self, trace: Trace) -> State:
        self.opens = opening(trace)
        stages = [self.stage(stage) for stage in trace.stages]
        return self.state("trace", str(trace.title), stages)

    def module_only(self, mod: IRModule | Expr, findings: list[Finding], title: str) -> State:
        n = self.module(mod, text_lines(mod), findings)
        hunks = [["=", 0, 0, len(self.modules[n]["lines"])]]
        stage = new_stage(title or _title(mod), False, None, None, n, hunks)
        return self.state("module", title or _title(mod), [stage])

    def diff_only(self, diff: Diff) -> State:
        self.pair(diff)
        b, a, hunks = self.compare(diff)
        changed = any(sign != "=" for sign, *_ in hunks)
        stage = new_stage("Difference", changed, None, b, a, hunks)
        self.add_changes(stage, diff)
        stage["caption"] = stage["summary"]
        return self.state("diff", stage["name"], [stage])

    def state(self, kind: str, title: str, stages: list[messages.Stage]) -> State:
        codes = [f["code"] for module in self.modules for f in module["findings"]]
        return {
            "kind": kind,
            "title": title,
            "tab": "graph",
            "opens": self.opens,
            "stat_labels": STAT_LABELS,
            "words": WORDS,
            "modules": self.modules,
            "stages": stages,
            "about": about([*codes, *(stage["name"] for stage in stages)]),
        }

    # ---- one stage ----------------------------------------------------------------------------

    def number(self, stage: Stage) -> None:
        """Take the region numbers of a stage from its trace, before it is drawn."""
        self.numbers[stage.before] = stage.numbering.before
        if stage.after is not None:
            self.numbers[stage.after] = stage.numbering.after

    def stage(self, stage: Stage) -> messages.Stage:
        self.number(stage)
        if stage.after is None:
            b = self.module(stage.before, text_lines(stage.before), stage.findings_before)
            a, hunks = None, [["=", 0, 0, len(self.modules[b]["lines"])]]
            replaced: list[str] = []
            past = NO_LINEAGE
        else:
            delta = stage.diff()
            replaced, past = self.follow(stage), self.past(stage)
            b, a, hunks = self.compare(delta, stage.findings_before, stage.findings_after)
        made = stage_of(stage, b, a, hunks)
        made["replaced"] = replaced
        if stage.changed:
            self.add_changes(made, delta)
        for part in ("origins", "rules", "computed"):
            made[part] = past[part]
        made["summary"] = "; ".join(filter(None, (made["summary"], nested_text(stage))))
        made["caption"] = caption(stage, made["summary"], stage.index == self.opens)
        made["events"] = [self.event(e) for e in stage.events[:MAX_EVENTS]]
        if stage.error is not None:
            made["error"] = self.error(stage.error, stage.findings_before)
        return made

    def compare(
        self, delta: Diff, found_before: Iterable[Finding] = (), found_after: Iterable[Finding] = ()
    ) -> tuple[int, int, list[messages.Hunk]]:
        """The positions of the two modules of a diff, and its rows as hunks."""
        before, after, hunks = lines_and_hunks(delta)
        b = self.module(delta.before, before, found_before)
        return b, self.module(delta.after, after, found_after), hunks

    def follow(self, stage: Stage) -> list[str]:
        """Give the nodes of a stage's result their ids; returns the ids of the replacements."""
        if stage.index not in self.replaced:
            if stage.is_reported:
                self.replaced[stage.index] = sorted(self.ids.follow(stage.provenance))
            else:
                self.pair(stage.diff())
                self.replaced[stage.index] = []
            self.followed.append(stage)
        return self.replaced[stage.index]

    def past(self, stage: Stage) -> messages.Lineage:
        """The origins of the nodes in the result of a stage whose rewrites were followed. Constants
        are named by expressions of earlier stages, so earlier stages must be handled first."""
        for earlier in self.followed[len(self.lineage) :]:
            made = NO_LINEAGE
            if earlier.is_reported:
                self.computed = self.computed or Computed(earlier.before, self.ids)
                computed = self.computed.of(earlier.provenance)
                made = lineage_of(earlier.provenance, self.ids, computed)
            self.lineage[earlier.index] = made
            if earlier is stage:
                break
        return self.lineage[stage.index]

    def pair(self, delta: Diff) -> None:
        """Give the nodes of a module the ids of their partners in a diff."""
        rows = delta.rows()
        taken = {self.ids.get(r.after.node) for r in rows if r.after and r.after.node}
        pairs = [(r.before.node, r.after.node) for r in rows if r.before and r.after]
        for old, new in pairs + [(c.before, c.after) for c in delta.changes]:
            if old is not None and new is not None and self.ids.get(old) not in taken - {None}:
                self.ids.inherit(new, old)
                taken.add(self.ids.get(old))

    def add_changes(self, stage: messages.Stage, delta: Diff) -> None:
        stage["summary"] = str(delta.summary)
        stage["changes_total"] = len(delta.changes)
        stage["changes"] = [
            {
                "kind": c.kind,
                "text": c.text,
                "before": self.ids.get(c.before),
                "after": self.ids.get(c.after),
            }
            for c in delta.changes[:MAX_EVENTS]
        ]

    def event(self, event: Event) -> messages.Event:
        return {
            "rule": event.rule,
            "reason": event.reason,
            "before": self.ids.get(event.before),
            "after": self.ids.get(event.after),
            "before_text": describe(event.before) if event.before is not None else "",
            "after_text": describe(event.after) if event.after is not None else "",
        }

    def error(self, error: Exception, findings: Sequence[Finding] = ()) -> messages.Failure:
        node = getattr(error, "node", None)
        return {
            "type": type(error).__name__,
            "message": str(error),
            "cause": cause_of(error),
            "finding": explained_by(error, findings),
            "node": self.ids.get(node) if isinstance(node, Expr) else None,
        }

    # ---- one module ---------------------------------------------------------------------------

    def module(self, mod: IRModule | Expr, lines: list[Line], findings: Iterable[Finding]) -> int:
        """The position of a module in `modules`; adds it if it is new."""
        key = tuple((line.text, id(line.node)) for line in lines)
        if key in self.known:
            return self.known[key]
        shown: list[tuple[str, str | None]] = []
        names: dict[str, str] = {}
        at: dict[str | None, int] = {}
        readable = isinstance(mod, IRModule) and not isinstance(mod, UnparsedModule)
        functions = mod.functions if readable else {}  # type: ignore[union-attr]
        for gv, func in functions.items():
            names[f"@{gv.name_hint}"] = self.ids.of(func)
        for n, line in enumerate(lines):
            ident = self.ids.of(line.node) if line.node is not None else None
            shown.append((line.text, ident))
            at.setdefault(ident, n)
            for name, node in line.refs.items():
                if not isinstance(node, GlobalVar):
                    names[name] = self.ids.of(node)
            for name, constant in constants_on(line):
                names[name] = self.ids.of(constant)
            if line.defines and ident:
                names[line.defines] = ident
            for p in line.node.params if isinstance(line.node, Function) else ():
                at.setdefault(self.ids.of(p), n)
        told = [self.finding(f, at, lines) for f in findings]
        return self.add(key, self._module(mod, shown, names, told))

    def add(self, key: Hashable, shown: messages.Module) -> int:
        """Add a module whose lines have this key; returns its position."""
        self.known[key] = len(self.modules)
        self.modules.append(shown)
        return self.known[key]

    def picture(self, mod: IRModule) -> messages.Module:
        """A module without text."""
        return self._module(mod, [], {}, [])

    def _module(
        self,
        mod: IRModule | Expr,
        lines: list[tuple[str, str | None]],
        names: dict[str, str],
        findings: list[messages.Finding],
    ) -> messages.Module:
        drawn = self.drawing(mod)
        return {
            "lines": lines,
            "names": names,
            "findings": findings,
            "stats": drawn["stats"],
            "graph_note": drawn["graph_note"],
            "scene": drawn["scene"],
        }

    def drawing(self, mod: IRModule | Expr) -> messages.Drawing:
        """The fields of a module that come from its graph; nodes without an id get one. Modules
        with the same functions share them."""
        key = content_of(mod)
        if key not in self.drawn:
            self.drawn[key] = self._draw(mod)
        return self.drawn[key]

    def has_drawn(self, mod: IRModule) -> bool:
        return content_of(mod) in self.drawn

    def _draw(self, mod: IRModule | Expr) -> messages.Drawing:
        if isinstance(mod, UnparsedModule):
            return {"stats": {}, "graph_note": f"No graph: {mod.reason}", "scene": None}
        roots = mod.functions.values() if isinstance(mod, IRModule) else (mod,)
        for node in filter(has_origin, post_order(*roots)):
            self.ids.of(node)
        numbers = self.numbers.get(mod) if isinstance(mod, IRModule) else None
        picture = picture_of(mod, numbers)
        grouping = self.fold.grouping(picture) if self.fold else None
        functions = len(mod) if isinstance(mod, IRModule) else 1
        return {
            "stats": {**picture.stats(), "functions": functions},
            "graph_note": "",
            "scene": scene_of(picture, self.ids.drawn, grouping),
        }

    def finding(
        self, finding: Finding, at: dict[str | None, int], lines: list[Line]
    ) -> messages.Finding:
        node = self.ids.get(finding.node)
        place = at.get(node) if node else None
        return {
            "code": finding.code,
            "name": finding.name,
            "severity": str(finding.severity),
            "message": finding.message,
            "what_to_do": finding.what_to_do,
            "node": node,
            "line": place,
            "function": finding.function,
            "operand": _operand(finding, lines[place]) if place is not None else None,
        }


def _operand(finding: Finding, line: Line) -> str | None:
    """The name, on its line, of the argument that a finding is about."""
    if finding.argument is None or not isinstance(finding.node, Call):
        return None
    wanted = finding.node.args[finding.argument]
    return next((name for name, node in line.refs.items() if node is wanted), None)


def forget(kept: MutableMapping[Any, Any], most: int) -> None:
    """Keep only the newest states."""
    while len(kept) > most:
        del kept[next(iter(kept))]


def content_of(obj: IRModule | Expr) -> Hashable:
    """A key of the drawn content of an object: equal for modules with the same functions."""
    if not isinstance(obj, IRModule) or isinstance(obj, UnparsedModule):
        return obj
    return type(obj), tuple((gv.name_hint, func) for gv, func in obj.functions.items())


def _title(obj: IRModule | Expr) -> str:
    return "IRModule" if isinstance(obj, IRModule) else describe(obj)
