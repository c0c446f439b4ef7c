// Steps through the rewrites inside one pass: the displayed step, and its bar of buttons.
import { make } from "./relay_text.js";

const PATIENCE = 4000; // ms to wait for a step from the kernel before saying that none may come

export class Rewrites {
  /** Calls `changed()` to redraw the text of the bar, and `goTo(k)` when a button is pressed. */
  constructor(model, state, { stage, index, goTo, changed, button, signal }) {
    Object.assign(this, { model, state, stage, index, changed });
    this.waited = null;
    this.back = button("byl-step byl-rewrite-back", "‹", "Previous rewrite ( , )", () => goTo(this.at - 1));
    this.on = button("byl-step byl-rewrite-on", "›", "Next rewrite ( . )", () => goTo(this.at + 1));
    this.whole = button("byl-toggle byl-rewrite-whole", "Whole pass", "Show the whole pass (Esc)", () => goTo(0));
    this.position = make("span", { class: "byl-rewrite-position" });
    this.words = make("span", { class: "byl-rewrite-words" });
    this.bar = make("div", { class: "byl-rewrites", role: "group", "aria-label": "Rewrites inside this pass" },
      this.back, this.position, this.on, this.whole, this.words);
    signal.addEventListener("abort", () => clearTimeout(this.waited));
  }

  /** After how many rewrites of the stage it is shown; 0: the whole pass. */
  get at() {
    return Math.min(this.model.get("rewrite") || 0, this.stage().events_total);
  }

  /** The step to show (see byoc_lab/lab/view/rewrites.py); null for the whole pass, or while it is not there. */
  get step() {
    if (!this.at) return null;
    const saved = this.stage().steps?.[this.at - 1];
    if (saved) return saved;
    const sent = this.model.get("step");
    return sent && sent.stage === this.index() && sent.rewrite === this.at ? sent : null;
  }

  draw() {
    const { at, step } = this;
    const total = this.stage().events_total;
    this.bar.hidden = !total;
    this.bar.dataset.rewrite = String(at);
    this.position.textContent = at ? `rewrite ${at} / ${total}` : `${total} rewrite${total === 1 ? "" : "s"} inside`;
    this.back.setAttribute("aria-disabled", String(at === 0));
    this.on.setAttribute("aria-disabled", String(at === total));
    this.whole.hidden = !at;
    if (!at) this.words.replaceChildren();
    else if (step) this.words.replaceChildren(make("b", {}, step.event.rule), `: ${step.event.reason}`);
    else this.wait(at);
  }

  wait(at) {
    clearTimeout(this.waited);
    const saved = this.stage().steps;
    if (saved) {
      const held = saved.length ? `the first ${saved.length} of these rewrites` : "none of these rewrites";
      this.words.replaceChildren(`This page has the text of ${held}; open the trace in a running notebook to see the others.`);
      return;
    }
    this.words.replaceChildren("…");
    this.waited = setTimeout(() => {
      if (this.at !== at || this.step) return;
      this.words.replaceChildren("This page does not have the text of this rewrite; open the trace in a running notebook to see it.");
      this.changed();
    }, PATIENCE);
  }
}
