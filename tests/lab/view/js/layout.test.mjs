// Unit tests of the layout: properties that hold for every scene. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { layOut, workerSource } from "../../../../byoc_lab/lab/view/static/graph/layout.js";
import { tailOf } from "../../../../byoc_lab/lab/view/static/graph/layout_placing.js";
import { SIZES } from "../../../../byoc_lab/lab/view/static/graph/layout_sizes.js";

const ROOM = { w: 1000, h: 800 };
const box = (n, group = -1) => ({ id: `b${n}`, kind: "op", lines: [`operator ${n}`], group, ids: [`n${n}`], weights: 0 });
const group = (n, inside = -1) => ({ id: `g${n}`, kind: "region", lines: ["region"], label: "region", compiler: "dnnl", colour: 0, group: inside, node: null });
const arrow = (a, b, begin = null, end = null) => [a, b, false, begin, end];

function chain(length, groupOf = () => -1, groups = []) {
  const boxes = Array.from({ length }, (_, n) => box(n, groupOf(n)));
  return { boxes, groups, arrows: boxes.slice(1).map((_, n) => arrow(n, n + 1)) };
}

/** A random graph, determined by the seed. */
function random(seed, length, groups = 0) {
  let state = seed;
  const next = (limit) => ((state = (state * 1103515245 + 12345) % 2147483648) / 2147483648 * limit) | 0;
  const made = { boxes: [], groups: Array.from({ length: groups }, (_, n) => group(n, n && next(3) === 0 ? next(n) : -1)), arrows: [] };
  for (let n = 0; n < length; n++) {
    made.boxes.push(box(n, groups && next(2) ? next(groups) : -1));
    for (let k = 0; n && k < 1 + next(2); k++) made.arrows.push(arrow(next(n), n));
  }
  return made;
}

const overlap = (a, b) => a.x < b.x + b.w - 0.01 && b.x < a.x + a.w - 0.01 && a.y < b.y + b.h - 0.01 && b.y < a.y + a.h - 0.01;

function holds(scene, open) {
  const placed = layOut(scene, open, ROOM);
  const solid = placed.nodes.filter((n) => !n.open);
  for (const node of placed.nodes) assert.ok([node.x, node.y, node.w, node.h].every(Number.isFinite), node.key);
  solid.forEach((a, n) => solid.slice(n + 1).forEach((b) => assert.ok(!overlap(a, b), `${a.key} and ${b.key} overlap`)));
  const frames = new Map(placed.nodes.filter((n) => n.open).map((n) => [n.group, n]));
  for (const node of placed.nodes) {
    const home = node.box >= 0 ? scene.boxes[node.box].group : scene.groups[node.group].group;
    const frame = frames.get(home);
    if (frame) assert.ok(node.x >= frame.x && node.y >= frame.y && node.x + node.w <= frame.x + frame.w + 0.01 && node.y + node.h <= frame.y + frame.h + 0.01, `${node.key} is in its group`);
    assert.ok(node.x >= 0 && node.y >= 0 && node.x + node.w <= placed.width + 0.01 && node.y + node.h <= placed.height + 0.01);
  }
  for (const edge of placed.edges) {
    assert.ok(edge.points.flat().every(Number.isFinite));
    const [from, to] = [edge.from, edge.to].map((key) => placed.nodes.find((n) => n.key === key));
    const [first, last] = [edge.points[0], edge.points.at(-1)];
    assert.ok(Math.abs(first[1] - from.y - from.h) < 0.01, "an edge begins at the bottom of its source");
    assert.ok(Math.abs(last[1] - to.y) < 0.01, "an edge ends at the top of its target");
  }
  return placed;
}

test("a chain is laid out from top to bottom", () => {
  const { nodes, edges } = holds(chain(5), []);
  assert.deepEqual(nodes.map((n) => n.y), [...nodes.map((n) => n.y)].sort((a, b) => a - b));
  assert.equal(edges.length, 4);
});

test("a long chain is wrapped into columns that fit the room", () => {
  const placed = holds(chain(80), []);
  const columns = new Set(placed.nodes.map((n) => Math.round(n.x)));
  assert.ok(columns.size > 3);
  assert.ok(placed.width / placed.height > 0.6 && placed.width / placed.height < 3);
});

test("a closed group is one box, an open group contains its boxes", () => {
  const scene = chain(6, (n) => (n > 1 && n < 5 ? 0 : -1), [group(0)]);
  assert.deepEqual(holds(scene, []).nodes.map((n) => n.key), ["b0", "b1", "g0", "b5"]);
  assert.equal(holds(scene, ["g0"]).nodes.length, 7);
});

test("begin and end marks are on the border of an open region", () => {
  const scene = chain(3, (n) => (n === 1 ? 0 : -1), [group(0)]);
  scene.arrows = [arrow(0, 1, "begin", null), arrow(1, 2, null, "end")];
  const { nodes, edges } = holds(scene, ["g0"]);
  const frame = nodes.find((n) => n.key === "g0");
  const [begin, end] = edges.flatMap((e) => e.marks);
  assert.equal(begin.y, frame.y);
  assert.equal(end.y, frame.y + frame.h);
});

