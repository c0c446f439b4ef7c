// The graph panel: the SVG that Python drew, with pan and zoom.
import { make } from "./relay_text.js";

const SVG = "http://www.w3.org/2000/svg";
const ALLOWED = new Set("svg g defs pattern marker path rect circle text title style".split(" "));
const MOST = 4; // largest scale
const LEGEND = [
  [".byl-frame.byl-region", "region", "annotated region"],
  [".byl-frame.byl-external", "external", "external function"],
  [".byl-frame.byl-composite", "composite", "composite"],
  [".byl-fresh", "fresh", "new in this stage"],
  [".byl-crossing", "crossing", "crosses a border unannotated"],
];

/** Parse an SVG drawing, without anything that is not a plain drawing; null if it is not SVG. */
export function parseDrawing(text) {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (root.namespaceURI !== SVG || root.localName !== "svg") return null;
  for (const element of [...root.querySelectorAll("*")]) {
    if (element.namespaceURI !== SVG || !ALLOWED.has(element.localName)) element.remove();
    else for (const { name } of [...element.attributes]) if (/^on|href/i.test(name)) element.removeAttribute(name);
  }
  ownNames(root);
  return document.importNode(root, true);
}

/** Rename the definitions of a drawing, so that arrow heads do not depend on another drawing. */
function ownNames(root) {
  const own = `byl${Math.random().toString(36).slice(2, 8)}`;
  for (const defined of root.querySelectorAll("defs > [id]")) {
    const name = defined.id.replace(/^byl-/, "");
    for (const user of root.querySelectorAll(`[fill="url(#${defined.id})"]`)) user.setAttribute("fill", `url(#${own}-${name})`);
    if (defined.localName === "marker") root.style.setProperty(`--byl-${name}`, `url(#${own}-${name})`);
    defined.id = `${own}-${name}`;
  }
}

