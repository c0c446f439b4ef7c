// Steps through the rewrites inside one pass: the bar of buttons, and the text about the rewrite.
import { buttons } from "./header.js";
import { counted, make, number } from "./text/relay_text.js";

const STEP_TIMEOUT = 4000; // ms to wait for a step from the kernel before reporting that the kernel may be gone

export class Rewrites {
  /** @param {import("./store.js").Store} store @param {HTMLElement[]} more further elements of the bar
   * @param {() => void} say
   * called when the words have changed @param {AbortSignal} signal */
  constructor(store, more, say, signal) {
    this.store = store;
    this.say = say;
    this.waited = null;
    const button = buttons(signal);
    this.back = button("byl-step byl-rewrite-back", "‹", "Previous rewrite ( , )", () => store.goToRewrite(store.at - 1), { "aria-label": "Previous rewrite" });
    this.on = button("byl-step byl-rewrite-on", "›", "Next rewrite ( . )", () => store.goToRewrite(store.at + 1), { "aria-label": "Next rewrite" });
    this.whole = button("byl-toggle byl-rewrite-whole", "Whole pass", "Show the whole pass (Esc)", () => store.goToRewrite(0));
    this.position = make("span", { class: "byl-rewrite-position" });
    this.words = make("span", { class: "byl-rewrite-words" });
    this.bar = make("div", { class: "byl-rewrites", role: "group", "aria-label": "Rewrites inside this pass" },
      this.back, this.position, this.on, ...more, this.whole, this.words);
    store.on("stage", () => this.draw());
    store.on("rewrite", () => this.draw());
    signal.addEventListener("abort", () => clearTimeout(this.waited));
  }

  draw() {
    const { at, step, stage } = this.store;
    const total = stage.events_total;
    this.bar.hidden = this.store.state.kind !== "trace";
    this.bar.dataset.rewrite = String(at);
    this.position.textContent = at ? `rewrite ${number(at)} / ${number(total)}` : `${total ? counted(total, "rewrite") : "no rewrites"} inside`;
    this.back.setAttribute("aria-disabled", String(at === 0));
    this.on.setAttribute("aria-disabled", String(at === total));
    this.whole.hidden = !at;
    if (!at) this.words.replaceChildren();
    else if (step) this.words.replaceChildren(make("b", {}, step.event.rule), `: ${step.event.reason}`, ...(step.part ? [" ", make("span", { class: "byl-part" }, step.part)] : []));
    else this.wait(at);
  }

  wait(at) {
    clearTimeout(this.waited);
    const saved = this.store.stage.steps;
    if (saved) {
      const held = saved.length ? `only the first ${counted(saved.length, "rewrite")}` : "no rewrite";
      this.words.replaceChildren(`This page contains ${held} of this pass; open the trace in a running notebook to see this one.`);
      return;
    }
    this.words.replaceChildren("…");
    this.waited = setTimeout(() => {
      if (this.store.at !== at || this.store.step) return;
      this.words.replaceChildren("This page does not contain this rewrite; open the trace in a running notebook to see it.");
      this.say();
    }, STEP_TIMEOUT);
  }
}
