// The data of one view: the values of the model, and the settings of this page. Components read it,
// change it by its methods, and are notified of changes by topic.
import { imagesOf, originsOf } from "./lineage.js";
import { compared } from "./text/compare.js";

/**
 * Topics: "stage" (another stage is shown, or a part of it was received), "rewrite" (another rewrite is
  * shown),
 * "selection", "options" (how the page shows it), "known" (overlays), "kernel" (it ended).
 * @typedef {"stage" | "rewrite" | "selection" | "options" | "known" | "kernel"} Topic
 */

const PENDING = ["all", "before", "text", ""]; // missing data of a stage; each value has less than the previous
// ms for which a stage or a rewrite is shown before the kernel computes other data than the next step
const PAUSE = 300;


/** The reader's choices on the page. For the text: side by side (null: if the page is wide enough),
 * types, wrap. For the graph: one of the two modules. The back end of the annotation board. */
export const OPTIONS = { split: /** @type {boolean | null} */ (null), types: false, wrap: true, side: "after", backEnd: "" };

export class Store {
  /**
   * @param {any} model anywidget's model, or the stand-in of a saved page
   * @param {typeof OPTIONS} options changed by `show`
   * @param {AbortSignal} signal removes the listeners
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
    /** The data that the kernel has computed ahead, the next request, and the timer that sends it. */
    this.ahead = new Set();
    this.wanted = /** @type {Sent.Wanted | null} */ (null);
    this.timer = 0;
    signal.addEventListener("abort", () => clearTimeout(this.timer));
    this.hear("change:index", () => ((this.base = null), this.tell("stage"), this.askForMore()), signal);
    this.hear("change:selected_id", () => this.tell("selection", true), signal);
    this.hear("change:rewrite", () => (this.tell("rewrite"), this.askForMore()), signal);
    this.hear("comm_live_update", () => this.tell("kernel"), signal); // the kernel restarted or ended
    this.hear("change:answer", () => this.take(), signal);
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

  /** The ids of the origins and images of the selected node in this stage. */
  get related() {
    const { selected, state, index } = this;
    const found = selected && this.isTrace ? [...originsOf(state, index, selected), ...imagesOf(state, index, selected)] : [];
    return new Set(found);
  }

  /** The overlays of the nodes. @returns {Sent.Overlays} */
  get known() {
    const sent = this.model.get("overlays");
    return sent && Object.keys(sent).length ? sent : (this.state.overlays ?? {});
  }

  /** The number of the shown rewrite of the stage; 0: the whole pass. */
  get at() {
    return Math.min(this.model.get("rewrite") || 0, this.stage.events_total);
  }

  /** The step to show; null for the whole pass, or until the step is received.
   * @returns {Sent.Step | null} */
  get step() {
    const { at, stage } = this;
    const { steps = [], step } = stage;
    const saved = steps[at - 1];
    if (saved) return { ...saved, modules: [saved.modules[0] ?? steps[at - 2].modules[1], saved.modules[1]] };
    return step?.rewrite === at ? step : null;
  }

  /** A module of the stage itself. @param {"before" | "after"} which */
  moduleOf(which) {
    const { stage } = this;
    return stage[which] === null ? null : this.state.modules[stage[which]];
  }

  /** The shown modules and rows: of one rewrite, of two compared stages, or of the pass. */
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

  /** Change the model and request the graph that is then missing, in one message.
   * @param {Record<string, any>} values */
  set(values) {
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    if (this.wanted?.what === "picture") this.ask();
    else this.model.save_changes();
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

  /** Select a node. If it is selected already: with `reveal`, select it again, otherwise deselect it.
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

  /** Process an answer; answers to other pages are ignored. */
  take() {
    /** @type {Partial<Sent.Answer>} */
    const { asked, part, step } = this.model.get("answer") ?? {};
    if (asked && (!asked.page || asked.page === this.page)) {
      if (part) this.takePart(asked.stage, part);
      else if (step) this.takeStep(asked.stage, step);
      else this.ahead.add(`${asked.stage} ${asked.rewrite}`);
    }
    this.askForMore();
  }

  /** Process a received step; its text is received after its graph. @param {number} n @param
   * {Sent.Step} step */
  takeStep(n, step) {
    const stage = this.state.stages[n];
    const last = stage.step;
    const again = last?.rewrite === step.rewrite && last.pending !== "";
    if (again) step.modules.forEach((module, k) => (module.scene = last.modules[k].scene)); // keep the drawn scenes
    stage.step = step;
    if (stage === this.stage && step === this.step) this.tell("rewrite", again);
  }

  /** Process a received part of the state of a large trace. @param {number} n @param {Sent.Part} part */
  takePart(n, part) {
    const { state } = this;
    Object.assign(state.about, part.about);
    for (const [k, module] of part.modules) {
      state.modules[k] = module;
      if (module.drawn !== undefined) module.scene = state.modules[module.drawn].scene;
    }
    const { pending, step } = state.stages[n];
    if (PENDING.indexOf(part.stage.pending) < PENDING.indexOf(pending)) return;
    state.stages[n] = { ...part.stage, step };
    this.comparisons.clear();
    if (n === this.index || this.base !== null) this.tell("stage");
  }

  /** The name of this page, stored in the state of the model while the page exists. */
  get page() {
    return (this.state.page ??= Math.random().toString(36).slice(2));
  }

  /** Request missing data from the kernel soon, the next steps first. */
  askForMore() {
    clearTimeout(this.timer);
    this.wanted = this.missing();
    if (this.wanted) this.timer = setTimeout(() => this.ask(), this.wanted.what === "picture" ? 0 : PAUSE);
  }

  /** The next request. For a rewrite: its graph, then the next graph computed ahead, then its text. For
   * a large trace: the graphs of this stage (its result first) and of its neighbours, so that a step
   * need not wait; then their texts; then the graphs of all stages, computed ahead.
   * @returns {Sent.Wanted | null} */
  missing() {
    const { stages } = this.state;
    if (!stages.length) return null;
    const [stage, at] = [this.index, this.at];
    const base = this.base === null ? [] : [Math.max(this.base - 1, 0)];
    const near = [stage, ...base, stage + 1, stage - 1].filter((n) => stages[n]?.pending);
    const undrawn = near.find((n) => stages[n].pending !== "text");
    if (at && !this.step) return this.stage.steps ? null : { stage, what: "picture", rewrite: at };
    if (undrawn !== undefined) return { stage: undrawn, what: "picture", rewrite: 0 };
    const computed = this.stage.steps || !(at < this.stage.events_total) || this.ahead.has(`${stage} ${at + 1}`);
    /** @type {Sent.Wanted | null} */
    const next = computed ? null : { stage, what: "ahead", rewrite: at + 1 };
    if (at && next) return next;
    if (this.step?.pending) return { stage, what: "text", rewrite: at };
    // the shown data, before a rewrite that may be shown next
    const first = near[0] === stage || base.includes(near[0]);
    if (next && !first) return next;
    if (near.length) return { stage: near[0], what: "text", rewrite: 0 };
    const far = stages.map((_, n) => n).filter((n) => stages[n].pending && !this.ahead.has(`${n} 0`));
    far.sort((a, b) => Math.abs(a - stage) - Math.abs(b - stage));
    return far.length ? { stage: far[0], what: "ahead", rewrite: 0 } : null;
  }

  /** Send the request now. */
  ask() {
    clearTimeout(this.timer);
    this.model.set("asked", { ...this.wanted, page: this.page, at: performance.now() });
    this.wanted = null;
    this.model.save_changes();
  }
}
