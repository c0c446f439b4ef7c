// The bar of the annotation board: the selected operator into a region of a back end, or out of it.
import { buttons } from "./header.js";
import { make } from "./relay_text.js";

export class BoardBar {
  /** @param {any} store @param {AbortSignal} signal */
  constructor(store, signal) {
    this.store = store;
    this.asked = 0;
    const { board } = store.state;
    const button = buttons(signal);
    this.choice = make("select", { "aria-label": "Back end" }, ...board.back_ends.map((/** @type {string} */ name) => make("option", { value: name }, name)));
    this.put = button("byl-toggle byl-put", "Put in", "Put the selected operator into a region of this back end (b)", () => this.toggle());
    this.undo = button("byl-toggle", "Undo", "Take the last change back", () => this.ask({ undo: true }));
    this.words = make("span", { class: "byl-summary", role: "status" });
    this.element = make("div", { class: "byl-board", role: "group", "aria-label": "Annotation board" }, this.choice, this.put, this.undo, this.words);
    store.on("selection", () => this.draw());
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
    this.words.textContent = !operator ? "Select an operator of the graph or the text." : inside ? `It is in a region of ${inside}.` : "It is on the host.";
  }

  toggle() {
    const { operator } = this;
    if (!operator) return;
    this.ask({ node: operator, compiler: this.store.state.board.inside[operator] ? "" : this.choice.value });
  }

  /** @param {object} what */
  ask(what) {
    this.store.set({ request: { ...what, ticket: ++this.asked, at: performance.now() } });
  }
}
