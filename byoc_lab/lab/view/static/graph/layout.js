// Layout of a scene (byoc_lab/lab/view/drawing/scene.py): layers from top to bottom, wrapped into columns.
// Pure functions: they run in a Web Worker (see layout_worker.js) and under node.
//
// A layered drawing (Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system
// structures", 1981) of each open group, inner groups first. In the layout of the enclosing group, a group is
// one box, with a port for each edge that crosses its border. Steps in a group: the layer of an item is the
// length of its longest path from a source (`layered`); an edge over several layers gets a wire in each of
// them (up to SIZES.longest), which is placed like an item; items are ordered by the means of their
// neighbours, so that few edges cross (`order`); the layers are divided into the columns that allow the
// largest text (`split`); items move to the means of their neighbours as far as their order allows (`align`).
// Items keep their positions from the last layout if that costs little room, so that the reader can follow a
// rewrite.
//
// Cost: the number of edges times the layers that each one crosses, at most SIZES.longest.
import { absolute, addMark, centreOf, pathOf } from "./layout_paths.js";
import { align, order, settle, split, tailOf, widthOf } from "./layout_placing.js";
import { SIZES } from "./layout_sizes.js";
import { inOrder } from "./topology.js";

/**
 * @typedef {{ key: string, box: number, group: number, open: boolean, x: number, y: number, w: number, h: number }} PlacedNode
 * @typedef {{ kind: "begin" | "end", id: string, x: number, y: number, last: boolean }} PlacedMark
 * @typedef {{ from: string, to: string, points: number[][], crossing: boolean, marks: PlacedMark[] }} PlacedEdge
 * @typedef {Record<string, Record<string, number>>} Columns for each open group (key "": the whole graph): the column of each member
 * @typedef {{ width: number, height: number, nodes: PlacedNode[], edges: PlacedEdge[], columns: Columns }} Placed
 */

/** Lay out what is visible when the groups in `open` are open, to fit a window of `room`. Nodes of the
 * last layout keep their columns and their order, unless the drawing would become much smaller.
 * @param {Sent.Scene} scene @param {string[]} open @param {{ w: number, h: number }} room
 * @param {Pick<Placed, "nodes" | "columns"> | null} last @returns {Placed} */
export function layOut(scene, open, room, last = null) {
  const opened = new Set(open);
  const units = visibleUnits(scene, opened);
  const edges = visibleEdges(scene, units);
  const boxes = containers(units, edges);
  const was = new Map((last?.nodes ?? []).map((n) => [tailOf(n.key), n.x + n.w / 2]));
  for (const box of boxes) placeContainer(box, box.unit ? { w: Infinity, h: room.h * 1.4 } : room, was, last?.columns[tailOf(box.unit?.key ?? "")]);
  return absolute(boxes[boxes.length - 1], edges);
}

/** The visible boxes and groups in evaluation order, each with the group in which it is drawn. */
function visibleUnits(scene, opened) {
  const made = new Map(); // group index -> its unit
  const units = [];
  const unitOf = new Array(scene.boxes.length);
  const hidden = []; // for each group: the closed group that hides it, or -1
  scene.groups.forEach((group, n) => {
    const outside = group.group < 0 ? -1 : hidden[group.group];
    hidden[n] = outside >= 0 ? outside : opened.has(group.id) ? -1 : n;
  });
  const add = (unit) => (units.push(unit), unit);
  const groupUnit = (n) => {
    const chain = [];
    for (let g = n; g >= 0 && !made.has(g); g = scene.groups[g].group) chain.push(g);
    for (const g of chain.reverse()) {
      const group = scene.groups[g];
      made.set(g, add({ key: group.id, box: -1, group: g, open: opened.has(group.id), home: made.get(group.group) ?? null, lines: group.lines, label: group.label }));
    }
    return made.get(n);
  };
  scene.boxes.forEach((box, n) => {
    const inside = box.group < 0 ? -1 : hidden[box.group];
    if (inside >= 0) unitOf[n] = groupUnit(inside);
    else unitOf[n] = add({ key: box.id, box: n, group: -1, open: false, home: box.group < 0 ? null : groupUnit(box.group), lines: box.lines, label: "" });
  });
  for (const unit of units) {
    const longest = Math.max(3, ...unit.lines.map((l) => l.length));
    unit.w = longest * SIZES.char + 2 * SIZES.pad + (unit.group >= 0 ? SIZES.opener : 0);
    unit.h = unit.lines.length * SIZES.line + SIZES.pad;
    const { kind } = unit.box >= 0 ? scene.boxes[unit.box] : scene.groups[unit.group];
    unit.light = ["input", "inputs", "constant", "weights"].includes(kind); // drawn next to its user
    unit.depth = unit.home ? unit.home.depth + 1 : 0;
  }
  return { units, unitOf };
}

