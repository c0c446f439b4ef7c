// The passes of a pipeline, which can be moved, removed and added to.
import { make } from "./dom.js";

export class Passes {
  /** @param {HTMLElement} element @param {string[]} known passes that can be inserted
   * @param {(names: string[]) => void} changed */
  constructor(element, known, changed) {
    this.changed = changed;
    /** @type {string[]} */
    this.names = [];
    this.chosen = 0;
    this.list = make("ol", { "aria-label": "Passes", keydown: (/** @type {KeyboardEvent} */ event) => this.press(event) });
    const button = (/** @type {string} */ words, /** @type {string} */ title, /** @type {() => void} */ click) => make("button", { type: "button", title, click }, words);
    this.inserted = /** @type {HTMLSelectElement} */ (make("select", { "aria-label": "Insert a pass after the selected one", change: () => this.insert() }));
    this.inserted.append(new window.Option("Insert after it…", ""), ...known.map((name) => new window.Option(name)));
    const bar = make("div", { class: "passes-bar" },
      button("← Earlier", "Move the selected pass (Alt+Left)", () => this.move(-1)),
      button("Later →", "Move the selected pass (Alt+Right)", () => this.move(1)),
      button("Remove", "Remove the selected pass (Delete)", () => this.remove()),
      this.inserted);
    element.replaceChildren(this.list, bar);
  }

  /** @param {string[]} names */
  show(names) {
    this.names = [...names];
    this.chosen = Math.max(0, Math.min(this.chosen, names.length - 1));
    this.list.replaceChildren(...names.map((name, n) => make("li", {}, this.chip(name, n))));
  }

  /** @param {string} name @param {number} n */
  chip(name, n) {
    return make("button", { type: "button", "aria-pressed": String(n === this.chosen), click: () => this.choose(n) }, name);
  }

  /** @param {number} n */
  choose(n) {
    this.chosen = n;
    const chips = [...this.list.querySelectorAll("button")];
    for (const [at, chip] of chips.entries()) chip.setAttribute("aria-pressed", String(at === n));
    chips[n]?.focus();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    const focused = [...this.list.querySelectorAll("button")].indexOf(/** @type {any} */ (event.target));
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (focused < 0 || (!by && event.key !== "Delete")) return;
    event.preventDefault();
    if (event.key === "Delete") {
      this.chosen = focused;
      this.remove();
    } else if (event.altKey) {
      this.chosen = focused;
      this.move(Number(by));
    } else if (this.names[focused + Number(by)]) this.choose(focused + Number(by));
  }

  /** @param {number} by */
  move(by) {
    const to = this.chosen + by;
    if (!this.names[to]) return;
    this.names.splice(to, 0, ...this.names.splice(this.chosen, 1));
    this.edited(to);
  }

  remove() {
    this.names.splice(this.chosen, 1);
    this.edited(this.chosen);
  }

  insert() {
    if (!this.inserted.value) return;
    this.names.splice(this.chosen + 1, 0, this.inserted.value);
    this.inserted.value = "";
    this.edited(Math.min(this.chosen + 1, this.names.length - 1));
  }

  /** @param {number} chosen */
  edited(chosen) {
    this.chosen = chosen;
    this.changed([...this.names]); // who hears it shows the passes
    this.choose(this.chosen);
  }
}
