// The text of the module: its switches, the difference, and jumps from change to change.
import { chooseInDiff, drawDiff, scrollInto } from "./diff_view.js";
import { buttons } from "./header.js";
import { make } from "./relay_text.js";

const SPLIT_FROM = 900; // narrower than this, before and after go below each other

export class TextPane {
  /** @param {any} store @param {HTMLElement} root @param {(finding: number) => void} showFinding @param {AbortSignal} signal */
  constructor(store, root, showFinding, signal) {
    this.store = store;
    this.root = root;
    this.showFinding = showFinding;
    const button = buttons(signal);
    const toggle = (name, label, title) => button("byl-toggle", label, title, () => this.flip(name), { "data-toggle": name });
    this.toggles = { split: toggle("split", "Split", "Before and after side by side (s)"), types: toggle("types", "Types", "Show type comments (t)"), wrap: toggle("wrap", "Wrap", "Wrap long lines (w)") };
    this.pane = make("div", { class: "byl-diff", role: "region", tabindex: "0", "aria-label": "Module text" });
    this.elements = [make("div", { class: "byl-text-tools" }, ...Object.values(this.toggles)), this.pane];
    this.pane.addEventListener("click", (event) => this.click(event), { signal });
    store.on("stage", () => this.draw());
    store.on("rewrite", () => (!store.at || store.step) && this.draw());
    store.on("selection", (reveal) => this.mark(reveal));
    store.on("options", () => (this.draw(), this.mark(false)));
    let was = null;
    const sized = new ResizeObserver(() => {
      if (was !== null && was !== this.isSplit()) (this.draw(), this.mark(true));
      was = this.isSplit();
    });
    sized.observe(this.pane);
    signal.addEventListener("abort", () => sized.disconnect());
  }

  isSplit() {
    return this.store.options.split ?? this.pane.clientWidth >= SPLIT_FROM;
  }

  draw() {
    const { store, pane, root, toggles } = this;
    const { options } = store;
    root.dataset.types = options.types ? "shown" : "hidden";
    root.dataset.wrap = options.wrap ? "on" : "off";
    const { modules, stage } = store.shown;
    drawDiff(pane, { modules }, stage, { split: this.isSplit(), types: options.types });
    pane.dataset.rewrite = store.step ? String(store.at) : "";
    pane.scrollTop = 0;
    if (stage.pending) pane.append(make("p", { class: "byl-empty" }, "The text of this stage is being computed."));
    for (const [name, b] of Object.entries(toggles)) b.setAttribute("aria-pressed", String(name === "split" ? this.isSplit() : options[name]));
    toggles.split.hidden = store.state.kind === "module";
    const firstChange = pane.querySelector(".byl-row:not(.byl-same)");
    if (firstChange) scrollInto(pane, firstChange);
  }

  /** Highlight the selected node, and less its origins and images. */
  mark(reveal) {
    const { modules, stage } = this.store.shown;
    chooseInDiff(this.pane, { modules }, stage, this.store.selected, reveal, this.store.related);
  }

  flip(name) {
    this.store.show({ [name]: name === "split" ? !this.isSplit() : !this.store.options[name] });
  }

  nextChange(step) {
    const { pane } = this;
    const rows = [...pane.querySelectorAll(".byl-row:not(.byl-same)")];
    const starts = rows.filter((r) => !r.previousElementSibling?.matches(".byl-row:not(.byl-same)"));
    const at = starts.indexOf(this.current);
    const target = starts[at < 0 && step < 0 ? starts.length - 1 : Math.max(0, Math.min(at + step, starts.length - 1))];
    if (!target) return;
    this.current?.classList.remove("byl-here");
    this.current = target;
    target.classList.add("byl-here");
    pane.scrollTop += target.getBoundingClientRect().top - pane.getBoundingClientRect().top - 60;
  }

  /** Select the node of the next line, by key. */
  nextLine(step) {
    const lines = [...this.pane.querySelectorAll("code[data-id]")];
    if (!lines.length) return;
    const at = lines.findIndex((c) => c.classList.contains("byl-chosen"));
    this.store.choose(lines[Math.max(0, Math.min(at + step, lines.length - 1))].dataset.id, true);
  }

  click(event) {
    const mark = event.target.closest(".byl-mark");
    if (mark) this.showFinding(Number(mark.dataset.finding));
    if (window.getSelection()?.toString()) return; // text was being selected, to be copied
    const hit = event.target.closest("[data-id]") ?? event.target.closest(".byl-row")?.querySelector("code[data-id]");
    if (hit && !event.target.closest("button:not(.byl-mark)")) this.store.choose(hit.dataset.id, Boolean(mark));
  }
}
