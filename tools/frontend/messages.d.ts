// Written by tools/message_types.py from byoc_lab/lab/view/messages.py.
declare namespace Sent {
  /** A box to draw. lines: the text, the name first; ids: the ids of the nodes that it represents;
   * group: a position in `groups`, or -1; weights: the number of constants and weights that are not
   * drawn; flops, bytes: floating-point operations, and bytes read and written, or null. */
  interface Box {
    id: string;
    kind: string;
    lines: string[];
    group: number;
    ids: string[];
    weights: number;
    flops: number | null;
    bytes: number | null;
  }

  /** Boxes that can be drawn as one.  kind: "region", "external", "composite", "function", "weights"
   * (operators that compute with weights alone), "chain" (a convolution and its elementwise
   * followers), "repeat" (one block several times), "copy" (one of these blocks), "block" (a segment
   * between two single-value cuts), "section" (a segment of a long group) or "inputs" (parameters of
   * one box or group). lines: its text when it is one box; label: when it is open. compiler: the
   * back end that runs it, or null; partly: whether other back ends or the host run a part of it;
   * colour: the number of its back end's colour, or null. group: the position of the group that
   * contains it, or -1. node: the id of its function. open: whether it is open at first. */
  interface Group {
    id: string;
    kind: string;
    lines: string[];
    label: string;
    compiler: string | null;
    partly: boolean;
    colour: number | null;
    group: number;
    node: string | null;
    open: boolean;
  }

  /** The graph to draw: boxes in evaluation order, and groups, each after the group that contains it.
   * arrows: (from, to, crossing, begin, end): positions in `boxes`; begin and end are the ids of the
   * annotations on the arrow, or null; they are drawn at the region boundary that it crosses. */
  interface Scene {
    boxes: Box[];
    groups: Group[];
    arrows: ([number, number, boolean, string | null, string | null])[];
  }

  /** The graph of a module. graph_note: why `scene` is null. */
  interface Drawing {
    stats: Record<string, number>;
    graph_note: string;
    scene: Scene | null;
  }

  /** A finding of the linter. operand: the name of the argument at fault on its line ("%10"). */
  interface Finding {
    code: string;
    name: string;
    severity: string;
    message: string;
    what_to_do: string;
    node: string | null;
    line: number | null;
    function: string | null;
    operand: string | null;
  }

  /** A module. lines: [(text, node id or null), ...]; names: the nodes that the names in the text
   * denote: {"%3": node id, "@main": node id, "meta[relay.Constant][0]": node id}. drawn: in a part,
   * the position of the module whose scene is used. */
  interface Module {
    stats: Record<string, number>;
    graph_note: string;
    scene: Scene | null;
    lines: ([string, string | null])[];
    names: Record<string, string>;
    findings: Finding[];
    drawn?: number;
  }

  /** The outcome of a stage. kind: "failed", "skipped", "changed" or "unchanged", and "first" for the
   * first difference of a comparison. */
  interface Outcome {
    sign: string;
    word: string;
    kind: string;
  }

  /** One classified difference. */
  interface Change {
    kind: string;
    text: string;
    before: string | null;
    after: string | null;
  }

  /** One rewrite. */
  interface Event {
    rule: string;
    reason: string;
    before: string | null;
    after: string | null;
    before_text: string;
    after_text: string;
  }

  /** The exception that ended a pass. cause: its first line; finding: the position, in the findings
   * of `before`, of the finding that explains it. */
  interface Failure {
    type: string;
    message: string;
    cause: string;
    finding: number | null;
    node: string | null;
  }

  /** An operator that the second of two traces computes in a different place, and the direction of
   * its move. */
  interface Move {
    way: string;
    text: string;
    node: string | null;
  }

  /** The origins of the nodes of a result. origins: the nodes of `before` from which a node of
   * `after` originates, left out if that is only the node with the same id; rules: the rule that
   * created a node; computed: the expression that a pass folded into a constant, in words. */
  interface Lineage {
    origins: Record<string, string[]>;
    rules: Record<string, string>;
    computed: Record<string, string>;
  }

  /** The module before and after one rewrite. rewrite: its number, from 1. part: the shown part of a
   * large module, in words, or ""; pending: "text" if the text will be sent later, or "". */
  interface Step {
    rewrite: number;
    hunks: any[][];
    replaced: string[];
    event: Event;
    part: string;
    pending: "text" | "";
    modules: Module[];
  }

  /** A step in a saved page. modules: the first is null if it equals the second module of the step
   * before. */
  interface SavedStep {
    rewrite: number;
    hunks: any[][];
    replaced: string[];
    event: Event;
    part: string;
    pending: "text" | "";
    modules: (Module | null)[];
  }

