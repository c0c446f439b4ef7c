// Unit tests of origins, images and history. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { historyOf, imagesOf, originsOf, placeOf } from "../../../../byoc_lab/lab/view/static/lineage.js";

const module = (...ids) => ({ names: {}, lines: [["def @main() {", "f"], ...ids.map((id) => [`  ${id}()`, id])] });
// a -> a, c (from a and b); then c -> d
const state = {
  modules: [module("a", "b"), module("a", "c"), module("a", "d")],
  stages: [
    { before: 0, after: 1, origins: { c: ["b", "a"] } },
    { before: 1, after: 2, origins: { d: ["c"] } },
  ],
};

test("origins and images are inverse", () => {
  assert.deepEqual(originsOf(state, 0, "c"), ["b", "a"]);
  assert.deepEqual(originsOf(state, 0, "a"), ["a"]);
  assert.deepEqual(originsOf(state, 0, "d"), []);
  assert.deepEqual(imagesOf(state, 0, "a"), ["a", "c"]);
  assert.deepEqual(imagesOf(state, 0, "b"), ["c"]);
});

test("the history reaches from the input to the result", () => {
  assert.deepEqual(historyOf(state, 0, "c"), [["b", "a"], ["c"], ["d"]]);
  assert.deepEqual(historyOf(state, 0, "b"), [["b"], ["c"], ["d"]]);
  assert.deepEqual(historyOf(state, 1, "d"), [["b", "a"], ["c"], ["d"]]);
  assert.deepEqual(historyOf(state, 1, "b"), [[], [], []]);
});

test("a node is located by its line and its function", () => {
  assert.deepEqual(placeOf(state.modules[0], "b"), { line: 2, text: "b()", in: "@main" });
  assert.equal(placeOf(state.modules[0], "zzz"), null);
});
