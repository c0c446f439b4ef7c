// What one view shows: the values of the model, and what only this page knows. Components read it,
// change it by its methods, and hear of changes by topic.
import { imagesOf, originsOf } from "./lineage.js";
import { compared } from "./text/compare.js";

/**
 * Topics: "stage" (another stage, or a part of it came), "rewrite" (another rewrite of the stage),
 * "selection", "options" (how the page shows it), "known" (overlays), "kernel" (it went away).
 * @typedef {"stage" | "rewrite" | "selection" | "options" | "known" | "kernel"} Topic
 */

const PENDING = ["all", "text", ""];
const PAUSE = 300; // ms that a stage or a rewrite is shown before the kernel computes what is not the next step


/** What the reader chooses on the page. The text: side by side (null: where it is wide enough), types,
 * wrap. The graph: which of the two. The back end of the annotation board. */
export const OPTIONS = { split: /** @type {boolean | null} */ (null), types: false, wrap: true, side: "after", backEnd: "" };

export class Store {
  /**
   * @param {any} model anywidget's model, or the stand-in of a saved page
   * @param {typeof OPTIONS} options changed by `show`
   * @param {AbortSignal} signal ends the listening
   */
  constructor(model, options, signal) {
    this.model = model;
    /** @type {Sent.State} */
    this.state = model.get("state");
    /** @type {Map<Topic, ((detail?: any) => void)[]>} */
    this.topics = new Map();
    this.options = options;
    /** The number of stages before the module that is compared with; null: the stage's own input. */
    this.base = /** @type {number | null} */ (null);
    /** @type {Map<string, ReturnType<typeof compared>>} */
    this.comparisons = new Map();
    /** What the kernel has computed ahead, and the timer of the next question to it. */
    this.ahead = new Set();
    this.timer = 0;
    signal.addEventListener("abort", () => clearTimeout(this.timer));
    /** @type {Sent.Step | undefined} */
    this.lastStep = model.get("step");
    this.hear("change:index", () => ((this.base = null), this.tell("stage"), this.askForMore()), signal);
    this.hear("change:selected_id", () => this.tell("selection", true), signal);
    this.hear("change:rewrite", () => (clearTimeout(this.timer), this.tell("rewrite")), signal);
    this.hear("change:step", () => this.takeStep(), signal);
    this.hear("comm_live_update", () => this.tell("kernel"), signal); // the kernel restarted or ended
    this.hear("change:part", () => this.takePart(), signal);
    this.hear("change:overlays", () => this.tell("known"), signal);
  }

  /** @param {string} event @param {() => void} act @param {AbortSignal} signal */
  hear(event, act, signal) {
    this.model.on(event, act);
    signal.addEventListener("abort", () => this.model.off(event, act));
  }

  /** @param {Topic} topic @param {(detail?: any) => void} act */
  on(topic, act) {
    this.topics.set(topic, [...(this.topics.get(topic) ?? []), act]);
  }

  /** @param {Topic} topic @param {any} [detail] */
  tell(topic, detail) {
    for (const act of this.topics.get(topic) ?? []) act(detail);
  }

  // ---- what is shown --------------------------------------------------------------------------

  get isTrace() {
    return this.state.kind === "trace";
  }

  /** Two traces side by side. */
  get isComparison() {
    return this.state.kind === "comparison";
  }

  get hasStages() {
    return this.isTrace || this.isComparison;
  }

  get index() {
    return Math.max(0, Math.min(this.model.get("index"), this.state.stages.length - 1));
  }

  get stage() {
    return this.state.stages[this.index];
  }

  /** The id of the selected node, or "". */
  get selected() {
    return this.model.get("selected_id") || "";
  }

  /** The ids of the nodes that the selected one comes from, or that come from it, in this stage. */
  get related() {
    const { selected, state, index } = this;
    const found = selected && this.isTrace ? [...originsOf(state, index, selected), ...imagesOf(state, index, selected)] : [];
    return new Set(found);
  }

  /** What is known about nodes besides. @returns {Sent.Overlays} */
  get known() {
    const sent = this.model.get("overlays");
    return sent && Object.keys(sent).length ? sent : (this.state.overlays ?? {});
  }

  /** After how many rewrites of the stage it is shown; 0: the whole pass. */
  get at() {
    return Math.min(this.model.get("rewrite") || 0, this.stage.events_total);
  }

  /** The step to show; null for the whole pass, or while it is not there.
   * @returns {Sent.Step | null} */
  get step() {
    if (!this.at) return null;
    const saved = this.stage.steps?.[this.at - 1];
    if (saved) return saved;
    const sent = this.model.get("step");
    return sent && sent.stage === this.index && sent.rewrite === this.at ? sent : null;
  }

  /** A module of the stage itself. @param {"before" | "after"} which */
  moduleOf(which) {
    const { stage } = this;
    return stage[which] === null ? null : this.state.modules[stage[which]];
  }

  /** The modules and rows of what is shown: one rewrite, two stages compared, or the pass. */
  get shown() {
    const { step, state, stage, base } = this;
    if (step) return { key: `${this.index} ${this.at}`, modules: step.modules, stage: { before: 0, after: 1, hunks: step.hunks, replaced: step.replaced, pending: step.pending } };
    if (base !== null) {
      const key = `${base} to ${this.index}`;
      if (!this.comparisons.has(key)) this.comparisons.set(key, compared(state, base, this.index));
      return { key, modules: state.modules, stage: this.comparisons.get(key) };
    }
    return { key: "", modules: state.modules, stage };
  }

