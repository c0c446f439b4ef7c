// Layout of a scene (byoc_lab/lab/view/scene.py): layers from top to bottom, wrapped into columns.
// Pure functions: they run in a Web Worker (see layout_worker.js) and under node.
import { inOrder } from "./topology.js";

/**
 * @typedef {{ id: string, kind: string, lines: string[], group: number, ids: string[], weights: number }} SceneBox
 * @typedef {{ id: string, kind: string, lines: string[], label: string, compiler: string | null, colour: number | null, group: number, node: string | null }} SceneGroup
 * @typedef {[number, number, boolean, string | null, string | null]} SceneArrow
 * @typedef {{ boxes: SceneBox[], groups: SceneGroup[], arrows: SceneArrow[] }} Scene
 * @typedef {{ key: string, box: number, group: number, open: boolean, x: number, y: number, w: number, h: number }} PlacedNode
 * @typedef {{ kind: "begin" | "end", id: string, x: number, y: number, last: boolean }} PlacedMark
 * @typedef {{ from: string, to: string, points: number[][], crossing: boolean, marks: PlacedMark[], count: number }} PlacedEdge
 * @typedef {{ width: number, height: number, nodes: PlacedNode[], edges: PlacedEdge[] }} Placed
 */

export const SIZES = { char: 9.65, line: 21, pad: 12, gapX: 26, gapY: 40, opener: 26, head: 30, column: 56, wire: 10, longest: 24 };

/** Lay out what is visible when the groups in `open` are open, to fit a window of `room`.
 * @param {Scene} scene @param {string[]} open @param {{ w: number, h: number }} room @returns {Placed} */
export function layOut(scene, open, room) {
  const opened = new Set(open);
  const units = visibleUnits(scene, opened);
  const edges = visibleEdges(scene, units);
  const boxes = containers(units, edges);
  for (const box of boxes) placeContainer(box, box.unit ? { w: Infinity, h: room.h * 1.4 } : room);
  return absolute(boxes[boxes.length - 1], edges);
}

/** The boxes and groups that can be seen, with the group each is drawn in, in evaluation order. */
function visibleUnits(scene, opened) {
  const made = new Map(); // of groups, by position
  const units = [];
  const unitOf = new Array(scene.boxes.length);
  const hidden = []; // for each group, the closed group that it is hidden in, or -1
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
    unit.light = ["input", "constant", "weights"].includes(kind); // drawn next to its user
    unit.depth = unit.home ? unit.home.depth + 1 : 0;
  }
  return { units, unitOf };
}

/** The arrows between visible units; several between the same two are one. */
function visibleEdges(scene, { unitOf }) {
  const found = new Map();
  for (const [from, to, crossing, begin, end] of scene.arrows) {
    const [a, b] = [unitOf[from], unitOf[to]];
    if (a === b) continue;
    const key = `${a.key}\n${b.key}`;
    const known = found.get(key);
    if (known) {
      known.count += 1;
      known.crossing ||= crossing;
      known.begin ??= begin;
      known.end ??= end;
    } else found.set(key, { a, b, crossing, begin, end, count: 1, route: [] });
  }
  return [...found.values()];
}

/** One container for each open group and one for the whole, inner ones first. Where an edge passes
 * the border of a container it is an edge to a port there. */
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
function placeContainer(container, room) {
  for (const item of container.items) if (item.inner) [item.w, item.h] = [item.unit.w, item.unit.h];
  const layers = layered(container);
  order(layers);
  const columns = split(layers, room);
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

/** Order the items in each layer so that few edges cross: means of neighbours, down and up. */
function order(layers) {
  const at = new Map();
  const number = (layer) => layer.forEach((item, n) => at.set(item, n));
  layers.forEach(number);
  for (let sweep = 0; sweep < 4; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      if (layer.length < 2) continue;
      const wish = new Map(layer.map((item) => {
        const near = (down ? item.above : item.below) ?? [];
        return [item, near.length ? near.reduce((s, i) => s + at.get(i), 0) / near.length : at.get(item)];
      }));
      layer.sort((a, b) => wish.get(a) - wish.get(b) || at.get(a) - at.get(b));
      number(layer);
    }
  }
}

/** Break the layers into the number of columns that shows them largest in `room`. */
function split(layers, room) {
  const tall = layers.map((l) => Math.max(...l.map((i) => i.h)) + SIZES.gapY);
  const wide = layers.map((l) => l.reduce((s, i) => s + i.w + SIZES.gapX, 0));
  const total = tall.reduce((s, h) => s + h, 0);
  let best = null;
  for (let count = 1; count <= 24 && count <= layers.length; count++) {
    const columns = [[]];
    const widths = [0];
    let filled = 0;
    let height = 0;
    layers.forEach((layer, n) => {
      const full = filled + tall[n] / 2 > total / count;
      if (full && columns[columns.length - 1].length && columns.length < count) {
        columns.push([]);
        widths.push(0);
        filled = 0;
      }
      columns[columns.length - 1].push(layer);
      widths[widths.length - 1] = Math.max(widths[widths.length - 1], wide[n]);
      height = Math.max(height, (filled += tall[n]));
    });
    const width = widths.reduce((s, w) => s + w + SIZES.column, -SIZES.column);
    const scale = Math.min(1, room.w / width, room.h / height);
    if (!best || scale > best.scale * 1.001) best = { scale, columns };
    if (scale === 1) break;
  }
  return best ? best.columns : [];
}

