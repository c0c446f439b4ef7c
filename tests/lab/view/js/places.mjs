// Prints how far boxes move on the screen from stage to stage: {"mean", "most"} in pixels. Stages that
// fold most of the drawing are left out, because the rest is laid out anew. The scenes of the stages are
// read from the file given as argument.
import { readFileSync } from "node:fs";
import process from "node:process";
import { layOut } from "../../../../byoc_lab/lab/view/static/graph/layout.js";
import { tailOf } from "../../../../byoc_lab/lab/view/static/graph/layout_placing.js";

const ROOM = { w: 976, h: 756 }; // of the graph in a window of 1600 x 1000

/** The centres of the drawn nodes, if the whole drawing is fitted into the window. */
function centres(placed) {
  const scale = Math.min(1.25, ROOM.w / placed.width, ROOM.h / placed.height);
  const at = (offset, size, room, whole) => (offset + size / 2) * scale + (room - whole * scale) / 2;
  return new Map(placed.nodes.map((n) => [tailOf(n.key), [at(n.x, n.w, ROOM.w, placed.width), at(n.y, n.h, ROOM.h, placed.height)]]));
}

const moves = [];
let last = null;
for (const scene of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const open = scene.groups.filter((g) => g.kind === "function").map((g) => g.id);
  const placed = layOut(scene, open, ROOM, last);
  const was = last ? centres(last) : new Map();
  const left = [...centres(placed)].filter(([key]) => was.has(key));
  if (left.length * 2 >= was.size) for (const [key, [x, y]] of left) moves.push(Math.hypot(x - was.get(key)[0], y - was.get(key)[1]));
  last = placed;
}
console.log(JSON.stringify({ mean: moves.reduce((sum, m) => sum + m, 0) / moves.length, most: Math.max(...moves) }));