/** A pannable drawing in `pane`. `choose(id)` is called with a node that was clicked. */
export class GraphView {
  constructor(pane, choose, signal) {
    this.pane = pane;
    this.choose = choose;
    this.scale = 1;
    this.x = this.y = 0;
    this.width = this.height = 0; // of the drawing
    this.canvas = make("div", { class: "byl-canvas" });
    const button = (label, title, act) => {
      const b = make("button", { type: "button", title, "aria-label": title }, label);
      b.addEventListener("click", act, { signal });
      return b;
    };
    this.sides = make("span", { class: "byl-segments", role: "group", "aria-label": "Which graph" });
    this.tools = make("div", { class: "byl-graph-tools" }, this.sides,
      button("−", "Zoom out", () => this.zoom(1 / 1.3)), button("+", "Zoom in", () => this.zoom(1.3)),
      button("Fit", "Fit the whole graph", () => this.fit()));
    this.legend = make("div", { class: "byl-legend" });
    pane.append(this.tools, this.canvas, this.legend);
    this.canvas.addEventListener("wheel", (e) => this.wheel(e), { signal, passive: false });
    this.canvas.addEventListener("pointerdown", (e) => this.press(e), { signal });
    this.canvas.addEventListener("pointermove", (e) => this.drag(e), { signal });
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => (this.held = null), { signal });
    this.canvas.addEventListener("click", (e) => this.click(e), { signal });
    this.sized = new ResizeObserver(() => this.settle());
    this.sized.observe(this.canvas);
    signal.addEventListener("abort", () => this.sized.disconnect());
  }

  /** Show the drawing of a module; `fresh`: the ids of new nodes, `findings`: its findings. */
  show(module, fresh, findings) {
    const drawing = module?.graph ? parseDrawing(module.graph) : null;
    this.canvas.replaceChildren();
    this.legend.replaceChildren();
    this.drawing = drawing;
    this.boxes = new Map();
    if (!drawing) {
      this.canvas.append(make("p", { class: "byl-empty" }, module?.graph_note || "No graph for this stage."));
      return;
    }
    const [, , w, h] = drawing.getAttribute("viewBox").split(" ").map(Number);
    const sameSize = this.width === w && this.height === h;
    [this.width, this.height] = [w, h];
    drawing.removeAttribute("viewBox");
    drawing.removeAttribute("width");
    drawing.removeAttribute("height");
    this.layer = drawing.querySelector(".byl-zoom");
    const texts = new Map(module.lines.map(([text, id]) => [id, text]));
    for (const box of drawing.querySelectorAll("[data-ids]")) {
      const ids = box.getAttribute("data-ids").split(" ");
      for (const id of ids) if (!this.boxes.has(id) || box.matches(".byl-box")) this.boxes.set(id, box);
      const line = texts.get(ids[0]);
      if (line && box.matches(".byl-box")) box.querySelector("title").textContent += `\n${line.trim()}`;
      if (fresh.has(ids[0]) && box.matches(".byl-box")) box.classList.add("byl-fresh");
    }
    for (const finding of findings) {
      const box = this.boxes.get(finding.node);
      if (box && !box.querySelector(".byl-flag")) box.append(flag(box, finding));
    }
    this.canvas.append(drawing);
    this.explain();
    if (!sameSize) this.placed = false;
    this.settle();
  }

  /** Say what the borders in this drawing mean. */
  explain() {
    for (const [selector, kind, words] of LEGEND) {
      if (!this.drawing.querySelector(selector)) continue;
      this.legend.append(make("span", {}, make("i", { class: `byl-key byl-key-${kind}` }), words));
    }
  }

  /** Highlight the box of node `id`; with `reveal`, make it visible. */
  mark(id, reveal) {
    for (const old of this.canvas.querySelectorAll(".byl-chosen")) old.classList.remove("byl-chosen");
    const box = id && this.boxes?.get(id);
    if (!box) return;
    box.classList.add("byl-chosen");
    if (!reveal || !this.canvas.clientWidth) return;
    const at = centre(box);
    const [x, y] = [at.x * this.scale + this.x, at.y * this.scale + this.y];
    const margin = 30;
    if (x < margin || y < margin || x > this.canvas.clientWidth - margin || y > this.canvas.clientHeight - margin) {
      this.x = this.canvas.clientWidth / 2 - at.x * this.scale;
      this.y = this.canvas.clientHeight / 2 - at.y * this.scale;
      this.apply();
    }
  }

  /** Place a new drawing once the panel has a size: as wide as the panel, never larger than life; begin where it begins. */
  settle() {
    if (!this.drawing || !this.canvas.clientWidth) return;
    if (!this.placed) {
      this.placed = true;
      this.scale = Math.max(this.least(), Math.min(1, this.canvas.clientWidth / this.width, 1));
      if (this.scale < 0.45) this.scale = 0.45; // legible before complete
      const top = [...this.drawing.querySelectorAll(".byl-box")].map(centre).sort((a, b) => a.y - b.y)[0];
      this.x = this.canvas.clientWidth / 2 - (top?.x ?? this.width / 2) * this.scale;
      this.y = 0;
    }
    this.apply();
  }

  least() {
    return Math.min(1, this.canvas.clientWidth / this.width, this.canvas.clientHeight / this.height);
  }

  fit() {
    this.scale = this.least();
    this.apply();
  }

  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const next = Math.max(this.least() * 0.8, Math.min(MOST, this.scale * factor));
    this.x = px - ((px - this.x) * next) / this.scale;
    this.y = py - ((py - this.y) * next) / this.scale;
    this.scale = next;
    this.apply();
  }

  apply() {
    const clamp = (offset, size, room) => (size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, offset)));
    this.x = clamp(this.x, this.width * this.scale, this.canvas.clientWidth);
    this.y = clamp(this.y, this.height * this.scale, this.canvas.clientHeight);
    this.layer.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`);
    this.canvas.dataset.scale = this.scale.toFixed(3);
  }

  /** The wheel pans, and lets the page scroll on once the end is reached; with Ctrl it zooms. */
  wheel(event) {
    if (!this.drawing) return;
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
    if (was[0] !== this.x || was[1] !== this.y) event.preventDefault();
  }

  press(event) {
    if (event.button === 0) this.held = { x: event.clientX - this.x, y: event.clientY - this.y, far: false, id: event.pointerId, at: [event.clientX, event.clientY] };
  }

  drag(event) {
    if (!this.held || !this.drawing) return;
    const [x, y] = this.held.at;
    if (!this.held.far && Math.hypot(event.clientX - x, event.clientY - y) < 4) return;
    if (!this.held.far) this.canvas.setPointerCapture(this.held.id);
    this.held.far = this.dragged = true;
    this.x = event.clientX - this.held.x;
    this.y = event.clientY - this.held.y;
    this.apply();
  }

  click(event) {
    if (this.dragged) {
      this.dragged = false; // the click that ends a drag chooses nothing
      return;
    }
    const box = event.target.closest("[data-ids]");
    this.choose(box ? box.dataset.ids.split(" ")[0] : "");
  }
}

function centre(box) {
  const rect = box.querySelector("rect");
  const n = (name) => Number(rect.getAttribute(name));
  return { x: n("x") + n("width") / 2 + 6, y: n("y") + n("height") / 2 + 6 };
}

/** A small sign at the corner of a box that a finding points at. */
function flag(box, finding) {
  const rect = box.querySelector("rect");
  const sign = document.createElementNS(SVG, "text");
  sign.setAttribute("class", `byl-flag byl-${finding.severity}`);
  sign.setAttribute("x", String(Number(rect.getAttribute("x")) + Number(rect.getAttribute("width"))));
  sign.setAttribute("y", String(Number(rect.getAttribute("y")) + 4));
  sign.textContent = { error: "✖", warning: "▲", info: "●" }[finding.severity] ?? "●";
  return sign;
}
