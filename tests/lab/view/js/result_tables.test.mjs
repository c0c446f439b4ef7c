// Unit tests of the links between tables and graph. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { around, litNode } from "../../../../byoc_lab/lab/view/static/result_tables.js";

// Operator n1 is in composite c in region f; n2 is on the host.
const scene = {
  groups: [{ node: "f", group: -1 }, { node: null, group: 0 }, { node: "c", group: 1 }],
  boxes: [{ ids: ["n1", "m1"], group: 2 }, { ids: ["n2"], group: -1 }],
};
const table = (...nodes) => ({ name: "t", summary: "", columns: [], left_out: 0, rows: nodes.map((node) => ({ node, stage: null, wrong: false, cells: [] })) });

test("the groups around a node are its composite and its region", () => {
  assert.deepEqual(around(scene, "m1"), ["m1", "c", "f"]);
  assert.deepEqual(around(scene, "c"), ["c", "f"]);
  assert.deepEqual(around(scene, "n2"), ["n2"]);
  assert.deepEqual(around(null, "n1"), ["n1"]);
});

test("the nearest row is highlighted", () => {
  assert.equal(litNode(table("f", "c"), scene, "n1"), "c");
  assert.equal(litNode(table("f", null), scene, "n1"), "f");
  assert.equal(litNode(table("f"), scene, "n2"), "");
  assert.equal(litNode(table("f"), scene, ""), "");
});
