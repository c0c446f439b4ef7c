// Placing the layers of a layout: order in a layer, columns of layers, positions in a column.
import { SIZES } from "./layout_sizes.js";

/** A key of a node that does not depend on the groups folded around it: the name of its last box.
 * @param {string} key */
export function tailOf(key) {
  return key.slice(key.lastIndexOf(":") + 1);
}

/** Order the items in each layer by the means of their neighbours, so that few edges cross, in sweeps
 * down and up. Items with equal means keep the order `was`. */
export function order(layers, was) {
  const at = new Map();
  const number = (layer) => layer.forEach((item, n) => at.set(item, n));
  for (const layer of layers) {
    let x = -Infinity;
    const wish = new Map(layer.map((item) => [item, (x = (item.unit ? was.get(tailOf(item.unit.key)) : undefined) ?? x)]));
    layer.sort((a, b) => (wish.get(a) < wish.get(b) ? -1 : wish.get(a) > wish.get(b) ? 1 : 0));
    number(layer);
  }
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

/** Width and height of columns of layers. */
export function widthOf(columns) {
  const wide = (layer) => layer.reduce((s, i) => s + i.w + SIZES.gapX, 0);
  const tall = (layer) => Math.max(...layer.map((i) => i.h)) + SIZES.gapY;
  return {
    w: columns.reduce((s, column) => s + Math.max(...column.map(wide)) + SIZES.column, -SIZES.column),
    h: Math.max(...columns.map((column) => column.reduce((s, layer) => s + tall(layer), 0))),
  };
}

/** Break the layers into the fewest columns that fit `room` at the scale SIZES.enough; if none fits,
 * into the number of columns with the largest scale. The columns `before` are kept, unless the scale
 * would be much smaller, or fewer columns clearly suffice. */
export function split(layers, room, before) {
  const scaleOf = (columns) => {
    const { w, h } = widthOf(columns);
    return Math.min(1, room.w / w, room.h / h);
  };
  const tall = layers.map((l) => Math.max(...l.map((i) => i.h)) + SIZES.gapY);
  const total = tall.reduce((s, h) => s + h, 0);
  let best = null;
  for (let count = 1; count <= 24 && count <= layers.length; count++) {
    const columns = [[]];
    let filled = 0;
    layers.forEach((layer, n) => {
      const full = filled + tall[n] / 2 > total / count;
      if (full && columns[columns.length - 1].length && columns.length < count) {
        columns.push([]);
        filled = 0;
      }
      columns[columns.length - 1].push(layer);
      filled += tall[n];
    });
    const scale = scaleOf(columns);
    if (!best || scale > best.scale * 1.001) best = { scale, columns };
    if (scale >= SIZES.enough) break;
  }
  if (!best || !before) return best ? best.columns : [];
  const kept = [[]];
  let column = -1; // number of the column in `before`
  for (const layer of layers) {
    const numbers = layer.map((i) => (i.unit ? before[tailOf(i.unit.key)] : undefined)).filter((n) => n !== undefined);
    const wanted = numbers.length ? Math.min(...numbers) : column;
    if (wanted > column && column >= 0 && kept[kept.length - 1].length) kept.push([]);
    column = Math.max(column, wanted);
    kept[kept.length - 1].push(layer);
  }
  if (best.columns.length < kept.length && best.scale > (1 + SIZES.enough) / 2) return best.columns;
  const least = best.scale >= SIZES.enough ? SIZES.enough : best.scale * 0.85;
  return scaleOf(kept) >= least ? kept : best.columns;
}

/** Horizontal positions in a column: each item near the mean of its neighbours, wires straight. */
export function align(column) {
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

/** The positions nearest to the wanted ones at which items do not overlap (isotonic regression). */
export function settle(layer, wishes) {
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
