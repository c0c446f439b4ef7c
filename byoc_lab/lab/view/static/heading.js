// The heading of the shown modules: the caption, the counters, and the stage for comparison.
import { ICON } from "./text/diff_view.js";
import { make, number } from "./text/relay_text.js";

export class Heading {
  /** @param {import("./store.js").Store} store @param {HTMLElement[]} bars of the rewrites and of the board @param {(finding: number) => void} showFinding @param {AbortSignal} signal */
  constructor(store, bars, showFinding, signal) {
    this.store = store;
    this.bars = bars;
    this.showFinding = showFinding;
    this.signal = signal;
    this.element = make("div", { class: "byl-heading" });
    this.chips = make("div", { class: "byl-chips" });
    this.choice = make("select", { class: "byl-compare", "aria-label": "Compare with" });
    this.choice.addEventListener("change", () => store.compareWith(this.choice.value === "" ? null : Number(this.choice.value)), { signal });
    store.on("stage", () => this.draw());
    store.on("rewrite", () => this.drawStats());
  }

  draw() {
    const { store } = this;
    const { stage } = store;
    this.element.replaceChildren();
    if (store.state.kind === "module") {
      this.element.append(this.chips);
      return this.drawStats();
    }
    const { sign, word, kind } = stage.outcome;
    this.element.append(make("div", { class: "byl-heading-line" }, make("h3", {}, stage.name),
      make("span", { class: `byl-outcome byl-${kind}` }, `${sign} ${word}`), make("span", { class: "byl-time" }, stage.time),
      store.isTrace && store.state.stages.length > 1 && this.drawChoice()));
    this.element.append(make("p", { class: "byl-caption" }, stage.caption));
    if (stage.error) this.element.append(this.error(stage));
    this.element.append(this.chips, ...this.bars);
    this.drawStats();
  }

  /** The stages that this one can be compared with. */
  drawChoice() {
    const { store } = this;
    const option = (value, text) => make("option", { value, selected: value === (store.base === null ? "" : String(store.base)) }, text);
    this.choice.replaceChildren(option("", "compared with its input"), option("0", "… with the input of the pipeline"),
      ...store.state.stages.slice(0, store.index).map((s, n) => option(String(n + 1), `… with the result of ${n + 1} ${s.name}`)));
    return this.choice;
  }

  /** The finding that explains the error, its cause on one line, and its whole text folded. */
  error(stage) {
    const { error } = stage;
    const found = error.finding === null ? null : this.store.moduleOf("before").findings[error.finding];
    const explanation = found && make("button", { type: "button", class: `byl-why byl-${found.severity}` }, `${ICON[found.severity]} ${found.code} ${found.name}: ${found.message}`);
    explanation?.addEventListener("click", () => this.showFinding(error.finding), { signal: this.signal });
    const cause = [make("b", {}, error.type), ` ${error.cause}`];
    return make("div", { class: "byl-error-box", role: "alert" }, explanation && make("p", {}, explanation),
      error.message.trim() === error.cause ? make("p", {}, ...cause) : make("details", {}, make("summary", { title: "The whole message" }, ...cause), make("pre", { tabindex: "0" }, error.message)));
  }

  /** The counters of the shown modules: the whole pass, one rewrite, or two stages. */
  drawStats() {
    const { before, after } = this.store.pair;
    this.chips.replaceChildren(...statsOf(this.store.state.stat_labels, before, after ?? before));
  }
}

function statsOf(labels, before, after) {
  const found = [];
  for (const [key, [one, several]] of Object.entries(labels)) {
    if (after.stats[key] === undefined) continue; // not known yet
    const [was, is] = [before?.stats[key] ?? after.stats[key], after.stats[key]];
    const text = was === is ? number(is) : `${number(was)} → ${number(is)}`;
    found.push(make("span", { class: `byl-chip${was === is ? "" : " byl-moved"}`, "data-stat": key }, make("b", {}, text), ` ${is === 1 ? one : several}`));
  }
  return found;
}
