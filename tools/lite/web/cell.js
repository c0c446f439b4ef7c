// One cell of code: its editor, its buttons, its outputs.
import { make } from "./dom.js";
import { editor, replace } from "./editor.js";
import { Outputs } from "./outputs.js";
import { keep, kept } from "./storage.js";

const PRINTED = "Stored output:";
const ELSEWHERE = "There it shows:";
const LACKING = "A browser does not have what this cell needs. Where that is installed, the cell shows:";

export class Cell {
  /** @param {HTMLElement} element @param {any} file the cell in the notebook
   * @param {number} number in its notebook, from 1
   * @param {import("./notebook.js").Notebook} notebook */
  constructor(element, file, number, notebook) {
    this.element = element;
    this.original = file.source.join("");
    /** What a page of the documentation prints. @type {any[]} */
    this.printed = file.outputs.map((/** @type {any} */ output) => ({ stream: output.name, text: output.text }));
    this.notebook = notebook;
    this.id = String(element.dataset.cell);
    this.source = kept(notebook.name, this.id) ?? this.original;
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
    if (this.printed.length) this.outputs.stored(this.printed, PRINTED, "small");
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
    let missing = false;
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
        missing ||= Boolean(message.missing);
        if (message.kind === "error") kernel.drop();
        this.outputs.hear(message);
        if (message.passed !== undefined) this.notebook.judge(this, message.passed);
      },
      done: (ran) => {
        if (ran) begin();
        const shown = missing ? this.printed : failed ? [] : this.notebook.stored[this.id] ?? [];
        if (ran && shown.length && this.source === this.original) this.outputs.stored(shown, missing ? ELSEWHERE : LACKING);
        this.mark(failed ? "failed" : ran ? "done" : "");
      },
    });
  }
}
