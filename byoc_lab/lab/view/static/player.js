// The time line of rewrites: a slider, play and pause, and a speed.
import { buttons } from "./header.js";
import { make, number } from "./text/relay_text.js";

const BEAT = 1500; // ms for which a rewrite or a stage is shown at speed 1
const SPEEDS = [0.5, 1, 2, 4, 16];

export class Player {
  /** @param {import("./store.js").Store} store @param {any} stages @param {AbortSignal} signal */
  constructor(store, stages, signal) {
    this.store = store;
    this.stages = stages;
    this.timer = null;
    this.button = buttons(signal)("byl-toggle byl-play", "▶ Play", "Play the rewrites, stage by stage (space)", () => this.toggle(), { "aria-pressed": "false" });
    this.line = make("input", { type: "range", class: "byl-line", min: 0, step: 1, "aria-label": "Rewrites of this stage; 0 is the whole pass" });
    this.line.addEventListener("input", () => (this.pause(), store.goToRewrite(Number(this.line.value))), { signal });
    this.speed = make("select", { class: "byl-speed", "aria-label": "Speed" }, ...SPEEDS.map((s) => make("option", { value: s, selected: s === 1 }, `${s}×`)));
    this.elements = [this.button, this.line, this.speed];
    store.on("stage", () => this.draw());
    store.on("rewrite", () => this.draw());
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  get playing() {
    return this.timer !== null;
  }

  draw() {
    const { at, stage } = this.store;
    this.line.max = String(stage.events_total);
    this.line.value = String(at);
    this.line.setAttribute("aria-valuetext", at ? `rewrite ${number(at)} of ${number(stage.events_total)}` : "the whole pass");
    this.line.hidden = !stage.events_total;
  }

  toggle() {
    if (this.playing) return this.pause();
    this.button.textContent = "⏸ Pause";
    this.button.setAttribute("aria-pressed", "true");
    this.beat();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.button.textContent = "▶ Play";
    this.button.setAttribute("aria-pressed", "false");
  }

  /** Show the next rewrite; after the last one, the next stage. Waits for a step that was not received
   * yet. */
  beat() {
    const { store, stages } = this;
    const { at, stage, index } = store;
    const waiting = at > 0 && !store.step && !stage.steps;
    const last = stage.steps ? stage.steps.length : stage.events_total;
    if (!waiting && at < last) store.goToRewrite(at + 1);
    else if (!waiting && stages.next(index, 1) === index) return this.pause();
    else if (!waiting) store.go(stages.next(index, 1));
    this.timer = setTimeout(() => this.beat(), BEAT / Number(this.speed.value));
  }
}
