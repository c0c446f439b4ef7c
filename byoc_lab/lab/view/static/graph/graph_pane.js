// The graph pane: draws one of the two shown modules, and marks the selected node.
import { buttons } from "../header.js";
import { make } from "../text/relay_text.js";
import { SceneView } from "./scene_view.js";

export class GraphPane {
  /** @param {import("../store.js").Store} store @param {"" | "before" | "after"} side the module that is drawn; "": the reader chooses @param {AbortSignal} signal */
  constructor(store, side, signal) {
    this.store = store;
    this.side = side;
    this.button = buttons(signal);
    this.element = make("div", { class: "byl-scene", role: "region", "aria-label": side ? `Graph, ${store.state.words[side]}` : "Graph" });
    this.view = new SceneView(this.element, (id) => store.choose(id, true), store.state.words, signal);
    this.view.know(store.known);
    store.on("known", () => this.view.know(store.known));
    store.on("stage", () => this.draw());
    store.on("rewrite", () => (!store.at || store.step) && this.draw());
    store.on("selection", (reveal) => this.view.mark(store.selected, reveal, store.related));
    store.on("options", (names) => names.includes("side") && this.draw());
  }

  draw() {
    const { store, side } = this;
    const { before, after } = store.pair;
    const both = before !== null && after !== null && before !== after;
    const which = after === null ? "before" : both ? side || store.options.side : "after";
    const shown = which === "after" ? after : before;
    const { stage } = store.shown;
    const other = !both ? null : which === "after" ? before.scene : side && after.scene;
    this.view.show(shown, { before: other, replaced: stage.replaced ?? [], findings: shown?.findings ?? [], looksAt: Boolean(store.step) });
    if (side) return this.view.sides.replaceChildren(make("b", { class: "byl-side-title", title: store.state.words[side] }, store.state.words[side]));
    const one = store.step ? "this rewrite" : store.base !== null ? "these stages" : "this pass";
    this.view.sides.replaceChildren(...(both ? ["before", "after"] : []).map((name) =>
      this.button("byl-segment", name === "before" ? "Before" : "After", `Graph ${name} ${one}`, () => store.show({ side: name }), { "aria-pressed": String(name === which) })));
  }
}
