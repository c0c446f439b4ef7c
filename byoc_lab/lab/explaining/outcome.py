"""One run of a pipeline, and where each call of its input is computed afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from byoc_lab.errors import ByocLabError, PartitionError, PassError, WellFormedError
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.framework.predicates import Answers
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module


@dataclass(frozen=True, eq=False)
class Step:
    """The stages and results of one member of a pipeline, as used by `PipelineRun` and `Trace`."""

    stages: list[Stage]
    error: Exception | None
    answers: Answers

    def result(self, mod: IRModule) -> IRModule:
        """The module after the step; `mod` is the module before it."""
        after = self.stages[-1].after if self.stages else None
        return mod if after is None else after


Known = dict[tuple[IRModule, Pass, PassContext], Step]
"""Cached results of pipeline members, by member, context and module. Runs with different changes
share the results before the change, and after a change without effect."""


@dataclass(frozen=True, eq=False)
class Place:
    """The operators of the result that compute one call of the input.

    inside: the operators in regions of the target. outside: the operators elsewhere. If both are
    empty, a pass removed or evaluated the call.
    """

    inside: tuple[Call, ...]
    outside: tuple[Call, ...]

    @property
    def offloaded(self) -> bool:
        return bool(self.inside) and not self.outside

    @property
    def removed(self) -> bool:
        return not self.inside and not self.outside


@dataclass(frozen=True)
class EnclosingRegion:
    """The region that contains a node of the result: its function, compiler and composite."""

    region: str
    compiler: str
    composite: str | None


class PipelineRun:
    """A traced run that is queried for the calls of its input.

    A call is followed by its provenance (`Stage.images`), as far as the images are calls. remarks:
    remarks on return values of checks and predicates. changing: the checks and predicates that
    answered differently when they were asked again. known: cached results, which runs with a change
    may reuse.
    """

    def __init__(self, traced: Trace, target: str, answers: Sequence[Answers], known: Known):
        error = traced.error
        if error is not None and not isinstance(error, (PartitionError, WellFormedError)):
            if isinstance(error, ByocLabError):
                raise error
            raise PassError(
                f"{traced.stages[-1].name} raised {type(error).__name__} on this module, so that "
                f"nothing can be said of offloading: {error}"
            ) from error
        told = (text for a in answers for text in (*a.odd, *a.changes))
        self.remarks = list(dict.fromkeys(told))
        self.changing = [predicate for a in answers for predicate in a.changing]
        self.known = known
        self.trace = traced
        self.target = target

    def __getstate__(self) -> dict[str, Any]:
        """The state without user functions: a copy in another process starts without cached
        results."""
        return {**self.__dict__, "known": {}, "changing": []}

    @cached_property
    def calls(self) -> list[Call]:
        """The calls of the input, in evaluation order."""
        return list(calls_of(self.trace.initial))

    @cached_property
    @without_collection()
    def homes(self) -> dict[Expr, EnclosingRegion]:
        """For each node of the result that is in a region, its region."""
        return homes_of(self.trace.final)

    def stage(self, name: str) -> int | None:
        """The number of the first stage with this name that ran."""
        for stage in self.trace.stages:
            if stage.name == name and not stage.skipped:
                return stage.index
        return None

    def place(self, call: Call) -> Place:
        """The operators of the result that compute a call of the input, in regions and on the
        host."""
        inside: list[Call] = []
        outside: list[Call] = []
        for image in self.images(call):
            home = self.homes.get(image)
            (inside if home and home.compiler == self.target else outside).append(image)
        return Place(tuple(inside), tuple(outside))

    def images(self, call: Call, stage: int | None = None) -> tuple[Call, ...]:
        """The calls that compute a call of the input before a stage (None: in the result): calls of
        the same operator if any are left, else the calls into which it was decomposed."""
        found = self._images(len(self.trace.stages) if stage is None else stage)
        return found.get(call, ())

    def _images(self, stage: int) -> dict[Call, tuple[Call, ...]]:
        if stage not in self._own:
            self._own[stage] = self._composed(stage)
        return self._own[stage]

    @without_collection()
    def _composed(self, stage: int) -> dict[Call, tuple[Call, ...]]:
        """The images before a stage of each call of the input."""
        now: dict[Call, tuple[Call, ...]] = {c: (c,) for c in self.calls}
        for s in self.trace.stages[:stage]:
            if s.after is not None and s.after is not s.before:
                now = {c: _calls_after(s, nodes) for c, nodes in now.items()}
        return _own_images(now)

    def follow(self, node: Call, stage: int, end: int | None = None) -> tuple[Call, ...]:
        """The calls before stage `end` (None: in the result) that compute `node`, a call before
        `stage`: calls of the same operator if any are left, else all operators."""
        found: tuple[Call, ...] = (node,)
        for s in self.trace.stages[stage:end]:
            found = _calls_after(s, found)
        same = tuple(n for n in found if _callee(n) == _callee(node))
        return same or tuple(n for n in found if isinstance(n.op, Op))

    @cached_property
    def _own(self) -> dict[int, dict[Call, tuple[Call, ...]]]:
        return {}


def homes_of(mod: IRModule) -> dict[Expr, EnclosingRegion]:
    """For each node in an external function of a module, and for each call of one, the function."""
    found: dict[Expr, EnclosingRegion] = {}
    external = {
        gv.name_hint: str(func.attrs["Compiler"])
        for gv, func in mod.functions.items()
        if "Compiler" in func.attrs
    }
    for call in calls_of(mod) if external else ():
        name = call.op.name_hint if isinstance(call.op, GlobalVar) else ""
        if name in external:
            found[call] = EnclosingRegion(name, external[name], None)
    for gv, func in mod.functions.items():
        compiler = func.attrs.get("Compiler")
        if compiler is None:
            continue
        region = EnclosingRegion(gv.name_hint, str(compiler), None)
        for node in post_order(func.body):
            found.setdefault(node, region)
            if isinstance(node, Function) and "Composite" in node.attrs:
                home = EnclosingRegion(gv.name_hint, str(compiler), str(node.attrs["Composite"]))
                found.update((n, home) for n in post_order(node.body))
    return found


def annotated(mod: IRModule, target: str) -> set[Expr]:
    """The nodes that annotations assign to a target, and the nodes of their composites: nodes
    between the begins and ends of a region, and nodes after a begin without an end."""
    found: set[Expr] = set()
    todo: list[Expr] = []
    for node in post_order(*mod.functions.values()):
        if is_annotation(node, END) and compiler_of(node) == target:
            todo.append(node.args[0])
        elif any(is_annotation(p, BEGIN) and compiler_of(p) == target for p in node.parts()):
            todo.append(node)
    while todo:
        node = todo.pop()
        if node not in found and not is_annotation(node):
            found.add(node)
            todo += node.parts()
    return found


def calls_of(mod: IRModule) -> Iterator[Call]:
    """The calls of a module that compute values; annotations do not."""
    for node in post_order(*mod.functions.values()):
        if isinstance(node, Call) and not is_annotation(node):
            yield node


def typed_calls(mod: IRModule) -> tuple[IRModule, dict[Call, Call]]:
    """`mod` with types, and the typed call for each of its calls."""
    typed = infer_module(mod)
    return typed, dict(zip(calls_of(mod), calls_of(typed), strict=True))


def _calls_after(stage: Stage, nodes: tuple[Call, ...]) -> tuple[Call, ...]:
    if stage.after is None or stage.after is stage.before:
        return nodes
    found: dict[Call, None] = {}
    for node in nodes:
        for image in stage.images(node):
            if isinstance(image, Call) and not is_annotation(image):
                found[image] = None
    return tuple(found)


def _own_images(every: dict[Call, tuple[Call, ...]]) -> dict[Call, tuple[Call, ...]]:
    """The images that belong to the call itself.

    A batch norm that was folded into a convolution is also an origin of the new convolution, but
    the new convolution counts as an image of the original convolution only.
    """
    same: dict[Call, tuple[Call, ...]] = {}
    taken: set[Call] = set()
    for call, images in every.items():
        kept = [i for i in images if _callee(i) == _callee(call)]
        same[call] = images if len(kept) == len(images) else tuple(kept)
        taken.update(kept)
    return {
        call: same[call] or tuple(i for i in images if isinstance(i.op, Op) and i not in taken)
        for call, images in every.items()
    }


def _callee(call: Call) -> object:
    """The callee of a call: the name of an operator, or the type of any other callee."""
    return call.op.name if isinstance(call.op, Op) else type(call.op)