/** Horizontal positions in a column: each item near the mean of its neighbours, wires straight. */
function align(column) {
  for (const layer of column) {
    let x = 0;
    for (const item of layer) {
      item.x = x;
      x += item.w + SIZES.gapX;
    }
    const middle = (x - SIZES.gapX) / 2;
    for (const item of layer) item.x -= middle;
  }
  const here = new Set(column.flat());
  for (let sweep = 0; sweep < 6; sweep++) {
    const down = sweep % 2 === 0;
    for (const layer of down ? column : [...column].reverse()) {
      const wishes = layer.map((item) => {
        const near = [...((sweep === 5 ? null : down ? item.above : item.below) ?? [...(item.above ?? []), ...(item.below ?? [])])].filter((i) => here.has(i));
        const centre = near.length ? near.reduce((s, i) => s + i.x + i.w / 2, 0) / near.length : item.x + item.w / 2;
        return { wish: centre - item.w / 2, weight: item.wire ? 4 : 1 };
      });
      settle(layer, wishes);
    }
  }
}

/** The positions nearest to the wishes that keep the items apart (isotonic regression). */
function settle(layer, wishes) {
  const shift = [];
  let room = 0;
  layer.forEach((item, n) => {
    shift[n] = room;
    room += item.w + SIZES.gapX;
  });
  const blocks = [];
  wishes.forEach(({ wish, weight }, n) => {
    let block = { at: wish - shift[n], weight, count: 1 };
    while (blocks.length && blocks[blocks.length - 1].at > block.at) {
      const other = blocks.pop();
      const weights = other.weight + block.weight;
      block = { at: (other.at * other.weight + block.at * block.weight) / weights, weight: weights, count: other.count + block.count };
    }
    blocks.push(block);
  });
  let n = 0;
  for (const { at, count } of blocks) for (let k = 0; k < count; k++, n++) layer[n].x = at + shift[n];
}

/** Positions in the whole picture, and the points of all edges. */
function absolute(whole, edges) {
  const nodes = [];
  whole.x = whole.y = 0;
  const todo = [whole];
  while (todo.length) {
    const container = todo.pop();
    const [left, top] = [container.x + container.dx, container.y + container.dy];
    for (const item of container.items) {
      item.x += left;
      item.y += top;
      if (item.top !== undefined) [item.top, item.bottom] = [item.top + top, item.bottom + top];
      if (!item.unit) continue;
      const { key, box, group, open } = item.unit;
      nodes.push({ key, box, group, open, x: item.x, y: item.y, w: item.w, h: item.h });
      if (item.inner) {
        [item.inner.x, item.inner.y] = [item.x, item.y];
        todo.push(item.inner);
      }
    }
    for (const layer of container.columns) for (const item of layer.flat()) if (item.wire && !item.port) {
      item.x += left;
      item.y += top;
      if (item.top !== undefined) [item.top, item.bottom] = [item.top + top, item.bottom + top];
    }
  }
  const drawn = edges.map((edge) => ({ from: edge.a.key, to: edge.b.key, ...pathOf(edge), crossing: edge.crossing, count: edge.count }));
  return { width: whole.w, height: whole.h, nodes, edges: drawn };
}

const centreOf = (item) => item.x + item.w / 2;

/** The points of an edge, from the bottom of its source to the top of its target, and its marks. */
function pathOf(edge) {
  const points = [];
  const marks = [];
  for (const { container, from, to, fromPort, toPort, wires, back } of edge.route) {
    const bottom = container.y + container.h;
    const start = from.port ? [centreOf(from), container.y] : [centreOf(fromPort ?? from), from.y + from.h];
    const stop = to.port ? [centreOf(to), bottom] : [centreOf(toPort ?? to), to.y];
    if (!points.length) points.push(start);
    let column = from.column;
    for (const item of [...wires, to]) {
      if (item.column && column && item.column !== column && !back) {
        const gutter = container.x + container.dx + item.column.left - SIZES.column / 2;
        const low = points[points.length - 1][1] + SIZES.gapY / 2;
        points.push([gutter, low, 1], [gutter, container.y + container.dy - SIZES.gapY / 3, 1]);
      }
      column = item.column;
      if (item !== to) points.push([centreOf(item), item.top], [centreOf(item), item.bottom]);
    }
    points.push(stop);
    if (to.port && edge.end) addMark(marks, "end", edge.end, stop);
    if (from.port && edge.begin) addMark(marks, "begin", edge.begin, start);
  }
  if (edge.end && !marks.some((m) => m.kind === "end")) addMark(marks, "end", edge.end, points[0]);
  if (edge.begin && !marks.some((m) => m.kind === "begin")) addMark(marks, "begin", edge.begin, points[points.length - 1]);
  const [x, y] = points[points.length - 1];
  for (const mark of marks) mark.last = mark.x === x && mark.y === y;
  return { points, marks };
}

/** @param {any[]} marks @param {string} kind @param {string} id @param {any} at */
function addMark(marks, kind, id, [x, y]) {
  if (!marks.some((m) => m.kind === kind)) marks.push({ kind, id, x, y });
}



/** This module as the text of a worker that answers {ticket, scene, open, room}. */
export function workerSource() {
  const parts = [layOut, inOrder, visibleUnits, visibleEdges, containers, link, placeContainer, layered, join, order, split, align, settle, absolute, pathOf, addMark];
  return `const SIZES = ${JSON.stringify(SIZES)};
const centreOf = ${centreOf};
${parts.map(String).join("\n")}
const scenes = new Map();
onmessage = ({ data: { ticket, key, scene, open, room } }) => {
  if (scene) scenes.set(key, scene);
  postMessage({ ticket, placed: layOut(scenes.get(key), open, room) });
};`;
}
