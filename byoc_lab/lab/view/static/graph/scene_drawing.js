// Draws a laid-out scene as SVG, and moves elements of the previous drawing to their new positions.
import { counted } from "../text/relay_text.js";
import { SIZES } from "./layout_sizes.js";

const SVG = "http://www.w3.org/2000/svg";
const FADE = 450; // ms, as in graph.css
const COLOURS = 6;
const PATTERNS = [
  ["path", { d: "M-1 9L9-1M-1 1L1-1M7 9L9 7" }],
  ["path", { d: "M0 4H8" }],
  ["path", { d: "M-1-1L9 9M7-1L9 1M-1 7L1 9" }],
  ["path", { d: "M4 0V8" }],
  ["path", { d: "M0 4H8M4 0V8" }],
  ["path", { d: "M2 1V3M6 5V7" }],
];

/** An SVG element; `null` attributes are left out. */
export function draw(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, String(value));
  element.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

export class SceneDrawing {
  constructor() {
    this.own = `byl${Math.random().toString(36).slice(2, 8)}`;
    this.nodes = new Map(); // key: {element, node}
    this.frames = draw("g");
    this.edges = draw("g", { class: "byl-edges" });
    this.boxes = draw("g");
    this.layer = draw("g", { class: "byl-zoom" }, this.frames, this.edges, this.boxes);
    this.root = draw("svg", { class: "byl-graph", role: "group", "aria-label": "Dataflow graph" }, this.definitions(), this.layer);
  }

