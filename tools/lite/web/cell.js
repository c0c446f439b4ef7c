// One cell of code: its editor, its buttons, its outputs.
import { make } from "./dom.js";
import { editor, replace } from "./editor.js";
import { Outputs } from "./outputs.js";
import { keep, kept } from "./storage.js";

export class Cell {
  /** @param {HTMLElement} element @param {string} original the source in the notebook
   * @param {number} number in its notebook, from 1
   * @param {import("./notebook.js").Notebook} notebook */
  constructor(element, original, number, notebook) {
    this.element = element;
    this.original = original;
    this.notebook = notebook;
    this.id = String(element.dataset.cell);
    this.source = kept(notebook.name, this.id) ?? original;
    const { kernel, models, view } = notebook.host;
    const place = make("div", { class: "editor" });
    const shown = make("div", { class: "outputs" });
    this.outputs = new Outputs(shown, `cell ${number}`, models, view);
    const button = (/** @type {string} */ text, /** @type {string} */ title, /** @type {() => void} */ click) => make("button", { title, "aria-label": `${title} (cell ${number})`, click }, text);
    const bar = make("div", { class: "bar" },
      button("▶", "Run this cell", () => this.run()),
      button("▶▶", "Run the cells above and this one", () => notebook.runTo(this)));
    element.replaceChildren(bar, place, shown);
    this.editor = editor(place, {
      source: this.source,
      label: `Code of cell ${number}`,
      changed: (source) => this.change(source),
      run: (onwards) => (this.run(), onwards && notebook.focusAfter(this)),
      complete: (text) => kernel.complete(text),
    });
    this.mark("");
  }

  /** @param {string} source */
  change(source) {
    this.source = source;
    keep(this.notebook.name, this.id, source, this.original);
    this.element.classList.toggle("changed", source !== this.original);
    if (["done", "failed"].includes(String(this.element.dataset.state))) this.mark("stale");
  }

  /** Take other code; what is shown was not its output. @param {string} source */
  replace(source) {
    if (source === this.source) return;
    replace(this.editor, source);
    this.outputs.clear();
    this.mark("");
  }

  /** States: "" (not run yet), "waiting", "done", "failed", "stale" (changed since). @param {string} state */
  mark(state) {
    this.element.dataset.state = state;
    this.element.classList.toggle("changed", this.source !== this.original);
  }

  run() {
    let failed = false;
    let fresh = true;
    const { kernel } = this.notebook.host;
    this.mark("waiting");
    const begin = () => {
      if (fresh) this.outputs.clear();
      fresh = false;
    };
    kernel.run({ do: "run", cell: `${this.notebook.name}/${this.id}`, source: this.source }, {
      hear: (message) => {
        begin();
        failed ||= message.kind === "error";
        if (message.kind === "error") kernel.drop();
        this.outputs.hear(message);
        if (message.passed !== undefined) this.notebook.judge(this, message.passed);
      },
      done: (ran) => {
        if (ran) begin();
        if (ran && !failed && this.source === this.original) this.outputs.stored(this.notebook.stored[this.id]);
        this.mark(failed ? "failed" : ran ? "done" : "");
      },
    });
  }
}
