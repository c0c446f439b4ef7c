// The graph: folds and opens groups in place, pans, zooms, searches, follows the data.
import { tailOf } from "./layout_placing.js";
import { LayoutClient } from "./layout_worker.js";
import { choices, drawOverlay, drawReasons } from "./overlay.js";
import { Overview } from "./overview.js";
import { make } from "../text/relay_text.js";
import { contentOf, draw, idsOf, labelOf, SceneDrawing } from "./scene_drawing.js";
import { groupsOf, matches, neighbour, newIn, reached, sameSets } from "./scene_search.js";

const MOST = 3; // largest scale
const LEAST = 0.05;
const SMALL = 24; // a scene of so few boxes is drawn with all groups open
const LEGEND = [
  [".byl-region", "region", "annotated region"],
  [".byl-external", "external", "external function"],
  [".byl-composite", "composite", "composite"],
  [".byl-partly", "partly", "partly in regions"],
  [".byl-repeat", "repeat", "repeated block"],
  [".byl-section", "section", "section of a long graph"],
  [".byl-note", "note", "begin, end"],
  [".byl-fresh", "fresh", "new here"],
  [".byl-crossing", "crossing", "crosses a border unannotated"],
  [".byl-reason-badge", "reason", "why it is on the host"],
];

export class SceneView {
  /** `choose(id)` is called with the id of a node that was chosen. */
  constructor(pane, choose, signal) {
    this.pane = pane;
    this.choose = choose;
    this.signal = signal;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.moved = false;
    this.decided = new Map();
    this.turn = 0;
    this.layouts = new LayoutClient(signal);
    this.drawing = new SceneDrawing();
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)");
    const button = (label, title, act, extra = {}) => {
      const b = make("button", { type: "button", title, "aria-label": /\w/.test(label) ? null : title, ...extra }, label);
      b.addEventListener("click", act, { signal });
      return b;
    };
    this.sides = make("span", { class: "byl-segments", role: "group", "aria-label": "Which graph" });
    this.search = make("input", { type: "search", class: "byl-search", placeholder: "Search (regular expression)", "aria-label": "Search the graph" });
    this.hits = make("span", { class: "byl-hits", role: "status" });
    this.overlay = make("select", { class: "byl-overlays", "aria-label": "Overlay: what the colours of the boxes show" });
    this.overlay.addEventListener("change", () => this.overlayAgain(), { signal });
    this.flow = button("Follow", "Show only what the chosen node depends on and what depends on it (u)", () => this.follow(), { class: "byl-follow", "aria-pressed": "false" });
    this.tools = make("div", { class: "byl-graph-tools" }, this.sides, this.search, this.hits, make("span", { class: "byl-space" }), this.overlay, this.flow,
      button("Open all", "Open all groups", () => this.openAll(true)), button("Fold all", "Fold all groups", () => this.openAll(false)),
      button("−", "Zoom out", () => this.zoom(1 / 1.3)), button("+", "Zoom in", () => this.zoom(1.3)),
      button("Fit", "Fit the whole graph", () => this.fit()));
    this.canvas = make("div", { class: "byl-canvas" });
    this.legend = make("div", { class: "byl-legend" });
    this.note = make("p", { class: "byl-empty", hidden: true });
    this.know({});
    this.overview = new Overview((x, y) => this.centreOn(x, y), signal);
    this.canvas.append(this.drawing.root, this.note);
    pane.append(this.tools, this.canvas, this.overview.map, this.legend);
    this.listen(signal);
  }

  /** Show what is known about nodes besides (see byoc_lab/lab/view/states/overlays.py). */
  know(known) {
    this.known = known;
    const now = this.overlay.value;
    const options = [["", "Overlay: none"], ...choices(known)];
    this.overlay.replaceChildren(...options.map(([value, text]) => make("option", { value, selected: value === now }, text)));
    if (this.scene) this.overlayAgain();
  }

  overlayAgain() {
    if (!this.scene) return;
    this.heat = drawOverlay(this.overlay.value, this.drawing, this.scene, this.known);
    drawReasons(this.drawing, this.scene, this.known);
    for (const { element, node } of this.drawing.nodes.values()) {
      const beside = [...element.querySelectorAll(":scope > .byl-value, :scope > .byl-reason-badge > text")].map((text) => text.textContent.trim());
      element.setAttribute("aria-label", labelOf(contentOf(this.scene, node), beside));
    }
    this.explain();
  }

  listen(signal) {
    const on = (type, act, extra = {}) => this.canvas.addEventListener(type, act, { signal, ...extra });
    on("wheel", (e) => this.wheel(e), { passive: false });
    on("pointerdown", (e) => this.press(e));
    on("pointermove", (e) => this.drag(e));
    for (const end of ["pointerup", "pointercancel"]) on(end, () => (this.held = null));
    on("click", (e) => this.click(e));
    on("dblclick", (e) => this.toggle(e.target.closest?.("[data-key]")?.dataset.key));
    on("keydown", (e) => this.key(e));
    this.search.addEventListener("input", () => this.find(), { signal });
    this.search.addEventListener("keydown", (e) => e.key === "Enter" && this.nextHit(e.shiftKey ? -1 : 1, e), { signal });
    this.sized = new ResizeObserver(() => this.placed && (this.moved ? this.apply() : this.settle()));
    this.sized.observe(this.canvas);
    signal.addEventListener("abort", () => this.sized.disconnect());
  }

  /** Show a module's scene. `before`: the scene that is left, to tell what is new. */
  show(module, { before, replaced, findings }) {
    const scene = module?.scene ?? null;
    this.note.hidden = Boolean(scene?.boxes.length);
    this.note.textContent = module?.graph_note || "No graph for this stage.";
    this.drawing.root.style.display = scene?.boxes.length ? "" : "none";
    const fresh = scene && before && before !== scene ? newIn(scene, before, new Set(replaced)) : new Set();
    const same = scene && this.wanted?.scene === scene && sameSets(fresh, this.fresh);
    this.wanted = { scene, module, findings };
    this.fresh = fresh;
    if (same && this.scene === scene) {
      [this.module, this.findings] = [module, findings];
      this.flag();
      return this.find();
    }
    if (scene) return this.lay();
    this.scene = null;
    delete this.pane.dataset.busy;
  }

  opened() {
    const { scene } = this.wanted;
    const all = scene.boxes.length <= SMALL;
    return scene.groups.filter((g) => this.decided.get(g.id) ?? (all || g.kind === "function")).map((g) => g.id);
  }

  async lay(toggled = "") {
    const { scene, module, findings } = this.wanted;
    const turn = ++this.turn;
    this.pane.dataset.busy = "true";
    const room = { w: this.canvas.clientWidth || 900, h: this.canvas.clientHeight || 600 };
    const placed = await this.layouts.place(scene, this.opened(), { w: room.w - 24, h: room.h - 24 }, this.placed ?? null);
    if (turn !== this.turn || this.signal.aborted) return;
    this.scene = scene;
    this.module = module;
    this.findings = findings;
    const before = this.placed;
    this.placed = placed;
    const first = !this.drawing.scene;
    this.drawing.show(scene, placed, { fresh: this.fresh, still: this.still.matches || first });
    this.reach();
    this.flag();
    if (!this.moved) this.fit();
    else {
      if (before) this.hold(before, toggled);
      this.apply();
    }
    this.overlayAgain();
    this.find();
    this.mark(this.marked, false);
    delete this.pane.dataset.busy;
  }

  /** Where a part is looked at: keep the group that was opened or closed, or else the node nearest to
   * the middle, where it is in the window. */
  hold(before, toggled) {
    const now = new Map([...this.placed.nodes].reverse().map((node) => [tailOf(node.key), node])); // the outer of one name
    const [x, y] = [(this.canvas.clientWidth / 2 - this.x) / this.scale, (this.canvas.clientHeight / 2 - this.y) / this.scale];
    let held = null;
    for (const was of before.nodes) {
      const node = now.get(tailOf(was.key));
      const far = was.key === toggled ? -1 : Math.hypot(was.x + was.w / 2 - x, was.y + was.h / 2 - y);
      if (node && !(held?.far <= far)) held = { far, was, node };
    }
    if (!held) return;
    this.x += (held.was.x - held.node.x) * this.scale;
    this.y += (held.was.y - held.node.y) * this.scale;
  }

  /** Signs of findings at the boxes, or the folded groups, that they are in. */
  flag() {
    for (const old of this.drawing.layer.querySelectorAll(".byl-flag")) old.remove();
    for (const finding of this.findings) {
      const shown = this.elementOf(finding.node);
      if (!shown || shown.element.querySelector(".byl-flag")) continue;
      shown.element.append(draw("text", { class: `byl-flag byl-${finding.severity}`, x: shown.node.w, y: 8 }, { error: "✖", warning: "▲", info: "●" }[finding.severity] ?? "●"));
    }
  }

  /** The smallest drawn node that stands for a node id. */
  elementOf(id) {
    let found = null;
    if (!id || !this.scene) return found;
    for (const entry of this.drawing.nodes.values()) {
      const ids = idsOf(this.scene, entry.node);
      const own = entry.node.box >= 0 ? 0 : 1;
      if (entry.node.open ? this.scene.groups[entry.node.group].node === id : ids.includes(id)) {
        const rank = entry.node.open ? 2 : own;
        if (!found || rank < found.rank) found = { ...entry, rank };
      }
    }
    return found;
  }

  explain() {
    this.legend.replaceChildren(...(this.heat ? [this.heat] : []));
    const compilers = new Map(this.scene.groups.filter((g) => g.compiler).map((g) => [g.compiler, g.colour]));
    for (const [name, colour] of compilers) this.legend.append(make("span", {}, make("i", { class: `byl-key byl-key-back-end byl-c${colour}` }), name));
    for (const [selector, kind, words] of LEGEND) {
      if (this.drawing.layer.querySelector(`${selector}:not(.byl-gone, .byl-gone *)`)) this.legend.append(make("span", {}, make("i", { class: `byl-key byl-key-${kind}` }), words));
    }
  }

  // ---- groups ---------------------------------------------------------------------------------

  toggle(key) {
    const n = this.scene?.groups.findIndex((g) => g.id === key) ?? -1;
    if (n < 0) return;
    this.decided.set(key, !this.opened().includes(key));
    this.lay(key);
  }

  openAll(open) {
    for (const group of this.scene?.groups ?? []) this.decided.set(group.id, open);
    this.moved = false;
    this.lay();
  }

  /** Open the groups around a box, so that it can be seen. */
  async open(box) {
    let changed = false;
    for (let g = this.scene.boxes[box].group; g >= 0; g = this.scene.groups[g].group) {
      changed ||= !this.opened().includes(this.scene.groups[g].id);
      this.decided.set(this.scene.groups[g].id, true);
    }
    if (changed) await this.lay();
  }

  // ---- choosing, following, searching ---------------------------------------------------------

  /** Highlight the box of node `id`; with `reveal`, make it visible. */
  mark(id, reveal, related = this.related ?? new Set()) {
    this.marked = id;
    this.related = related;
    for (const old of this.drawing.layer.querySelectorAll(".byl-related")) old.classList.remove("byl-related");
    for (const other of related) if (other !== id) this.elementOf(other)?.element.classList.add("byl-related");
    for (const old of this.drawing.layer.querySelectorAll(".byl-chosen")) old.classList.remove("byl-chosen");
    const shown = this.elementOf(id);
    this.drawFlow();
    if (!shown) return;
    shown.element.classList.add("byl-chosen");
    this.reach(shown.node.key);
    const { x, y, w, h } = shown.node;
    const [left, top, right, bottom] = [x * this.scale + this.x, y * this.scale + this.y, (x + w) * this.scale + this.x, (y + h) * this.scale + this.y];
    if (reveal && (left < 0 || top < 0 || right > this.canvas.clientWidth || bottom > this.canvas.clientHeight)) this.centreOn(x + w / 2, y + h / 2);
  }

  follow() {
    this.flow.setAttribute("aria-pressed", String(this.flow.getAttribute("aria-pressed") !== "true"));
    this.drawFlow();
  }

  drawFlow() {
    const on = this.flow.getAttribute("aria-pressed") === "true";
    const sets = on && this.marked && this.scene ? reached(this.scene, this.marked) : null;
    this.canvas.classList.toggle("byl-following", Boolean(sets));
    const has = (set, node) => set && (node.box >= 0 ? set.has(node.box) : false);
    const groups = sets && { up: groupsOf(this.scene, sets.up), down: groupsOf(this.scene, sets.down) };
    for (const { element, node } of this.drawing.nodes.values()) {
      for (const way of ["up", "down"]) element.classList.toggle(`byl-${way}`, Boolean(sets) && (has(sets[way], node) || (node.group >= 0 && groups[way].has(node.group))));
    }
  }

  find() {
    const { found, problem } = matches(this.scene, this.module, this.search.value);
    this.found = found;
    this.hits.textContent = problem || (this.search.value ? `${found.length} found` : "");
    const boxes = new Set(found);
    const groups = this.scene ? groupsOf(this.scene, boxes) : new Set();
    for (const { element, node } of this.drawing.nodes.values()) element.classList.toggle("byl-hit", boxes.has(node.box) || (!node.open && groups.has(node.group)));
  }

  async nextHit(step, event) {
    event.preventDefault();
    event.stopPropagation();
    if (!this.found?.length) return;
    const now = this.found.findIndex((n) => this.scene.boxes[n].ids.includes(this.marked));
    const target = this.found[(now + step + this.found.length) % this.found.length];
    await this.open(target);
    const [id] = this.scene.boxes[target].ids;
    if (id) this.choose(id);
    this.focus([...this.drawing.nodes.values()].find(({ node }) => node.box === target)?.node.key);
  }

  key(event) {
    const key = event.target.closest?.("[data-key]")?.dataset.key;
    if (!key || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.chooseElement(event.target.closest("[data-key]"));
    else if (event.key === "o") this.toggle(key);
    else if (event.key.toLowerCase() === "n" && this.found?.length) this.nextHit(event.key === "n" ? 1 : -1, event);
    else if (event.key.startsWith("Arrow")) this.focus(neighbour(this.placed, key, event.key));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Move the keyboard to a node. */
  focus(key) {
    if (this.drawing.nodes.has(key)) this.reach(key).focus({ preventScroll: true });
  }

  /** Let Tab reach one node, from which arrows lead to the others: this one, or the one that it reached
   * before, or else the first. */
  reach(key = this.reached) {
    const { nodes } = this.drawing;
    this.reached = nodes.has(key) ? key : nodes.keys().next().value;
    for (const [other, { element }] of nodes) element.setAttribute("tabindex", other === this.reached ? "0" : "-1");
    return nodes.get(this.reached)?.element;
  }

  // ---- pan and zoom ---------------------------------------------------------------------------

  settle() {
    if (this.scene && this.canvas.clientWidth) this.lay();
  }

  fit() {
    if (!this.placed || !this.canvas.clientWidth) return;
    const { width, height } = this.placed;
    this.moved = false;
    this.scale = Math.max(LEAST, Math.min(1.25, this.canvas.clientWidth / width, this.canvas.clientHeight / height));
    this.x = (this.canvas.clientWidth - width * this.scale) / 2;
    this.y = (this.canvas.clientHeight - height * this.scale) / 2;
    this.apply();
  }

  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const next = Math.max(LEAST, Math.min(MOST, this.scale * factor));
    this.x = px - ((px - this.x) * next) / this.scale;
    this.y = py - ((py - this.y) * next) / this.scale;
    this.scale = next;
    this.moved = true;
    this.apply();
  }

  centreOn(x, y) {
    this.x = this.canvas.clientWidth / 2 - x * this.scale;
    this.y = this.canvas.clientHeight / 2 - y * this.scale;
    this.moved = true;
    this.apply();
  }

  apply() {
    const clamp = (offset, size, room) => (size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, offset)));
    this.x = clamp(this.x, this.placed.width * this.scale, this.canvas.clientWidth);
    this.y = clamp(this.y, this.placed.height * this.scale, this.canvas.clientHeight);
    this.drawing.layer.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`);
    this.canvas.dataset.scale = this.scale.toFixed(3);
    const [x, y] = [-this.x / this.scale, -this.y / this.scale];
    this.overview.draw(this.placed, this.scene, { x, y, w: this.canvas.clientWidth / this.scale, h: this.canvas.clientHeight / this.scale });
  }

  /** The wheel pans, and lets the page scroll on once the end is reached; with Ctrl it zooms. */
  wheel(event) {
    if (!this.placed) return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const spot = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - spot.left, event.clientY - spot.top);
      return;
    }
    const was = [this.x, this.y];
    this.x -= event.deltaX;
    this.y -= event.deltaY;
    this.apply();
    if (was[0] === this.x && was[1] === this.y) return;
    this.moved = true;
    event.preventDefault();
  }

  press(event) {
    if (event.button === 0) this.held = { x: event.clientX - this.x, y: event.clientY - this.y, far: false, id: event.pointerId, at: [event.clientX, event.clientY] };
  }

  drag(event) {
    if (!this.held || !this.placed) return;
    const [x, y] = this.held.at;
    if (!this.held.far && Math.hypot(event.clientX - x, event.clientY - y) < 4) return;
    if (!this.held.far) this.canvas.setPointerCapture(this.held.id);
    this.held.far = this.dragged = this.moved = true;
    this.x = event.clientX - this.held.x;
    this.y = event.clientY - this.held.y;
    this.apply();
  }

  click(event) {
    if (this.dragged) {
      this.dragged = false; // the click that ends a drag chooses nothing
      return;
    }
    const opener = event.target.closest("[data-group]");
    if (opener) return this.toggle(opener.dataset.group);
    this.chooseElement(event.target.closest("[data-ids]"));
  }

  chooseElement(element) {
    if (element?.dataset.key) this.focus(element.dataset.key);
    const ids = element?.dataset.ids.split(" ").filter(Boolean) ?? [];
    const shown = this.drawing.nodes.get(element?.dataset.key);
    this.choose((shown && shown.node.group >= 0 && !this.scene.groups[shown.node.group].node ? ids.at(-1) : ids[0]) ?? "");
  }
}
