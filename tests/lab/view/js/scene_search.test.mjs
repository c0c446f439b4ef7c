// Unit tests of the searches in a scene. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstNew, levelsOf, matches, neighbour, reached } from "../../../../byoc_lab/lab/view/static/graph/scene_search.js";

const box = (id, ...lines) => ({ id, kind: "op", lines, group: -1, ids: [id], weights: 0 });
// a diamond a -> b, c -> d, and e beside it
const scene = {
  boxes: [box("a", "nn.conv2d"), box("b", "nn.relu"), box("c", "tanh"), box("d", "add"), box("e", "exp")],
  groups: [],
  arrows: [[0, 1], [0, 2], [1, 3], [2, 3]].map(([from, to]) => [from, to, false, null, null]),
};
const module = { lines: [["%0 = nn.conv2d(%x, groups=32)", "a"], ["%1 = nn.relu(%0)", "b"]] };

test("a search finds text in boxes and in the lines of their nodes", () => {
  assert.deepEqual(matches(scene, module, "^nn\\."), { found: [0, 1], problem: "" });
  assert.deepEqual(matches(scene, module, "groups=32").found, [0]);
  assert.deepEqual(matches(scene, module, "").found, []);
  assert.equal(matches(scene, module, "(").problem, "not a regular expression");
});

test("dependences are followed up and down from a node", () => {
  const { up, down } = reached(scene, "b");
  assert.deepEqual([...up].sort(), [0, 1]);
  assert.deepEqual([...down].sort(), [1, 3]);
});

test("an arrow key leads to the nearest neighbour in its direction", () => {
  const at = (key, x, y) => ({ key, x, y, w: 10, h: 10 });
  const placed = { nodes: [at("a", 0, 0), at("b", 0, 50), at("c", 60, 50)] };
  assert.equal(neighbour(placed, "a", "ArrowDown"), "b");
  assert.equal(neighbour(placed, "b", "ArrowRight"), "c");
  assert.equal(neighbour(placed, "a", "ArrowUp"), "a");
});

test("groups are listed by their level of nesting", () => {
  const group = (id, around) => ({ id, group: around });
  assert.deepEqual(levelsOf({ groups: [group("a", -1), group("b", 0), group("c", 1), group("d", -1)] }), [["a", "d"], ["b"], ["c"]]);
  assert.deepEqual(levelsOf(scene), []);
});

test("the new box is shown with the groups around it, else the new group", () => {
  const groups = [{ id: "outer", group: -1 }, { id: "inner", group: 0 }];
  const nested = { boxes: [{ ...box("a"), group: 0 }, { ...box("b"), group: 1 }], groups, arrows: [] };
  assert.deepEqual(firstNew(nested, new Set(["b", "inner", "outer"])), { key: "b", around: ["inner", "outer"] });
  assert.deepEqual(firstNew(nested, new Set(["inner", "outer"])), { key: "inner", around: ["outer"] });
  assert.deepEqual(firstNew(nested, new Set()), { key: "", around: [] });
});
