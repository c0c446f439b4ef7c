// The text of the module: its switches, the difference, and jumps from change to change.
import { drawItem, inside, itemsOf, scrollInto, sidesOf } from "./diff_view.js";
import { buttons } from "../header.js";
import { make } from "./relay_text.js";
import { VirtualList } from "./virtual_list.js";

const SPLIT_FROM = 900; // if narrower, the module before is above the module after

export class TextPane {
  /** @param {import("../store.js").Store} store @param {HTMLElement} root @param {(finding: number) => void} showFinding @param {AbortSignal} signal */
  constructor(store, root, showFinding, signal) {
    this.store = store;
    this.root = root;
    this.showFinding = showFinding;
    const button = buttons(signal);
    const toggle = (name, label, title) => button("byl-toggle", label, title, () => this.flip(name), { "data-toggle": name });
    this.toggles = { split: toggle("split", "Split", "Before and after side by side (s)"), types: toggle("types", "Types", "Show type comments (t)"), wrap: toggle("wrap", "Wrap", "Wrap long lines (w)") };
    this.pane = make("div", { class: "byl-diff", role: "region", tabindex: "0", "aria-label": "Module text" });
    this.elements = [make("div", { class: "byl-text-tools" }, ...Object.values(this.toggles)), this.pane];
    this.places = new WeakMap(); // the first element of each item that is drawn
    this.list = new VirtualList(this.pane, (item) => this.drawItem(item), (block) => this.light(block), signal);
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
    const { stage } = store.shown;
    const { before, after } = store.pair;
    const single = !before || !after;
    const split = this.isSplit() && !single;
    this.sides = sidesOf(before, after, split, options, (item) => this.unfold(item));
    pane.dataset.layout = single ? "single" : split ? "split" : "unified";
    pane.dataset.rewrite = store.step ? String(store.at) : "";
    const names = (text) => make("div", { class: "byl-side-name" }, text);
    const head = split ? [make("div", { class: "byl-columns" }, names(store.state.words.before), names(store.state.words.after))] : [];
    if (stage.pending) head.push(make("p", { class: "byl-empty" }, "The text is being computed."));
    pane.scrollTop = 0;
    this.list.show(itemsOf(stage, before, after), head);
    for (const [name, b] of Object.entries(toggles)) b.setAttribute("aria-pressed", String(name === "split" ? this.isSplit() : options[name]));
    toggles.split.hidden = store.state.kind === "module";
    const firstChange = [...this.list.items()].find((item) => item.kind !== "same" && item.kind !== "fold");
    if (firstChange) this.goTo(firstChange);
  }

  drawItem(item) {
    const made = drawItem(item, this.sides);
    this.places.set(item, made[0]);
    return made;
  }

  unfold(item) {
    this.list.replace(item, inside(item));
  }

  /** Make an item visible; returns its first element. */
  goTo(item) {
    this.list.reveal(item);
    const element = this.places.get(item);
    scrollInto(this.pane, element);
    this.list.update();
    return element;
  }

  /** Highlight the selected node, and, less strongly, its origins and images. */
  mark(reveal) {
    const { selected } = this.store;
    this.list.update(); // the line was hidden
    if (selected && reveal) this.find(selected);
    this.light(this.pane);
  }

  /** Make the line of a node visible, if it has one. @param {string} id */
  find(id) {
    const { before, after } = this.sides;
    const has = (module, n) => n !== null && module !== null && module.lines[n][1] === id;
    const shows = (item) => has(after, item.a) || has(before, item.b);
    const found = (items, of) => items.find((i) => has(after, i.a) && of(i)) ?? items.find(of);
    let items = [...this.list.items()];
    const folded = items.find((item) => inside(item).some(shows));
    if (folded && !items.some((item) => !inside(item).length && shows(item))) {
      this.unfold(folded);
      items = [...this.list.items()];
    }
    const item = found(items, (i) => !inside(i).length && shows(i));
    const hit = item ? null : this.pane.querySelector(`[data-id="${CSS.escape(id)}"]`);
    if (item) this.goTo(item);
    else if (hit) scrollInto(this.pane, hit);
  }

  /** Highlight nodes in what is drawn. @param {HTMLElement} part */
  light(part) {
    const { selected, related } = this.store;
    for (const name of ["byl-chosen", "byl-related"]) for (const e of part.querySelectorAll(`.${name}`)) e.classList.remove(name);
    if (!selected) return;
    for (const e of /** @type {NodeListOf<HTMLElement>} */ (part.querySelectorAll("[data-id]"))) {
      if (e.dataset.id === selected) e.classList.add("byl-chosen");
      else if (related.has(e.dataset.id)) e.classList.add("byl-related");
    }
  }

  flip(name) {
    this.store.show({ [name]: name === "split" ? !this.isSplit() : !this.store.options[name] });
  }

  nextChange(step) {
    const items = [...this.list.items()];
    const changed = (item) => item !== undefined && !["same", "fold", "gone"].includes(item.kind);
    const starts = items.filter((item, n) => changed(item) && !changed(items[n - 1]));
    const at = starts.indexOf(this.current);
    const target = starts[at < 0 && step < 0 ? starts.length - 1 : Math.max(0, Math.min(at + step, starts.length - 1))];
    if (!target) return;
    for (const old of this.pane.querySelectorAll(".byl-here")) old.classList.remove("byl-here");
    this.current = target;
    const element = this.goTo(target);
    element.classList.add("byl-here");
    this.pane.scrollTop += element.getBoundingClientRect().top - this.pane.getBoundingClientRect().top - 60;
  }

  /** Select the node of the next line, by key. */
  nextLine(step) {
    const { before, after } = this.sides;
    const idOf = (item) => (item.a !== null && after ? after.lines[item.a][1] : item.b !== null && before ? before.lines[item.b][1] : null);
    const ids = [...this.list.items()].filter((item) => !inside(item).length).map(idOf).filter(Boolean);
    if (!ids.length) return;
    const at = ids.indexOf(this.store.selected);
    this.store.choose(ids[Math.max(0, Math.min(at + step, ids.length - 1))], true);
  }

  click(event) {
    const mark = event.target.closest(".byl-mark");
    if (mark) this.showFinding(Number(mark.dataset.finding));
    if (window.getSelection()?.toString()) return; // the reader selects text to copy it
    const hit = event.target.closest("[data-id]") ?? event.target.closest(".byl-row")?.querySelector("code[data-id]");
    if (hit && !event.target.closest("button:not(.byl-mark)")) this.store.choose(hit.dataset.id, Boolean(mark));
  }
}
