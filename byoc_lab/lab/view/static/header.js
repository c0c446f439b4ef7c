// The top of the view: the title, buttons for the previous and next stage, and buttons for the whole page.
import { make } from "./text/relay_text.js";

/** A button that acts until `signal` aborts.
 * @param {AbortSignal} signal @returns {(cls: string, label: string, title: string, act: () => void, extra?: object) => HTMLButtonElement} */
export function buttons(signal) {
  return (cls, label, title, act, extra = {}) => {
    const made = make("button", { type: "button", class: cls, title, ...extra }, label);
    made.addEventListener("click", act, { signal });
    return made;
  };
}

export class Header {
  /** @param {import("./store.js").Store} store @param {any} stages @param {any} tools functions {widen, present, help} @param {AbortSignal} signal */
  constructor(store, stages, tools, signal) {
    this.store = store;
    this.stages = stages;
    const button = buttons(signal);
    this.previous = button("byl-step byl-previous", "‹ Previous", "Previous stage (←)", () => store.go(stages.next(store.index, -1)));
    this.next = button("byl-step byl-next", "Next ›", "Next stage (→)", () => store.go(stages.next(store.index, 1)));
    this.position = make("span", { class: "byl-position" });
    this.wide = button("byl-toggle", "Wide text", "Widen the text, or the graph (g)", tools.widen, { "aria-pressed": "false" });
    this.presenting = button("byl-toggle byl-present", "Present", "Full screen in large type (Shift+P)", tools.present, { "aria-pressed": "false" });
    this.help = button("byl-toggle", "?", "Keys (?)", tools.help, { "aria-label": "Keys" });
    this.element = make("header", { class: "byl-top" }, make("h2", { class: "byl-title", title: store.state.title }, store.state.title),
      store.hasStages && make("div", { class: "byl-nav", role: "group", "aria-label": "Step through the stages" }, this.previous, this.position, this.next),
      make("span", { class: "byl-tools" }, this.presenting, this.wide, this.help));
    store.on("stage", () => this.draw());
  }

  draw() {
    const { index, state } = this.store;
    this.position.textContent = `${index + 1} / ${state.stages.length}`;
    this.drawEnds();
  }

  /** Not `disabled`, which would lose the focus, and the keys with it, at the last stage. */
  drawEnds() {
    const { index } = this.store;
    this.previous.setAttribute("aria-disabled", String(this.stages.next(index, -1) === index));
    this.next.setAttribute("aria-disabled", String(this.stages.next(index, 1) === index));
  }
}