  /** The module before and the one after, or null. */
  get pair() {
    const { modules, stage } = this.shown;
    const at = (/** @type {number | null} */ n) => (n === null ? null : modules[n]);
    return { before: at(stage.before), after: at(stage.after) };
  }

  // ---- changes --------------------------------------------------------------------------------

  /** @param {Record<string, any>} values */
  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.model.save_changes();
  }

  /** Show another stage. @param {number} n */
  go(n) {
    if (n !== this.index) this.set({ rewrite: 0, index: n });
  }

  /** Show the stage after `k` of its rewrites; 0: the whole pass. @param {number} k */
  goToRewrite(k) {
    const wanted = Math.max(0, Math.min(k, this.stage.events_total));
    if (wanted !== this.at) this.set({ rewrite: wanted });
  }

  /** Select a node; with `reveal`, again if it is selected, and else deselect it.
   * @param {string} id @param {boolean} [reveal] */
  choose(id, reveal = false) {
    if (id === this.selected) id = reveal ? id : "";
    if (id !== this.selected) this.set({ selected_id: id });
    else this.tell("selection", true);
  }

  /** Compare with the module after `base` stages; null: with the stage's own input.
   * @param {number | null} base */
  compareWith(base) {
    this.base = base;
    const missing = base === null ? -1 : Math.max(base - 1, 0);
    if (this.state.stages[missing]?.pending) this.askForMore();
    else this.tell("stage");
  }

  /** @param {Record<string, any>} changed */
  show(changed) {
    Object.assign(this.options, changed);
    this.tell("options", Object.keys(changed));
  }

  /** A step has come; its text comes after its graph, in a large trace. */
  takeStep() {
    const last = this.lastStep;
    /** @type {Sent.Step} */
    const step = this.model.get("step");
    const again = Boolean(step.modules && last?.pending) && last.stage === step.stage && last.rewrite === step.rewrite;
    if (again) step.modules.forEach((module, n) => (module.scene = last.modules[n].scene)); // they are drawn
    this.lastStep = step;
    this.tell("rewrite", again);
    this.askForMore();
  }

  /** A part of the state of a large trace has come. */
  takePart() {
    const { state } = this;
    /** @type {Sent.Part & Sent.Ahead} one of the two */
    const part = this.model.get("part");
    const own = part?.page === undefined || !part.page || part.page === this.page;
    if (own && part?.stage) {
      Object.assign(state.about, part.about);
      for (const [n, module] of part.modules) {
        state.modules[n] = module;
        if (module.drawn !== undefined) module.scene = state.modules[module.drawn].scene;
      }
      const better = PENDING.indexOf(part.stage.pending) > PENDING.indexOf(state.stages[part.index].pending);
      if (better) state.stages[part.index] = part.stage;
      this.comparisons.clear();
      if (better && (part.index === this.index || this.base !== null)) this.tell("stage");
    } else if (own && part?.rewrite !== undefined) this.ahead.add(`${part.index} ${part.rewrite}`);
    this.askForMore();
  }

  /** The name of this page, which the state of a model keeps as long as the page is there. */
  get page() {
    return (this.state.page ??= Math.random().toString(36).slice(2));
  }

  /** Ask the kernel for what is missing, the next steps before what can wait. */
  askForMore() {
    clearTimeout(this.timer);
    const wanted = this.missing();
    if (wanted) this.timer = setTimeout(() => this.ask(wanted), wanted.what === "picture" ? 0 : PAUSE);
  }

  /** The next rewrite is computed ahead, and the text of this one comes. Of a large trace: the graphs
   * of this stage and its neighbours, so that a step need not wait; their texts; then the graphs of
   * all stages are computed.
   * @returns {Sent.Asked | null} */
  missing() {
    const { stages } = this.state;
    if (!stages.length) return null;
    const [stage, at] = [this.index, this.at];
    const base = this.base === null ? [] : [Math.max(this.base - 1, 0)];
    const near = [stage, ...base, stage + 1, stage - 1].filter((n) => stages[n]?.pending);
    const undrawn = near.find((n) => stages[n].pending === "all");
    if (undrawn !== undefined) return { stage: undrawn, what: "picture" };
    if (at && !this.step) return null; // it is on its way
    const computed = this.stage.steps || !(at < this.stage.events_total) || this.ahead.has(`${stage} ${at + 1}`);
    /** @type {Sent.Asked | null} */
    const next = computed ? null : { stage, what: "ahead", rewrite: at + 1 };
    if (at && next) return next;
    if (this.step?.pending) return { stage, what: "text", rewrite: at };
    const first = near[0] === stage || base.includes(near[0]); // what is shown, before the rewrite that may be next
    if (next && !first) return next;
    if (near.length) return { stage: near[0], what: "text" };
    const far = stages.map((_, n) => n).filter((n) => stages[n].pending && !this.ahead.has(`${n} 0`));
    far.sort((a, b) => Math.abs(a - stage) - Math.abs(b - stage));
    return far.length ? /** @type {Sent.Asked} */ ({ stage: far[0], what: "ahead", rewrite: 0 }) : null;
  }

  /** @param {Sent.Asked} wanted */
  ask(wanted) {
    this.set({ asked: { ...wanted, page: this.page, at: performance.now() } });
  }
}