/** The arrows between visible units, at most one for each pair of units. */
function visibleEdges(scene, { unitOf }) {
  const found = new Map();
  for (const [from, to, crossing, begin, end] of scene.arrows) {
    const [a, b] = [unitOf[from], unitOf[to]];
    if (a === b) continue;
    const key = `${a.key}\n${b.key}`;
    const known = found.get(key);
    if (known) {
      known.crossing ||= crossing;
      known.begin ??= begin;
      known.end ??= end;
    } else found.set(key, { a, b, crossing, begin, end, route: [] });
  }
  return [...found.values()];
}

/** One container for each open group and one for the whole picture, inner ones first. An edge that
 * crosses the border of a container becomes an edge to a port on the border. */
function containers({ units }, edges) {
  const whole = { unit: null, items: [], links: [], ports: new Map() };
  const made = new Map([[null, whole]]);
  for (const unit of units) if (unit.open) made.set(unit, { unit, items: [], links: [], ports: new Map() });
  for (const unit of units) {
    const item = { unit, w: unit.w, h: unit.h, port: "", inner: made.get(unit) ?? null, rank: 0, x: 0, y: 0, wire: false };
    unit.item = item;
    made.get(unit.home).items.push(item);
  }
  const port = (container, side, end) => {
    const key = `${side} ${end.key}`;
    if (!container.ports.has(key)) {
      const item = { unit: null, w: SIZES.wire, h: 0, port: side, inner: null, rank: 0, x: 0, y: 0, wire: true };
      container.ports.set(key, item);
      container.items.push(item);
    }
    return container.ports.get(key);
  };
  for (const edge of edges) {
    let [a, b] = [edge.a, edge.b];
    let [from, to] = [a.item, b.item]; // items in the containers of a and b
    const last = [];
    let [fromPort, toPort] = [null, null]; // ports on the border of an item that is a container
    while (a.home !== b.home) {
      if ((a.depth >= b.depth && a.home) || !b.home) {
        const home = made.get(a.home);
        const out = port(home, "out", edge.a);
        link(home, from, out, fromPort, null, edge.route, edge);
        [from, fromPort, a] = [a.home.item, out, a.home];
      } else {
        const home = made.get(b.home);
        const into = port(home, "in", edge.a);
        link(home, into, to, null, toPort, last, edge);
        [to, toPort, b] = [b.home.item, into, b.home];
      }
    }
    link(made.get(a.home), from, to, fromPort, toPort, edge.route, edge);
    edge.route.push(...last.reverse());
  }
  return [...made.values()].sort((p, q) => (q.unit?.depth ?? -1) - (p.unit?.depth ?? -1));
}

function link(container, from, to, fromPort, toPort, route, edge) {
  const made = { container, from, to, fromPort, toPort, wires: [], edge };
  container.links.push(made);
  route.push(made);
}

