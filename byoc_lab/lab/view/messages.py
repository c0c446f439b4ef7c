"""The messages between Python and the page, typed once: as plain data, sent as JSON.

`tools/message_types.py` writes the same types for the JavaScript of the page.

Node ids ("n12") follow a node through the stages of a trace by the provenance of its passes: a node
keeps its id while it keeps its place, and what replaces it inherits the id. Two modules without a
trace are paired by their diff. So one id selects a node everywhere. Ids of boxes and groups come
from ids of nodes. Lines count from 0.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Hunk = list[Any]
"""[sign, line before, line after, count] with sign "=", "+", "-" or "~"."""


class Box(TypedDict):
    """A box to draw. lines: the text, the name first; ids: of the nodes it stands for; group: a
    position in `groups`, or -1; weights: the number of constants and weights that are not drawn;
    flops, bytes: floating-point operations, and bytes read and written, or null."""

    id: str
    kind: str
    lines: tuple[str, ...]
    group: int
    ids: tuple[str, ...]
    weights: int
    flops: int | None
    bytes: int | None


class Group(TypedDict):
    """Boxes that can be drawn as one.

    kind: "region", "external", "composite", "function", "weights" (operators that compute with
    weights alone), "chain" (a convolution and what follows it element by element), "repeat" (one
    block several times), "copy" (one of these), "block" (what lies between two places that one
    value crosses), "section" (a stretch of what would be too many) or "inputs" (parameters of one
    box or group). lines: its text when it is one box; label: when it is open. compiler: the back
    end that runs it, or null; partly: others and the host run some of it; colour: the number of its
    back end's colour, or null. group: the one that it is in, or -1. node: the id of its function.
    open: whether it is open at first.
    """

    id: str
    kind: str
    lines: tuple[str, ...]
    label: str
    compiler: str | None
    partly: bool
    colour: int | None
    group: int
    node: str | None
    open: bool


class Scene(TypedDict):
    """The graph to draw: boxes in evaluation order, and groups, each after the one that it is in.

    arrows: (from, to, crossing, begin, end): positions in `boxes`; begin and end are the ids of
    the annotations on it, or null; they are drawn where it meets the border of a region.
    """

    boxes: list[Box]
    groups: list[Group]
    arrows: list[tuple[int, int, bool, str | None, str | None]]


class Drawing(TypedDict):
    """The graph of a module. graph_note: why `scene` is null."""

    stats: dict[str, int]
    graph_note: str
    scene: Scene | None


class Finding(TypedDict):
    """A finding of the linter. operand: the name of the argument at fault on its line ("%10")."""

    code: str
    name: str
    severity: str
    message: str
    what_to_do: str
    node: str | None
    line: int | None
    function: str | None
    operand: str | None


class _Module(Drawing):
    lines: list[tuple[str, str | None]]
    names: dict[str, str]
    findings: list[Finding]


class Module(_Module, total=False):
    """A module. lines: [(text, node id or null), ...]; names: the nodes that the names in the text
    denote: {"%3": node id, "@main": node id, "meta[relay.Constant][0]": node id}. drawn: in a part,
    the position of the module that has its scene."""

    drawn: int


class Outcome(TypedDict):
    """The outcome of a stage. kind: "failed", "skipped", "changed" or "unchanged", and of a
    comparison "first" for the first difference."""

    sign: str
    word: str
    kind: str


class Change(TypedDict):
    """One classified difference."""

    kind: str
    text: str
    before: str | None
    after: str | None


class Event(TypedDict):
    """One rewrite."""

    rule: str
    reason: str
    before: str | None
    after: str | None
    before_text: str
    after_text: str


class Failure(TypedDict):
    """The exception that ended a pass. cause: its first line; finding: the position in the findings
    of `before` of the one that explains it."""

    type: str
    message: str
    cause: str
    finding: int | None
    node: str | None


class Move(TypedDict):
    """An operator that the second of two traces computes elsewhere, by the way that it moved."""

    way: str
    text: str
    node: str | None


class Lineage(TypedDict):
    """The origins of the nodes of a result. origins: the nodes of `before` that a node of `after`
    comes from, left out if that is only the node with its own id; rules: the rule that created a
    node; computed: the expression that a pass folded into a constant, in words."""

    origins: dict[str, list[str]]
    rules: dict[str, str]
    computed: dict[str, str]


class _Step(TypedDict):
    rewrite: int
    hunks: list[Hunk]
    replaced: list[str]
    event: Event
    part: str
    pending: Literal["text", ""]


class Step(_Step):
    """The module before and after one rewrite. rewrite: from 1. part: the shown part of a large
    module, in words, or ""; pending: "text" if the text is still to come, or ""."""

    modules: list[Module]


class SavedStep(_Step):
    """A step in a saved page. modules: the first is null where it is the second one of the step
    before."""

    modules: list[Module | None]


class _Stage(Lineage):
    name: str
    group: str
    changed: bool
    outcome: Outcome
    time: str
    summary: str
    caption: str
    before: int | None
    after: int | None
    hunks: list[Hunk]
    changes: list[Change]
    changes_total: int
    events: list[Event]
    events_total: int
    replaced: list[str]
    error: Failure | None
    pending: Literal["all", "text", ""]


class Stage(_Stage, total=False):
    """One pass, or one pair of a comparison; a module has one, with `before` null.

    group: of the sequence it is in. time: in words, or "". caption: what happened, in a sentence.
    before, after: positions in `modules`; after is null where the pass failed. replaced: the ids
    that a node of the result has from another node, which it replaced. pending: what is still to
    come. steps: of the first events, only in a saved page; step: the last one that the page was
    sent, where it keeps it. note: which of two traces alone has the stage, or "".
    """

    steps: list[SavedStep]
    step: Step
    note: str
    moved: list[Move]
    moved_total: int


class Numbers(TypedDict):
    """Numbers of functions and operators, by id. most: whether a group has the largest of its
    values, not their sum."""

    most: bool
    values: dict[str, float]


class Reason(TypedDict):
    """Why a call is not offloaded. place: where it is computed: "on the host", or "by" another
    back end. lines: [name, text], such as ["expected", "a constant"]."""

    place: str
    cause: str | None
    lines: list[list[str]]


class Row(TypedDict):
    """A row of a table. node: the id of the node that it is about; stage: the position of the stage
    to show if the shown stage lacks the node; cells: texts."""

    node: str | None
    stage: int | None
    wrong: bool
    cells: list[str]


class Table(TypedDict):
    """A result as a table. name: of the function that returned it; summary: in a sentence; columns:
    [[title, whether it has numbers], ...]; rows: the worst first; left_out: the number of rows, the
    best ones, that are not sent."""

    name: str
    summary: str
    columns: list[list[Any]]
    rows: list[Row]
    left_out: int


class Overlays(TypedDict, total=False):
    """Further data about nodes. reasons: by id of a call. numbers: by name of an overlay, "time" in
    microseconds or "error" as share of the tolerance. kernels: the kernels that compute a node of
    an external function; for the function itself, all of them. tables: of the results."""

    reasons: dict[str, Reason]
    numbers: dict[str, Numbers]
    kernels: dict[str, str]
    tables: list[Table]


class _State(TypedDict):
    kind: str
    title: str
    tab: str
    opens: int
    stat_labels: dict[str, list[str]]
    words: dict[str, str]
    modules: list[Module]
    stages: list[Stage]
    about: dict[str, dict[str, str]]


class State(_State, total=False):
    """The state that the page draws. kind: "trace", "diff", "module" or "comparison".
    opens: the stage that is shown first; tab: the panel that is open first, "graph" or "findings".
    stat_labels: {key: [singular, plural]} for the numbers in `stats`, in display order. words: of
    the page, that depend on the kind. modules: each distinct one once; stages refer to them by
    position. about: {code of a rule in the findings, or name of a pass: {page, source}}. board: see
    `board.py`. page: the name that the page gave itself."""

    overlays: Overlays
    board: dict[str, Any]
    page: str


class Wanted(TypedDict):
    """What a page asks for: the graph of a stage ("picture"), its text, or that its graph is
    computed ahead and not sent; with a `rewrite` other than 0, of the step to that rewrite."""

    stage: int
    rewrite: int
    what: Literal["picture", "text", "ahead"]


class Asked(Wanted):
    """A request. page: the name that the page gave itself, or "" where Python asks for it; at: the
    clock of the page, which tells two equal requests apart."""

    page: str
    at: float


class Part(TypedDict):
    """A part of the state of a large trace. modules: those that the page lacks, with their
    positions in the modules of the state; a module of a picture has no lines."""

    stage: Stage
    modules: list[tuple[int, Module]]
    about: dict[str, dict[str, str]]


class Answer(TypedDict):
    """The answer to a request: a part or a step; neither if it was to be computed ahead."""

    asked: Asked
    part: Part | None
    step: Step | None
