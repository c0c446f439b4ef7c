// The bar of the annotation board: puts the selected operator into a region of a back end, or takes it out.
import { buttons } from "./header.js";
import { make, spelled } from "./text/relay_text.js";

export class BoardBar {
  /** @param {import("./store.js").Store} store @param {AbortSignal} signal */
  constructor(store, signal) {
    this.store = store;
    this.asked = 0;
    const { board } = store.state;
    const button = buttons(signal);
    const { backEnd } = store.options;
    this.choice = make("select", { "aria-label": "Back end" }, ...board.back_ends.map((/** @type {string} */ name) => make("option", { value: name, selected: name === backEnd }, name)));
    this.choice.addEventListener("change", () => store.show({ backEnd: this.choice.value }), { signal });
    this.put = button("byl-toggle byl-put", "Put in", "Put the selected operator into a region of this back end (b)", () => this.toggle());
    this.fix = button("byl-toggle byl-fix", "Fix …", "Show the proved repairs of the annotations", () => this.ask({ fix: "preview" }));
    const again = (/** @type {"undo" | "redo"} */ step, /** @type {string} */ label, /** @type {string} */ key) =>
      button(`byl-toggle byl-${step}`, label, `${label}: ${board[step] || "nothing"} (${key})`, () => this.again(step), { "aria-disabled": String(!board[step]) });
    this.undo = again("undo", "Undo", "z");
    this.redo = again("redo", "Redo", "Shift+Z");
    this.words = make("span", { class: "byl-summary", role: "status" });
    this.apply = button("byl-toggle byl-apply", "Apply", "Put the repaired module on the board; Undo reverts this", () => this.ask({ fix: "apply" }));
    this.dismiss = button("byl-toggle", "Dismiss", "Keep the module unchanged", () => this.ask({ fix: "dismiss" }));
    this.preview = make("div", { class: "byl-preview", role: "region", "aria-label": "Fix", hidden: true });
    this.element = make("div", { class: "byl-board", role: "group", "aria-label": "Annotation board" }, this.choice, this.put, this.fix, this.undo, this.redo, this.words, this.preview);
    store.on("selection", () => this.draw());
    store.hear("change:preview", () => this.look(), signal);
    this.look();
  }

  /** The id of the selected operator; "" if another node is selected. */
  get operator() {
    const { selected, state } = this.store;
    return state.board.calls.includes(selected) ? selected : "";
  }

  draw() {
    const { operator } = this;
    const inside = this.store.state.board.inside[operator];
    this.put.textContent = inside ? "Take out" : "Put in";
    this.put.setAttribute("aria-disabled", String(!operator));
    const place = !operator ? "Select an operator of the graph or the text." : inside ? `The selected operator is in a region of ${inside}.` : "The selected operator is on the host.";
    this.words.textContent = `${place} ${this.store.state.board.done}`;
  }

  /** The fix to preview, if there is one. */
  look() {
    const fix = this.store.model.get("preview") ?? {};
    this.preview.hidden = !fix.steps;
    if (!fix.steps) return;
    const list = (/** @type {string[]} */ texts) => make("ol", {}, ...texts.map((text) => make("li", {}, text)));
    this.apply.hidden = !fix.steps.length;
    this.preview.replaceChildren(
      fix.steps.length ? list(fix.steps) : make("p", {}, "Nothing to fix."),
      make("p", { class: "byl-summary" }, `${fix.steps.length ? "Proved: " : ""}${fix.proof}`),
      fix.diff ? make("pre", { tabindex: "0" }, ...coloured(fix.diff)) : "",
      fix.left.length ? make("p", {}, `Not fixed: ${fix.left.join("; ")}`) : "",
      make("span", {}, this.apply, this.dismiss));
  }

  toggle() {
    const { operator } = this;
    if (!operator) return;
    this.ask({ node: operator, compiler: this.store.state.board.inside[operator] ? "" : this.choice.value });
  }

  /** Undo the last change, or redo it. @param {"undo" | "redo"} step */
  again(step) {
    if (this.store.state.board[step]) this.ask({ [step]: true });
  }

  /** @param {object} what */
  ask(what) {
    this.store.set({ request: { ...what, ticket: ++this.asked, at: performance.now() } });
  }
}

/** The lines of a diff; added and removed lines also have colours. @param {string} diff */
function coloured(diff) {
  const kind = (/** @type {string} */ line) => ({ "+": "byl-plus", "-": "byl-minus" })[line[0]] ?? "";
  return diff.split("\n").map((line) => make("span", { class: kind(line) }, `${spelled(line)}\n`));
}