test("the layout of a cycle between groups terminates", () => {
  const scene = chain(3, (n) => (n === 1 ? -1 : 0), [group(0)]);
  holds(scene, []);
  holds(scene, ["g0"]);
});

test("properties hold for random graphs with no, some and all groups open", () => {
  for (let seed = 1; seed <= 60; seed++) {
    const scene = random(seed, 2 + (seed % 30), seed % 5);
    holds(scene, []);
    holds(scene, scene.groups.map((g) => g.id));
    holds(scene, scene.groups.filter((_, n) => n % 2).map((g) => g.id));
  }
});

test("the number of reads of the scene grows linearly", () => {
  const reads = (n) => {
    let count = 0;
    const counted = (value) =>
      typeof value === "object" && value !== null ? new Proxy(value, { get: read }) : value;
    const read = (target, name) => {
      count++;
      return counted(Reflect.get(target, name));
    };
    layOut(counted(chain(n)), [], ROOM);
    return count;
  };
  const few = reads(500);
  assert.ok(few > 500);
  assert.ok(reads(5000) < 11 * few);
});

test("the source of the worker computes the same layout", () => {
  const scene = chain(6, (n) => (n > 1 && n < 5 ? 0 : -1), [group(0)]);
  const answers = [];
  // eslint-disable-next-line no-new-func -- the test runs the worker's source
  const worker = new Function("postMessage", `let onmessage; ${workerSource()}; return onmessage;`)((m) => answers.push(m));
  worker({ data: { ticket: 1, key: "k", scene, open: ["g0"], room: ROOM } });
  worker({ data: { ticket: 2, key: "k", scene: null, open: [], room: ROOM } });
  assert.deepEqual(answers[0].placed, layOut(scene, ["g0"], ROOM));
  assert.deepEqual(answers[1].placed, layOut(scene, [], ROOM));
  assert.ok(SIZES.line > 16, "lines have enough distance for text of 16 px");
});

test("a chain stays in one column as long as its text is large enough", () => {
  const columns = ({ nodes }) => new Set(nodes.map((n) => Math.round(n.x + n.w / 2))).size;
  const scene = chain(6);
  const tall = { w: 2000, h: layOut(scene, [], { w: 2000, h: 2000 }).height };
  const [near, far] = [0.9, 0.6].map((part) => ({ ...tall, h: tall.h * part }));
  assert.equal(columns(layOut(scene, [], near)), 1);
  const wrapped = layOut(scene, [], far);
  assert.equal(columns(wrapped), 2);
  assert.equal(columns(layOut(scene, [], near, wrapped)), 2, "the previous columns are kept");
  assert.equal(columns(layOut(scene, [], { ...tall, h: tall.h * 1.2 }, wrapped)), 1, "the chain clearly fits into one column");
});

/** A scene with a box inserted into a chain before position `at`. */
function longer(scene, at) {
  const boxes = [...scene.boxes.slice(0, at), { ...box(999), lines: ["a new operator"] }, ...scene.boxes.slice(at)];
  return { boxes, groups: scene.groups, arrows: boxes.slice(1).map((_, n) => arrow(n, n + 1)) };
}

test("boxes keep their column and move by at most one row when an operator is inserted", () => {
  const scene = chain(40);
  const last = layOut(scene, [], ROOM);
  for (const at of [3, 11, 20, 33]) {
    const now = layOut(longer(scene, at), [], ROOM, last);
    const was = new Map(last.nodes.map((n) => [n.key, n]));
    const [row, width] = [SIZES.line + SIZES.pad + SIZES.gapY, last.nodes[30].w];
    for (const node of now.nodes.filter((n) => was.has(n.key))) {
      const { x, y } = was.get(node.key);
      assert.ok(Math.abs(node.y - y) <= row + 1, `${node.key} moved ${node.y - y} down`);
      assert.ok(Math.abs(node.x - x) < width, `${node.key} moved ${node.x - x} aside`);
    }
  }
  const fresh = layOut(longer(scene, 3), [], ROOM);
  assert.ok(fresh.nodes.some((n) => Math.abs(n.y - (last.nodes.find((o) => o.key === n.key)?.y ?? n.y)) > 200), "without the previous layout, the columns are different");
});

test("branches keep their order from the last layout if the scene lists them in another order", () => {
  const fan = (order) => ({
    boxes: ["in", ...order, "out"].map((name) => ({ id: name, kind: "op", lines: [name], group: -1, ids: [name], weights: 0 })),
    groups: [],
    arrows: order.flatMap((_, n) => [arrow(0, n + 1), arrow(n + 1, order.length + 1)]),
  });
  const sorted = ({ nodes }) => nodes.filter((n) => n.key.length === 1).sort((a, b) => a.x - b.x).map((n) => n.key).join("");
  const last = layOut(fan(["a", "b", "c", "d"]), [], ROOM);
  assert.equal(sorted(last), "abcd");
  assert.equal(sorted(layOut(fan(["d", "c", "a", "b"]), [], ROOM, last)), "abcd");
  assert.equal(sorted(layOut(fan(["d", "c", "a", "b"]), [], ROOM)), "dcab");
});

test("a folded group has the name of its node", () => {
  assert.equal(tailOf("region:n12"), "n12");
  assert.equal(tailOf("n12"), "n12");
});
