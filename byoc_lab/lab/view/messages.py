"""The types of the messages between Python and the page: plain data, sent as JSON.

`tools/message_types.py` writes the same types for the JavaScript of the page.

Node ids ("n12") follow a node through the stages of a trace by the provenance of its passes: a node
keeps its id while it stays in its position, and its replacement inherits the id. Two modules
without a trace are paired by their diff. So one id selects a node everywhere. Ids of boxes and
groups are derived from ids of nodes. Lines count from 0.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Hunk = list[Any]
"""[sign, line before, line after, count] with sign "=", "+", "-" or "~"."""


class Box(TypedDict):
    """A box to draw. lines: the text, the name first; ids: the ids of the nodes that it represents;
    group: a position in `groups`, or -1; weights: the number of constants and weights that are not
    drawn; flops, bytes: floating-point operations, and bytes read and written, or null."""

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
    weights alone), "chain" (a convolution and its elementwise followers), "repeat" (one block
    several times), "copy" (one of these blocks), "block" (a segment between two single-value cuts),
    "section" (a segment of a long group) or "inputs" (parameters of one box or group). lines: its
    text when it is one box; label: when it is open. compiler: the back end that runs it, or null;
    partly: whether other back ends or the host run a part of it; colour: the number of its back
    end's colour, or null. group: the position of the group that contains it, or -1. node: the id of
    its function. open: whether it is open at first.
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
    """The graph to draw: boxes in evaluation order, and groups, each after the group that contains
    it.

    arrows: (from, to, crossing, begin, end): positions in `boxes`; begin and end are the ids of the
    annotations on the arrow, or null; they are drawn at the region boundary that it crosses.
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
    the position of the module whose scene is used."""

    drawn: int


class Outcome(TypedDict):
    """The outcome of a stage. kind: "failed", "skipped", "changed" or "unchanged", and "first" for
    the first difference of a comparison."""

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
    """The exception that ended a pass. cause: its first line; finding: the position, in the
    findings of `before`, of the finding that explains it."""

    type: str
    message: str
    cause: str
    finding: int | None
    node: str | None


class Move(TypedDict):
    """An operator that the second of two traces computes in a different place, and the direction of
    its move."""

    way: str
    text: str
    node: str | None


class Lineage(TypedDict):
    """The origins of the nodes of a result. origins: the nodes of `before` from which a node of
    `after` originates, left out if that is only the node with the same id; rules: the rule that
    created a node; computed: the expression that a pass folded into a constant, in words."""

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
    """The module before and after one rewrite. rewrite: its number, from 1. part: the shown part of
    a large module, in words, or ""; pending: "text" if the text will be sent later, or ""."""

    modules: list[Module]


class SavedStep(_Step):
    """A step in a saved page. modules: the first is null if it equals the second module of the step
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
    pending: Literal["all", "before", "text", ""]


class Stage(_Stage, total=False):
    """One pass, or one pair of a comparison; a module has one, with `before` null.

    group: the name of its sequence. time: in words, or "". caption: the effect in one sentence.
    before, after: positions in `modules`; after is null if the pass failed. replaced: the ids that
    nodes of the result inherited from the nodes that they replaced. pending: what will be sent
    later: all, the module `before` and the text, the text, or nothing. steps: the steps of the
    first events, only in a saved page; step: the last step that was sent to the page, stored by the
    page. note: which of two traces alone has the stage, or "".
    """

    steps: list[SavedStep]
    step: Step
    note: str
    moved: list[Move]
    moved_total: int


class Numbers(TypedDict):
    """Numbers of functions and operators, by id. most: whether a group shows the maximum of its
    values instead of their sum."""

    most: bool
    values: dict[str, float]


class Reason(TypedDict):
    """The reason why a call is not offloaded. place: "on the host", or "by" another back end.
    lines: [name, text], such as ["expected", "a constant"]."""

    place: str
    cause: str | None
    lines: list[list[str]]


class Row(TypedDict):
    """A row of a table. node: the id of the node that it describes; stage: the position of the
    stage to show if the shown stage lacks the node; cells: texts."""

    node: str | None
    stage: int | None
    wrong: bool
    cells: list[str]


class Table(TypedDict):
    """A result as a table. name: the name of the function that returned it; summary: in one
    sentence; columns: [[title, whether it has numbers], ...]; rows: the worst first; left_out: the
    number of rows at the end that are not sent."""

    name: str
    summary: str
    columns: list[list[Any]]
    rows: list[Row]
    left_out: int


class Overlays(TypedDict, total=False):
    """Further data about nodes. reasons: by the id of a call. numbers: by the name of an overlay,
    "time" in microseconds or "error" divided by the tolerance. kernels: the kernels that compute a
    node of an external function; for the function itself, all of them. tables: the tables of the
    results."""

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
    """The state that the page draws. kind: "trace", "diff", "module" or "comparison". opens: the
    stage that is shown first; tab: the panel that is open first, "graph" or "findings".
    stat_labels: {key: [singular, plural]} for the numbers in `stats`, in display order. words:
    texts of the page that depend on the kind. modules: each distinct module once; stages refer to
    them by position. about: {code of a rule in the findings, or name of a pass: {page, source}}.
    board: see `board.py`. page: the name that the page chose for itself."""

    overlays: Overlays
    board: dict[str, Any]
    page: str


class Wanted(TypedDict):
    """A request of a page: the graph of a stage ("picture"), its text ("text"), or to compute its
    graph ahead without sending it ("ahead"). With a `rewrite` other than 0, the request is for the
    step to that rewrite."""

    stage: int
    rewrite: int
    what: Literal["picture", "text", "ahead"]


class Asked(Wanted):
    """A request. page: the name that the page chose for itself, or "" for a request by Python; at:
    the time of the page's clock, which distinguishes equal requests."""

    page: str
    at: float


class Part(TypedDict):
    """A part of the state of a large trace. modules: the modules that the page lacks, with their
    positions in the modules of the state; a module of a picture has no lines."""

    stage: Stage
    modules: list[tuple[int, Module]]
    about: dict[str, dict[str, str]]


class Answer(TypedDict):
    """The answer to a request: a part or a step; neither if it was to be computed ahead."""

    asked: Asked
    part: Part | None
    step: Step | None
