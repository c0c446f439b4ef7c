"""`board(mod)`: put operators into regions by hand, and see findings, partitioning and coverage.

board = byoc_lab.board(mod)        display it: choose a node, choose a back end, press "Put in"
board.put(call, "dnnl")            put an operator into a region; board.take_out(call)
board.module                       the annotated module
board.findings, board.partitioned  its lint findings, and the result of PartitionGraph
board.look_at_fix()                proved repairs, previewed; board.apply(board.fix())
board.undo(), board.redo()         undo the last change, and redo it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import traitlets

from byoc_lab import backends
from byoc_lab.errors import ArgumentError, UnknownNameError, UnknownNodeError, nearest
from byoc_lab.lab.linting import Findings, Fix, fix, lint
from byoc_lab.lab.tracing import Trace, trace
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.messages import State
from byoc_lab.lab.view.states.parts import Parts
from byoc_lab.lab.view.stepper import TraceView
from byoc_lab.lab.view.text import diff_text, trace_text
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.annotations import begin, end, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Op, TupleGetItem, describe
from byoc_lab.relay.ir.expr_functor import ExprMutator
from byoc_lab.relay.ir.foreign import adopted, refuse_foreign
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class AnnotateByHand:
    """Annotates the calls that were put into regions, each as a separate region.

    MergeCompilerRegions then merges adjacent regions if that is allowed.
    """

    name = "AnnotateByHand"

    def __init__(self, chosen: Mapping[Call, str]):
        self.chosen = dict(chosen)

    def __call__(self, mod: IRModule) -> IRModule:
        mutator = _Annotator(self.chosen)
        made = mod.copy()
        for gv, function in mod.functions.items():
            made[gv] = mutator.visit(function)
        return InferType()(made)


class _Annotator(ExprMutator):
    def __init__(self, chosen: Mapping[Call, str]):
        super().__init__()
        self.chosen = chosen
        self._made: dict[Call, Expr] = {}

    def visit_call(self, call: Call) -> Expr:
        made = self._inside(call)
        compiler = self.chosen.get(call)
        return made if compiler is None else end(made, compiler)

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        """A field of a chosen call's tuple is computed in the call's region."""
        call = op.tuple_value
        if not isinstance(call, Call) or call not in self.chosen:
            return super().visit_tuple_getitem(op)
        return end(TupleGetItem(self._inside(call), op.index), self.chosen[call])

    def _inside(self, call: Call) -> Expr:
        """The call as it appears inside its region, or on the host."""
        if call in self._made:
            return self._made[call]
        compiler = self.chosen.get(call)
        args = [self.visit(arg) for arg in call.args]
        if compiler is not None:
            args = [begin(arg, compiler) for arg in args]
        same = all(a is b for a, b in zip(args, call.args, strict=True))
        made = call if same else Call(call.op, args, call.attrs, call.type_args)
        self._made[call] = made
        return made


class _Change(NamedTuple):
    """A change of the board in words, and the state to restore by undo or redo."""

    what: str
    chosen: dict[Call, str]
    fixed: IRModule | None


class Board(TraceView):
    """The board of a module: a widget, and methods that do the same from Python. See the module's
    docstring.

    chosen: the calls of the module that are in regions, and their back ends.
    """

    # Sent by the browser: {node, compiler or ""}, {undo}, {redo}, or {fix: "preview", "apply" or
    # "dismiss"}.
    request = traitlets.Dict().tag(sync=True)
    # Sent to the browser: the fix to preview, {steps, proof, left, diff}; or {}.
    preview = traitlets.Dict().tag(sync=True)
    to_browser = TraceView.to_browser | {"preview"}

    def __init__(self, mod: IRModule):
        self.plain: IRModule = InferType()(mod)
        self._calls = {
            n
            for function in self.plain.functions.values()
            for n in post_order(function)
            if isinstance(n, Call) and isinstance(n.op, Op)
        }
        if any(is_annotation(call) for call in self._calls):
            raise ArgumentError(
                "board takes a module without annotations, found compiler_begin or compiler_end; "
                "give the module before AnnotateTarget"
            )
        self.chosen: dict[Call, str] = {}
        self._fixed: IRModule | None = None
        self._previewed: Fix | None = None
        self._past: list[_Change] = []
        self._undone: list[_Change] = []
        self._done = ""
        self.trace = self._traced()
        super().__init__(self._state())

    # ---- content of the board -----------------------------------------------------------------

    @property
    def module(self) -> IRModule:
        """The annotated module."""
        if self._fixed is not None:
            return self._fixed
        return MergeCompilerRegions()(AnnotateByHand(self.chosen)(self.plain))

    @property
    def findings(self) -> Findings:
        """The findings of `lint` on the annotations."""
        return lint(self.module)

    @property
    def partitioned(self) -> IRModule | None:
        """The module after PartitionGraph; None if it raised (`board.trace.error`)."""
        return None if self.trace.error is not None else self.trace.result

    @property
    def stats(self) -> dict[str, int]:
        """The numbers of operators in regions, operators on the host, and regions."""
        return picture_of(self.module).stats()

    # ---- changes ------------------------------------------------------------------------------

    def put(self, call: Call, compiler: str) -> None:
        """Put a call of the module into a region of a back end.

        Raises UnknownNodeError if it is not an operator call of `board.plain`, and UnknownNameError
        for an unknown back end.
        """
        if compiler not in backends.names():
            known = ", ".join(backends.names())
            hint = nearest(compiler, backends.names())
            raise UnknownNameError(f"no back end is named {compiler!r}{hint}; known are {known}")
        what = f"put {describe(self._own(call))} into a region of {compiler}"
        self._change(what, {**self.chosen, call: compiler}, None)

    def take_out(self, call: Call) -> None:
        """Move a call to the host. Raises UnknownNodeError like `put`."""
        what = f"leave {describe(self._own(call))} to the host"
        self._change(what, {c: name for c, name in self.chosen.items() if c is not call}, None)

    def fix(self) -> Fix:
        """Proved repairs of the annotations, for preview; `apply` makes them."""
        return fix(self.module)

    def apply(self, repair: Fix) -> None:
        """Replace the board's module by the repaired module; `undo` restores it."""
        self._change("apply the fix", self.chosen, repair.after)

    def undo(self) -> str:
        """Undo the last change; return it in words, "" if there is none."""
        return self._swap(self._past, self._undone, "Undone")

    def redo(self) -> str:
        """Redo the last undone change and return it in words, "" if there is none. Any new change
        clears it."""
        return self._swap(self._undone, self._past, "Done again")

    def look_at_fix(self) -> Fix:
        """Show the fix of the annotations on the board, if it can be applied; return it."""
        self._previewed = repair = self.fix()
        self.preview = {
            "steps": list(repair.steps),
            "proof": repair.proof,
            "left": [str(finding) for finding in repair.left],
            "diff": diff_text(repair.diff()) if repair else "",
        }
        return repair

    # ---- internals -----------------------------------------------------------------------------

    def _own(self, call: Call) -> Call:
        if call not in self._calls:
            raise UnknownNodeError(
                f"{describe(call)} is not a call of an operator of this board's module; take it "
                f"from board.plain"
            )
        return call

    def _change(self, what: str, chosen: dict[Call, str], fixed: IRModule | None) -> None:
        self._past.append(_Change(what, self.chosen, self._fixed))
        self._undone.clear()
        self.chosen, self._fixed, self._done = chosen, fixed, ""
        self._refresh()

    def _swap(self, source: list[_Change], other: list[_Change], done: str) -> str:
        """Restore the state of the last change in `source`, and store the current state for the
        opposite step."""
        if not source:
            return ""
        change = source.pop()
        other.append(_Change(change.what, self.chosen, self._fixed))
        self.chosen, self._fixed = change.chosen, change.fixed
        self._done = f"{done}: {change.what}."
        self._refresh()
        return change.what

    def _refresh(self) -> None:
        self.preview, self._previewed = {}, None
        selected = self._call_of(self.selected_id)
        self.trace = self._traced()
        kept = min(self.index, len(self.trace.stages) - 1)
        self.index, self.rewrite = 0, 0
        self.state = self._state()
        self.index = kept
        self.selected_id = self._parts.ids.get(selected) or ""

    def _call_of(self, ident: str) -> Call | None:
        """The call with an id in the current state of the board."""
        found = (c for c in self._calls if self._parts.ids.get(c) == ident)
        return next(found, None) if ident else None

    def _traced(self) -> Trace:
        if self._fixed is not None:
            return trace(self._fixed, [PartitionGraph()], title="Annotation board, fixed")
        passes: list[Any] = [AnnotateByHand(self.chosen), MergeCompilerRegions(), PartitionGraph()]
        return trace(self.plain, passes, title="Annotation board")

    def _state(self) -> State:
        self._parts = Parts(self.trace, whole=True)
        ids = self._parts.ids
        inside = {i: name for call, name in self.chosen.items() if (i := ids.get(call))}
        calls = [i for call in self._calls if (i := ids.get(call))]
        last = {
            step: changes[-1].what if changes else ""
            for step, changes in (("undo", self._past), ("redo", self._undone))
        }
        names = {"back_ends": self._back_ends(), "calls": sorted(calls), "inside": inside}
        board = {**names, **last, "done": self._done}
        return {**self._parts.state, "board": board, "opens": 0}

    def _back_ends(self) -> list[str]:
        """The names of the back ends to choose from; first the one whose pattern tables cover most
        calls."""

        def refused(name: str) -> int:
            known = backends.get(name).operators()
            return 0 if known is None else sum(call.op_name not in known for call in self._calls)

        return sorted(backends.names(), key=refused)

    @traitlets.validate("request")
    def _is_a_change(self, proposal: Any) -> dict[str, Any]:
        wanted: dict[str, Any] = proposal["value"]
        asked = {key: value for key, value in wanted.items() if key not in ("ticket", "at")}
        texts = all(isinstance(value, str) for value in asked.values())
        known = (
            asked in ({}, {"undo": True}, {"redo": True})
            or (asked.keys() == {"fix"} and asked["fix"] in ("preview", "apply", "dismiss"))
            or (asked.keys() == {"node", "compiler"} and texts)
        )
        if not known:
            raise traitlets.TraitError(
                f"a page asks for {{node, compiler}}, {{undo: true}}, {{redo: true}} or {{fix: "
                f"'preview', 'apply' or 'dismiss'}}; one asked for {asked!r:.200}"
            )
        return wanted

    @traitlets.observe("request")
    def _requested(self, change: Any) -> None:
        """Handles a request of the browser: put a node into a region, take it out, undo or redo."""
        wanted = change["new"]
        if wanted.get("undo"):
            self.undo()
        elif wanted.get("redo"):
            self.redo()
        elif wanted.get("fix"):
            self._asked_fix(wanted["fix"])
        elif found := self._call_of(wanted.get("node", "")):  # the page offers only these calls
            if wanted.get("compiler"):
                self.put(found, wanted["compiler"])
            else:
                self.take_out(found)

    def _asked_fix(self, wanted: str) -> None:
        if wanted == "preview":
            self.look_at_fix()
        elif wanted == "apply" and self._previewed:
            self.apply(self._previewed)
        else:
            self.preview, self._previewed = {}, None

    @printable
    def __str__(self) -> str:
        """The chosen regions, then the trace of the passes on them."""
        lines = [f"{name}: {describe(call)}" for call, name in self.chosen.items()]
        return "\n".join([*(lines or ["no operator is in a region"]), trace_text(self.trace)])


def board(mod: IRModule) -> Board:
    """The annotation board of a module without annotations: put operators into regions of back ends
    by hand, and see the findings, the partitioned module and the counts.

    Raises ArgumentError for anything other than a module without annotations.
    """
    mod = adopted(mod)
    refuse_foreign(mod, "board")
    if not isinstance(mod, IRModule):
        raise ArgumentError(f"board takes an IRModule, found {type(mod).__name__}")
    return Board(mod)