  definitions() {
    const patterns = PATTERNS.map(([name, attributes], n) =>
      draw("pattern", { id: `${this.own}-p${n}`, class: `byl-c${n}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, draw(name, attributes)));
    const head = (kind) => draw("marker", { id: `${this.own}-${kind}`, class: `byl-${kind}`, viewBox: "0 0 8 8", refX: 7.4, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 11, markerHeight: 11, orient: "auto" },
      draw("path", { d: "M0 0L8 4L0 8z" }));
    return draw("defs", {}, ...patterns, head("head"), head("head-bad"));
  }

  /** Draw `placed`. `wasAt(node)`: the position from which a new node starts to move, or null; `still`:
   * without movement. */
  show(scene, placed, { fresh, still }) {
    const before = this.nodes;
    const places = still ? new Map() : this.placesOfIds();
    this.nodes = new Map();
    for (const node of placed.nodes) {
      const known = before.get(node.key);
      const sign = JSON.stringify([node.open, node.w, node.h, contentOf(scene, node)]);
      const kept = known?.sign === sign && !still;
      const element = kept ? known.element : this.create(scene, node);
      const from = kept ? null : known ? known.node : places.get(firstIdOf(scene, node));
      element.classList.toggle("byl-fresh", fresh.has(node.key));
      this.nodes.set(node.key, { element, node, sign });
      if (kept) before.delete(node.key);
      else (node.open ? this.frames : this.boxes).append(element);
      if (from) {
        element.style.transform = `translate(${from.x}px, ${from.y}px)`;
        element.getBoundingClientRect(); // the movement begins at this position
      } else if (!kept && !still) element.classList.add("byl-appear");
      element.style.transform = `translate(${node.x}px, ${node.y}px)`;
    }
    for (const [key, { element }] of before) this.leave(element, still || this.nodes.has(key));
    this.scene = scene;
    this.drawEdges(placed, still);
  }

  /** The position at which each node id was drawn before. */
  placesOfIds() {
    const places = new Map();
    for (const { node } of this.nodes.values()) {
      if (!node.open) for (const id of idsOf(this.scene, node)) places.set(id, node);
    }
    return places;
  }

  leave(element, atOnce) {
    if (atOnce) return element.remove();
    element.classList.add("byl-gone");
    element.removeAttribute("data-ids");
    element.setAttribute("aria-hidden", "true");
    setTimeout(() => element.remove(), FADE);
  }

  create(scene, node) {
    const content = contentOf(scene, node);
    const { kind, colour } = content;
    const tint = tintOf(content);
    const shape = node.open ? "byl-frame" : node.group >= 0 ? "byl-box byl-folded" : "byl-box";
    const ids = idsOf(scene, node);
    const element = draw("g", { class: `${shape} byl-${kind}${tint}`, "data-key": node.key, "data-ids": ids.join(" "), tabindex: -1, role: "button", "aria-label": labelOf(content) });
    const round = ["input", "output"].includes(kind) ? node.h / 2 : 6;
    const rect = (cls, extra = {}) => draw("rect", { class: cls, width: node.w, height: node.h, rx: round, ...extra });
    const stacked = ["repeat", "copy", "section"].includes(kind) && !node.open;
    element.append(draw("title", {}, content.tip));
    if (stacked) element.append(rect("byl-sheet", { x: 5, y: 5 }));
    element.append(rect("byl-border"));
    if (colour !== null && content.partly) element.append(rect("byl-strip", { height: 6, y: node.h - 6, rx: 3 }), rect("byl-tint", { height: 6, y: node.h - 6, rx: 3, style: `fill: url(#${this.own}-p${colour % COLOURS})` }));
    else if (colour !== null) element.append(rect("byl-tint", { style: `fill: url(#${this.own}-p${colour % COLOURS})` }));
    if (!node.open) content.lines.forEach((line, n) => element.append(draw("text", { class: n ? "byl-detail" : "byl-first", x: (node.w - (node.group >= 0 ? SIZES.opener : 0)) / 2, y: SIZES.pad / 2 + SIZES.line * n + 16 }, `${line} `)));
    if (node.group >= 0) {
      const verb = node.open ? "Close" : "Open";
      element.append(draw("g", { class: "byl-opener", "data-group": node.key },
        draw("title", {}, `${verb} (o)`),
        draw("rect", { x: node.open ? 6 : node.w - 22, y: 5, width: 18, height: 18, rx: 4 }),
        draw("path", { d: `M${node.open ? 10 : node.w - 18} 14h10${node.open ? "" : "m-5 -5v10"}` })));
    }
    return element;
  }

  drawEdges(placed, still) {
    const marks = [];
    const paths = placed.edges.map((edge) => {
      const path = draw("path", { class: `byl-arrow${edge.crossing ? " byl-crossing" : ""}`, d: curve(edge.points), "data-from": edge.from, "data-to": edge.to });
      if (!edge.marks.some((m) => m.kind === "begin" && m.last)) path.style.markerEnd = `url(#${this.own}-${edge.crossing ? "head-bad" : "head"})`;
      if (edge.crossing) path.append(draw("title", {}, "crosses a region border without an annotation"));
      for (const { kind, id, x, y } of edge.marks) {
        marks.push(draw("g", { class: `byl-note byl-${kind}`, "data-ids": id, transform: `translate(${x} ${y})` },
          draw("title", {}, `compiler_${kind}`), draw("path", { d: kind === "begin" ? "M-8-9H8L0 1z" : "M-7-1H7V6H-7z" })));
      }
      return path;
    });
    const labels = placed.nodes.filter((node) => node.open).map((node) => {
      const content = contentOf(this.scene, node);
      return draw("text", { class: `byl-label${tintOf(content)}`, x: node.x + 34, y: node.y + 20, "aria-hidden": "true" }, content.lines[0]);
    });
    this.edges.replaceChildren(...paths, ...marks, ...labels); // no edge crosses a label
    this.edges.classList.remove("byl-appear");
    if (!still) {
      this.edges.getBoundingClientRect();
      this.edges.classList.add("byl-appear");
    }
  }
}

const tintOf = ({ colour, partly }) => (colour === null ? "" : ` byl-c${colour % COLOURS}${partly ? " byl-partly" : ""}`);

/** The ids of all nodes that a drawn node represents, its own id first. */
export function idsOf(scene, node) {
  if (node.box >= 0) return scene.boxes[node.box].ids;
  scene.idsOfGroups ??= groupIds(scene);
  return scene.idsOfGroups[node.group];
}

function groupIds(scene) {
  const ids = scene.groups.map((g) => (g.node ? [g.node] : []));
  for (const box of scene.boxes) for (let g = box.group; g >= 0; g = scene.groups[g].group) ids[g].push(...box.ids);
  return ids;
}

const firstIdOf = (scene, node) => idsOf(scene, node).at(node.box >= 0 ? 0 : -1);

/** The text of a node for screen readers: its text, the texts beside it, and its state. */
export function labelOf(content, beside = []) {
  return [...content.lines, ...beside].join(" ") + content.words;
}

/** The text of a drawn node. */
export function contentOf(scene, node) {
  if (node.box >= 0) {
    const { kind, lines, weights, group } = scene.boxes[node.box];
    const folded = weights ? `, ${counted(weights, "weight")} not drawn` : "";
    const inside = group >= 0 ? scene.groups[group] : null;
    return { kind, lines, colour: inside && !inside.partly ? inside.colour : null, partly: false, tip: lines.join(", ") + folded, words: "" };
  }
  const { kind, lines, label, colour, compiler, partly } = scene.groups[node.group];
  const words = compiler ? `, ${partly ? "partly " : ""}for ${compiler}` : "";
  return { kind, lines: node.open ? [label] : lines, colour, partly, tip: lines.join(" ") + words, words: `${words}, ${node.open ? "open" : "closed"}` };
}

/** A smooth path through points, vertical at each of them; straight after a corner. */
function curve(points) {
  const [[x0, y0], ...rest] = points;
  let [px, py] = [x0, y0];
  let path = `M${round(px)} ${round(py)}`;
  for (const [x, y, corner] of rest) {
    if (Math.abs(x - px) < 0.5 && y >= py) path += `L${round(x)} ${round(y)}`;
    else if (corner && y < py) path += `L${round(x)} ${round(y)}`;
    else {
      const bend = Math.max(12, Math.min(60, Math.abs(y - py) / 2));
      path += corner ? `C${round(px)} ${round(py + bend)} ${round(x)} ${round(y + bend)} ${round(x)} ${round(y - 2)}` : y < py + 4 ? `C${round(px)} ${round(py - 16)} ${round(x)} ${round(y - 34)} ${round(x)} ${round(y)}` : `C${round(px)} ${round(py + bend)} ${round(x)} ${round(y - bend)} ${round(x)} ${round(y)}`;
    }
    [px, py] = [x, y];
  }
  return path;
}

const round = (value) => Math.round(value * 10) / 10;
