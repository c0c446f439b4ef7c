// The graph: folds and opens groups in place, pans, zooms, searches, and highlights dependences.
import { Camera, READABLE } from "./camera.js";
import { tailOf } from "./layout_placing.js";
import { LayoutClient } from "./layout_worker.js";
import { choices, drawOverlay, drawReasons } from "./overlay.js";
import { Overview } from "./overview.js";
import { ICON } from "../text/diff_view.js";
import { counted, make } from "../text/relay_text.js";
import { contentOf, draw, idsOf, labelOf, SceneDrawing } from "./scene_drawing.js";
import { firstNew, groupsOf, levelsOf, matches, neighbour, newIn, reached, sameSets } from "./scene_search.js";

const WINDOWS = 3; // maximum width and height of a graph after "Open all", in windows
const LEGEND = [
  [".byl-region", "region", "annotated region"],
  [".byl-external", "external", "external function"],
  [".byl-composite", "composite", "composite"],
  [".byl-partly", "partly", "partly in regions"],
  [".byl-repeat", "repeat", "repeated block"],
  [".byl-section", "section", "section of a long graph"],
  [".byl-note", "note", "begin, end"],
  [".byl-fresh.byl-box", "fresh", ""],
  [".byl-crossing", "crossing", "crosses a border unannotated"],
  [".byl-reason-badge", "reason", "why it is not in a region, or also computed outside"],
];

export class SceneView {
  /** `choose(id)` is called with the id of a node that the reader chooses; `words`: see store.js. */
  constructor(pane, choose, words, signal) {
    this.words = words;
    this.pane = pane;
    this.choose = choose;
    this.signal = signal;
    this.decided = new Map();
    this.left = 0; // groups that "Open all" did not open
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
    this.search = make("input", { type: "search", class: "byl-search", placeholder: "Search", title: "A regular expression", "aria-label": "Search the graph" });
    this.hits = make("span", { class: "byl-hits", role: "status" });
    this.overlay = make("select", { class: "byl-overlays", "aria-label": "Overlay: what the colours of the boxes show" });
    this.overlay.addEventListener("change", () => this.overlayAgain(), { signal });
    this.flow = button("Follow", "Show only the nodes that the chosen node depends on, or that depend on it (u)", () => this.follow(), { class: "byl-follow", "aria-pressed": "false" });
    this.tools = make("div", { class: "byl-graph-tools" }, this.sides, this.search, this.hits, make("span", { class: "byl-space" }), this.overlay, this.flow,
      button("Open all", "Open all groups", () => this.openAll()), button("Fold all", "Fold all groups", () => this.foldAll()),
      button("−", "Zoom out", () => this.camera.zoom(1 / 1.3)), button("+", "Zoom in", () => this.camera.zoom(1.3)),
      button("Fit", "Fit the whole graph", () => this.camera.fit()));
    this.canvas = make("div", { class: "byl-canvas" });
    this.legend = make("div", { class: "byl-legend" });
    this.note = make("p", { class: "byl-empty", hidden: true });
    this.know({});
    this.overview = new Overview((x, y) => this.camera.centreOn(x, y), signal);
    this.camera = new Camera(this.canvas, this.drawing.layer, (part) => this.overview.draw(this.placed, this.scene, part), signal);
    this.canvas.append(this.drawing.root, this.note);
    pane.append(this.tools, this.canvas, this.overview.map, this.legend);
    this.listen(signal);
  }