  /** One pass, or one pair of a comparison; a module has one, with `before` null.  group: the name of
   * its sequence. time: in words, or "". caption: the effect in one sentence. before, after:
   * positions in `modules`; after is null if the pass failed. replaced: the ids that nodes of the
   * result inherited from the nodes that they replaced. pending: what will be sent later: all, the
   * module `before` and the text, the text, or nothing. steps: the steps of the first events, only
   * in a saved page; step: the last step that was sent to the page, stored by the page. note: which
   * of two traces alone has the stage, or "". */
  interface Stage {
    origins: Record<string, string[]>;
    rules: Record<string, string>;
    computed: Record<string, string>;
    name: string;
    group: string;
    changed: boolean;
    outcome: Outcome;
    time: string;
    summary: string;
    caption: string;
    before: number | null;
    after: number | null;
    hunks: any[][];
    changes: Change[];
    changes_total: number;
    events: Event[];
    events_total: number;
    replaced: string[];
    error: Failure | null;
    pending: "all" | "before" | "text" | "";
    steps?: SavedStep[];
    step?: Step;
    note?: string;
    moved?: Move[];
    moved_total?: number;
  }

  /** Numbers of functions and operators, by id. most: whether a group shows the maximum of its values
   * instead of their sum. */
  interface Numbers {
    most: boolean;
    values: Record<string, number>;
  }

  /** The reason why a call is not offloaded. place: "on the host", or "by" another back end. lines:
   * [name, text], such as ["expected", "a constant"]. */
  interface Reason {
    place: string;
    cause: string | null;
    lines: string[][];
  }

  /** A row of a table. node: the id of the node that it describes; stage: the position of the stage
   * to show if the shown stage lacks the node; cells: texts. */
  interface Row {
    node: string | null;
    stage: number | null;
    wrong: boolean;
    cells: string[];
  }

  /** A result as a table. name: the name of the function that returned it; summary: in one sentence;
   * columns: [[title, whether it has numbers], ...]; rows: the worst first; left_out: the number of
   * rows at the end that are not sent. */
  interface Table {
    name: string;
    summary: string;
    columns: any[][];
    rows: Row[];
    left_out: number;
  }

  /** Further data about nodes. reasons: by the id of a call. numbers: by the name of an overlay,
   * "time" in microseconds or "error" divided by the tolerance. kernels: the kernels that compute a
   * node of an external function; for the function itself, all of them. tables: the tables of the
   * results. */
  interface Overlays {
    reasons?: Record<string, Reason>;
    numbers?: Record<string, Numbers>;
    kernels?: Record<string, string>;
    tables?: Table[];
  }

  /** The state that the page draws. kind: "trace", "diff", "module" or "comparison". opens: the stage
   * that is shown first; tab: the panel that is open first, "graph" or "findings". stat_labels:
   * {key: [singular, plural]} for the numbers in `stats`, in display order. words: texts of the page
   * that depend on the kind. modules: each distinct module once; stages refer to them by position.
   * about: {code of a rule in the findings, or name of a pass: {page, source}}. board: see
   * `board.py`. page: the name that the page chose for itself. */
  interface State {
    kind: string;
    title: string;
    tab: string;
    opens: number;
    stat_labels: Record<string, string[]>;
    words: Record<string, string>;
    modules: Module[];
    stages: Stage[];
    about: Record<string, Record<string, string>>;
    overlays?: Overlays;
    board?: Record<string, any>;
    page?: string;
  }

  /** A request of a page: the graph of a stage ("picture"), its text ("text"), or to compute its
   * graph ahead without sending it ("ahead"). With a `rewrite` other than 0, the request is for the
   * step to that rewrite. */
  interface Wanted {
    stage: number;
    rewrite: number;
    what: "picture" | "text" | "ahead";
  }

  /** A request. page: the name that the page chose for itself, or "" for a request by Python; at: the
   * time of the page's clock, which distinguishes equal requests. */
  interface Asked {
    stage: number;
    rewrite: number;
    what: "picture" | "text" | "ahead";
    page: string;
    at: number;
  }

  /** A part of the state of a large trace. modules: the modules that the page lacks, with their
   * positions in the modules of the state; a module of a picture has no lines. */
  interface Part {
    stage: Stage;
    modules: [number, Module][];
    about: Record<string, Record<string, string>>;
  }

  /** The answer to a request: a part or a step; neither if it was to be computed ahead. */
  interface Answer {
    asked: Asked;
    part: Part | null;
    step: Step | null;
  }
}
