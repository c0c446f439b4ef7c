// Unit tests of the order of items. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder } from "../../../../byoc_lab/lab/view/static/graph/topology.js";

const links = (...pairs) => pairs.map(([from, to]) => ({ from, to }));

test("each item comes after the items it depends on, for any given order", () => {
  const order = inOrder(["c", "a", "b", "d"], links("ab", "bc", "ac"));
  assert.ok(order.indexOf("a") < order.indexOf("b") && order.indexOf("b") < order.indexOf("c"));
  assert.equal(order.length, 4);
});

test("a cycle does not lose items", () => {
  assert.deepEqual([...inOrder(["a", "b", "c"], links("ab", "ba", "bc", "cc"))].sort(), ["a", "b", "c"]);
});