  /** Show overlays on the nodes (see byoc_lab/lab/view/states/overlays.py). */
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
    const on = (type, act) => this.canvas.addEventListener(type, act, { signal });
    on("click", (e) => this.click(e));
    on("dblclick", (e) => this.toggle(e.target.closest?.("[data-key]")?.dataset.key));
    on("keydown", (e) => this.key(e));
    this.search.addEventListener("input", () => this.find(), { signal });
    this.search.addEventListener("keydown", (e) => e.key === "Enter" && this.nextHit(e.shiftKey ? -1 : 1, e), { signal });
    this.sized = new ResizeObserver(() => this.placed && (this.camera.chosen ? this.camera.apply() : this.settle()));
    this.sized.observe(this.canvas);
    signal.addEventListener("abort", () => this.sized.disconnect());
  }

  /** Show a module's scene. `before`: the previous scene, to find new boxes. `looksAt`: whether to open
   * the groups around the new boxes, and to move the view to them. */
  show(module, { before, replaced, findings, looksAt }) {
    const scene = module?.scene ?? null;
    this.note.hidden = Boolean(scene?.boxes.length);
    this.note.textContent = module?.graph_note || "No graph for this stage.";
    this.drawing.root.style.display = scene?.boxes.length ? "" : "none";
    const fresh = scene && before && before !== scene ? newIn(scene, before, new Set(replaced)) : new Set();
    if (scene !== this.scene) this.left = 0;
    const same = scene && this.wanted?.scene === scene && sameSets(fresh, this.fresh);
    this.wanted = { scene, module, findings, target: looksAt && scene ? firstNew(scene, fresh) : null };
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
    const { scene, target } = this.wanted;
    return scene.groups.filter((g) => this.decided.get(g.id) ?? (g.open || target?.around.includes(g.id))).map((g) => g.id);
  }

  room() {
    return { w: (this.canvas.clientWidth || 900) - 24, h: (this.canvas.clientHeight || 600) - 24 };
  }

  async lay(toggled = "") {
    const { scene, module, findings, target } = this.wanted;
    const turn = ++this.turn;
    this.pane.dataset.busy = "true";
    const placed = await this.layouts.place(scene, this.opened(), this.room(), this.placed ?? null);
    if (turn !== this.turn || this.signal.aborted) return;
    this.scene = scene;
    this.module = module;
    this.findings = findings;
    const before = this.placed;
    this.placed = this.camera.size = placed;
    const first = !this.drawing.scene;
    this.drawing.show(scene, placed, { fresh: this.fresh, still: this.still.matches || first });
    this.reach();
    this.flag();
    if (!this.camera.chosen) this.camera.fitAround(this.drawing.nodes.get(target?.key)?.node, placed.nodes.find((node) => !node.open));
    else {
      if (before) this.hold(before, toggled);
      this.camera.apply();
    }
    this.overlayAgain();
    this.find();
    this.mark(this.marked, false);
    delete this.pane.dataset.busy;
  }

  /** If only a part of the graph is shown: keep a node at its position in the window, namely the opened
   * or closed group, or else the node nearest to the middle. */
  hold(before, toggled) {
    // the outermost of the nodes with this name
    const now = new Map([...this.placed.nodes].reverse().map((node) => [tailOf(node.key), node]));
    const [x, y] = this.camera.middle;
    let held = null;
    for (const was of before.nodes) {
      const node = now.get(tailOf(was.key));
      const far = was.key === toggled ? -1 : Math.hypot(was.x + was.w / 2 - x, was.y + was.h / 2 - y);
      if (node && !(held?.far <= far)) held = { far, was, node };
    }
    if (held) this.camera.hold(held.was, held.node);
  }

  /** Signs of findings at their boxes, or at the folded groups that contain them. */
  flag() {
    for (const old of this.drawing.layer.querySelectorAll(".byl-flag")) old.remove();
    for (const finding of this.findings) {
      const shown = this.elementOf(finding.node);
      if (!shown || shown.element.querySelector(".byl-flag")) continue;
      shown.element.append(draw("text", { class: `byl-flag byl-${finding.severity}`, x: shown.node.w, y: 8 }, ICON[finding.severity] ?? "●"));
    }
  }

  /** The smallest drawn node that represents a node id. */
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
    if (this.left) this.legend.append(make("span", { class: "byl-left", role: "status" }, `${counted(this.left, "group")} not opened: the graph would be too large. Each opens by its +.`));
    const compilers = new Map(this.scene.groups.filter((g) => g.compiler).map((g) => [g.compiler, g.colour]));
    for (const [name, colour] of compilers) this.legend.append(make("span", {}, make("i", { class: `byl-key byl-key-back-end byl-c${colour}` }), name));
    for (const [selector, kind, words] of LEGEND) {
      if (this.drawing.layer.querySelector(`${selector}:not(.byl-gone, .byl-gone *)`)) this.legend.append(make("span", {}, make("i", { class: `byl-key byl-key-${kind}` }), words || this.words[kind]));
    }
  }

  // ---- groups ---------------------------------------------------------------------------------

  toggle(key) {
    const n = this.scene?.groups.findIndex((g) => g.id === key) ?? -1;
    if (n < 0) return;
    this.decided.set(key, !this.opened().includes(key));
    this.left = 0;
    this.lay(key);
  }

  foldAll() {
    for (const group of this.scene?.groups ?? []) this.decided.set(group.id, false);
    this.left = 0;
    this.camera.chosen = false;
    this.lay();
  }

  /** Open levels of groups, the outermost first, while the graph fits into a few windows in readable text;
   * show the graph at that text size. */
  async openAll() {
    const { scene } = this;
    if (!scene) return;
    this.pane.dataset.busy = "true";
    let opened = [];
    for (const level of levelsOf(scene)) {
      const more = [...opened, ...level];
      const { width, height } = await this.layouts.place(scene, more, this.room(), null);
      if (this.camera.fitting(width, height) < READABLE / WINDOWS) break;
      opened = more;
    }
    if (scene !== this.scene || this.signal.aborted) return;
    for (const { id } of scene.groups) this.decided.set(id, opened.includes(id));
    this.left = scene.groups.length - opened.length;
    this.camera.chosen = false;
    await this.lay();
    if (this.camera.scale < READABLE) this.camera.zoom(READABLE / this.camera.scale, undefined, 0);
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
    if (reveal && !this.camera.shows(shown.node)) this.camera.centreOn(x + w / 2, y + h / 2);
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

  /** Let Tab reach one node, from which arrow keys lead to the others: the given node, or the node that
   * Tab reached before, or else the first. */
  reach(key = this.reached) {
    const { nodes } = this.drawing;
    this.reached = nodes.has(key) ? key : nodes.keys().next().value;
    for (const [other, { element }] of nodes) element.setAttribute("tabindex", other === this.reached ? "0" : "-1");
    return nodes.get(this.reached)?.element;
  }

  settle() {
    if (this.scene && this.canvas.clientWidth) this.lay();
  }

  click(event) {
    if (this.camera.dragged) {
      this.camera.dragged = false; // the click that ends a drag chooses nothing
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
