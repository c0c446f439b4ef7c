// Unit tests of moved lines and of the comparison by ids. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { compared, hunksBetween } from "../../../../byoc_lab/lab/view/static/text/compare.js";
import { rowsOf, withMoves } from "../../../../byoc_lab/lab/view/static/text/moves.js";

const module = (...lines) => ({ lines: lines.map((line) => line.split(" | ")).map(([text, id]) => [text, id ?? null]) });
const before = module("def @main() { | m", "%0 = a() | a", "%1 = b() | b", "%2 = c() | c", "}");
const after = module("def @main() { | m", "%0 = @f() | call", "%1 = c() | c", "}", "def @f() { | f", "%0 = a() | a", "b() | b", "}");

test("a comparison pairs lines by their ids, and recognizes equal lines", () => {
  assert.deepEqual(hunksBetween(before.lines, before.lines), [["=", 0, 0, 5]]);
  assert.deepEqual(hunksBetween(before.lines, after.lines), [["=", 0, 0, 1], ["-", 1, 1, 2], ["+", 3, 1, 1], ["=", 3, 2, 2], ["+", 5, 4, 4]]);
});

test("renumbering is not a change", () => {
  assert.deepEqual(hunksBetween([["%3 = a(%2)", "a"]], [["%7 = a(%6)", "a"]]), [["=", 0, 0, 1]]);
  assert.deepEqual(hunksBetween([["%3 = a(%2)", "a"]], [["%7 = a(%6, x=1)", "a"]]), [["~", 0, 0, 1]]);
});

test("every line is in the comparison once, in order, for any ids", () => {
  for (let seed = 1; seed < 60; seed++) {
    let n = seed;
    const random = (k) => (n = (n * 48271) % 2147483647) % k;
    const lines = () => Array.from({ length: random(12) }, () => [`${"abc"[random(3)]}()`, random(4) ? `n${random(9)}` : null]);
    const [b, a] = [lines(), lines()];
    const rows = rowsOf({ hunks: hunksBetween(b, a) });
    assert.deepEqual(rows.map((r) => r.b).filter((x) => x !== null), b.map((_, k) => k));
    assert.deepEqual(rows.map((r) => r.a).filter((x) => x !== null), a.map((_, k) => k));
  }
});

test("moved lines are beside their old lines, with one note at the old position", () => {
  const rows = withMoves(rowsOf({ hunks: hunksBetween(before.lines, after.lines) }), before, after, []);
  const gone = rows.filter((r) => r.kind === "gone");
  assert.deepEqual(gone.map((r) => [r.to, r.gone.length]), [["@f", 2]]);
  assert.deepEqual(rows.filter((r) => r.kind === "moved").map((r) => [r.b, r.a]), [[1, 5], [2, 6]]);
});

test("a replaced node is not reported as moved", () => {
  const rows = withMoves(rowsOf({ hunks: hunksBetween(before.lines, after.lines) }), before, after, ["a", "b"]);
  assert.ok(rows.every((r) => r.kind !== "moved" && r.kind !== "gone"));
});

test("any stage can be compared with an earlier result or with the input", () => {
  const state = { modules: [before, before, after], stages: [{ before: 0, after: 1, replaced: [] }, { before: 1, after: 2, replaced: ["x"] }] };
  assert.deepEqual([compared(state, 0, 1).before, compared(state, 0, 1).after], [0, 2]);
  assert.deepEqual([compared(state, 1, 1).before, compared(state, 1, 1).replaced], [1, ["x"]]);
});
