// Unit tests of overlays: the value of each box and group. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { choices, shownValue, strength, valuesOf } from "../../../../byoc_lab/lab/view/static/graph/overlay.js";

const box = (n, group, flops, kind = "op") => ({ id: `b${n}`, kind, lines: [], group, ids: [`n${n}`], weights: 0, flops, bytes: null });
const group = (id, inside, compiler, node) => ({ id, kind: "external", lines: [], label: id, compiler, partly: false, colour: null, group: inside, node });
// An outer group has the regions r (10 and 20 FLOP) and s (40); 5 FLOP are on the host.
const scene = {
  groups: [group("outer", -1, null, null), group("r", 0, "dnnl", "f"), group("s", 0, "dnnl", "g")],
  boxes: [box(0, 1, 10), box(1, 1, 20), box(2, 2, 40), box(3, -1, 5), box(4, -1, null, "input")],
  arrows: [],
};
const nodes = [...scene.groups.map((g, n) => ({ key: g.id, box: -1, group: n })), ...scene.boxes.map((b, n) => ({ key: b.id, box: n, group: -1 }))];
const of = (name, known = {}) => Object.fromEntries(valuesOf(name, scene, nodes, known));

test("the operations of a group are the sum of the operations inside", () => {
  assert.deepEqual(of("flops"), { outer: 70, r: 30, s: 40, b0: 10, b1: 20, b2: 40, b3: 5 });
});

test("coverage is the share of operators in regions", () => {
  const { outer, b3, b4 } = of("coverage");
  assert.deepEqual([outer, b3, b4], [1, 0, undefined]);
});

test("times are added, and the largest error counts", () => {
  const numbers = (most) => ({ numbers: { x: { most, values: { f: 3, g: 4 } } } });
  assert.deepEqual(of("x", numbers(false)), { outer: 7, r: 3, s: 4 });
  assert.deepEqual(of("x", numbers(true)), { outer: 4, r: 3, s: 4 });
});

test("the time of a region includes its operators, and its error does not hide their errors", () => {
  const numbers = (most) => ({ numbers: { x: { most, values: { f: 3, n0: 1, n1: 9, g: 4 } } } });
  assert.deepEqual(of("x", numbers(false)), { outer: 7, r: 3, s: 4, b0: 1, b1: 9 });
  assert.deepEqual(of("x", numbers(true)), { outer: 9, r: 9, s: 4, b0: 1, b1: 9 });
});

test("nodes without known numbers have no values", () => {
  assert.deepEqual(of("bytes"), {});
  assert.deepEqual(choices({}).map(([name]) => name), ["flops", "bytes", "coverage"]);
});

test("numbers are shown with a unit, and wrong results with a sign", () => {
  assert.equal(shownValue("flops", 231_000_000), "231 MFLOP");
  assert.equal(shownValue("bytes", 1500), "1.5 kB");
  assert.equal(shownValue("time", 14), "14 µs");
  assert.equal(shownValue("time", 0), "0 s");
  assert.equal(shownValue("error", 0.25), "✓ 25 % of tolerance");
  assert.equal(shownValue("error", 3), "✖ 3.0 × tolerance");
  assert.deepEqual([strength("error", 3, 9), strength("flops", 3, 6), strength("flops", 0, 0)], [1, 0.5, 0]);
});