/** Give the items of a container ranks and positions; sets the size of its unit. */
function placeContainer(container, room, was, columnsBefore) {
  for (const item of container.items) if (item.inner) [item.w, item.h] = [item.unit.w, item.unit.h];
  const layers = layered(container);
  order(layers, was);
  const columns = split(layers, room, columnsBefore);
  let x = 0;
  let height = 0;
  for (const column of /** @type {any[]} */ (columns)) {
    align(column);
    const items = column.flat();
    const left = Math.min(...items.map((i) => i.x));
    const right = Math.max(...items.map((i) => i.x + i.w));
    let y = 0;
    for (const layer of column) {
      const tall = Math.max(...layer.map((i) => i.h));
      for (const item of layer) {
        item.x += x - left;
        item.y = y + (tall - item.h) / 2;
        item.top = y;
        item.bottom = y + tall;
        item.column = column;
      }
      y += tall + (tall ? SIZES.gapY : SIZES.gapY / 2);
    }
    height = Math.max(height, y - SIZES.gapY);
    column.left = x;
    x += right - left + SIZES.column;
  }
  container.columns = columns;
  container.height = Math.max(height, 0);
  const { unit } = container;
  const turns = columns.length > 1 ? SIZES.gapY / 2 : 0; // room for edges from column to column
  container.dx = SIZES.pad;
  container.dy = (unit ? SIZES.head : SIZES.pad) + turns;
  const label = unit ? unit.label.length * SIZES.char + 40 : 0;
  container.w = Math.max(x - SIZES.column + 2 * SIZES.pad, label);
  container.h = container.height + container.dy + SIZES.pad + turns;
  if (unit) [unit.w, unit.h] = [container.w, container.h];
}

/** Ranks by longest path, sources next to their users, and wires for edges over several layers. */
function layered({ items, links }) {
  const sorted = inOrder(items, links);
  const place = new Map(sorted.map((item, n) => [item, n]));
  const before = new Map(items.map((i) => [i, []]));
  const after = new Map(items.map((i) => [i, []]));
  for (const l of links) {
    if (l.from === l.to) continue;
    const forward = l.from.port === "in" || l.to.port === "out" || (!l.from.port && !l.to.port && place.get(l.from) < place.get(l.to));
    l.back = !forward;
    const [a, b] = forward ? [l.from, l.to] : [l.to, l.from];
    after.get(a).push(b);
    before.get(b).push(a);
  }
  const inner = sorted.filter((i) => !i.port);
  for (const item of inner) item.rank = Math.max(0, ...before.get(item).map((b) => (b.port ? 1 : b.rank + 1)));
  for (const item of [...inner].reverse()) {
    const users = after.get(item).filter((a) => !a.port);
    if ((item.unit.light || !before.get(item).length) && users.length) item.rank = Math.max(item.rank, Math.min(...users.map((u) => u.rank)) - 1);
  }
  const last = Math.max(0, ...inner.map((i) => i.rank)) + 1;
  for (const item of items) if (item.port) item.rank = item.port === "in" ? 0 : last;
  const layers = [];
  const put = (item) => ((layers[item.rank] ??= []).push(item), item);
  items.forEach(put);
  for (const l of links) {
    if (l.back || l.to.rank - l.from.rank > SIZES.longest) {
      l.wires = [];
      continue;
    }
    let previous = l.from;
    for (let rank = l.from.rank + 1; rank < l.to.rank; rank++) {
      const shared = l.from.wiresTo?.[rank];
      const wire = shared ?? put({ unit: null, w: SIZES.wire, h: 0, port: "", inner: null, rank, x: 0, y: 0, wire: true });
      if (!shared) (l.from.wiresTo ??= {})[rank] = wire;
      l.wires.push(wire);
      if (!shared) join(previous, wire);
      previous = wire;
    }
    join(previous, l.to);
  }
  return layers.filter((layer) => layer?.length);
}

function join(a, b) {
  (a.below ??= []).push(b);
  (b.above ??= []).push(a);
}

/** This module as the text of a worker that answers {ticket, scene, open, room, last}. */
export function workerSource() {
  const parts = [layOut, inOrder, visibleUnits, visibleEdges, containers, link, placeContainer, layered, join, order, widthOf, split, align, settle, absolute, pathOf, addMark, tailOf];
  return `const SIZES = ${JSON.stringify(SIZES)};
const centreOf = ${centreOf};
${parts.map(String).join("\n")}
const scenes = new Map();
onmessage = ({ data: { ticket, key, scene, open, room, last } }) => {
  if (scene) scenes.set(key, scene);
  postMessage({ ticket, placed: layOut(scenes.get(key), open, room, last) });
};`;
}
