// The last step of a layout: positions in the whole picture, and the paths of the edges.
import { tailOf } from "./layout_placing.js";
import { SIZES } from "./layout_sizes.js";

/** Positions in the whole picture, and the points of all edges. */
export function absolute(whole, edges) {
  const nodes = [];
  /** @type {import("./layout.js").Columns} */
  const columns = {};
  whole.x = whole.y = 0;
  const todo = [whole];
  while (todo.length) {
    const container = todo.pop();
    const [left, top] = [container.x + container.dx, container.y + container.dy];
    const numbers = (columns[tailOf(container.unit?.key ?? "")] = {});
    container.columns.forEach((column, n) => {
      for (const { unit } of column.flat()) if (unit) numbers[tailOf(unit.key)] = n;
    });
    for (const item of new Set([...container.items, ...container.columns.flat(2)])) {
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
  }
  const drawn = edges.map((edge) => ({ from: edge.a.key, to: edge.b.key, ...pathOf(edge), crossing: edge.crossing }));
  return { width: whole.w, height: whole.h, nodes, edges: drawn, columns };
}

export const centreOf = (item) => item.x + item.w / 2;

/** The points of an edge, from the bottom of its source to the top of its target, and its marks. */
export function pathOf(edge) {
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
export function addMark(marks, kind, id, [x, y]) {
  if (!marks.some((m) => m.kind === kind)) marks.push({ kind, id, x, y });
}
