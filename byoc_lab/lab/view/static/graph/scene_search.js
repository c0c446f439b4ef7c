// Searches in a scene: matching boxes, dependences, neighbours, and new boxes.

/** The boxes whose text, or line of the module, matches a regular expression.
 * @returns {{ found: number[], problem: string }} */
export function matches(scene, module, wanted) {
  if (!wanted || !scene) return { found: [], problem: "" };
  let pattern;
  try {
    pattern = new RegExp(wanted, "i");
  } catch {
    return { found: [], problem: "not a regular expression" };
  }
  const texts = new Map((module?.lines ?? []).map(([text, id]) => [id, text]));
  const found = [];
  scene.boxes.forEach((box, n) => {
    const hit = box.lines.some((l) => pattern.test(l)) || box.ids.slice(0, 1).some((id) => pattern.test(texts.get(id) ?? ""));
    if (hit) found.push(n);
  });
  return { found, problem: "" };
}

/** The boxes from which a node is computed (up), and the boxes computed from it (down), itself included. */
export function reached(scene, id) {
  const start = scene.boxes.flatMap((box, n) => (box.ids.includes(id) ? [n] : []));
  const [users, sources] = [new Map(), new Map()];
  const add = (map, key, value) => (map.get(key) ?? map.set(key, []).get(key)).push(value);
  for (const [from, to] of scene.arrows) {
    add(users, from, to);
    add(sources, to, from);
  }
  const walk = (next) => {
    const seen = new Set(start);
    const todo = [...start];
    while (todo.length) for (const n of next.get(todo.pop()) ?? []) if (!seen.has(n)) todo.push(n) && seen.add(n);
    return seen;
  };
  return { up: walk(sources), down: walk(users) };
}

/** The key of the nearest node in the direction of an arrow key. */
export function neighbour(placed, key, arrow) {
  const here = placed.nodes.find((n) => n.key === key);
  const [dx, dy] = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[arrow];
  let best = { key, cost: Infinity };
  for (const node of placed.nodes) {
    const [x, y] = [node.x + node.w / 2 - here.x - here.w / 2, node.y + node.h / 2 - here.y - here.h / 2];
    const ahead = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (ahead > 1 && ahead + 2 * aside < best.cost) best = { key: node.key, cost: ahead + 2 * aside };
  }
  return best.key;
}

export const sameSets = (a, b) => a.size === b.size && [...a].every((x) => b.has(x));

/** The ids of boxes and groups that the previous scene lacks, and of the groups that contain them; an
 * open group is highlighted only if it is new itself. */
export function newIn(scene, before, replaced) {
  const had = new Set(before.boxes.flatMap((b) => b.ids));
  const groups = new Set(before.groups.map((g) => g.id));
  const found = new Set();
  const up = (group) => {
    for (let g = group; g >= 0 && !found.has(scene.groups[g].id); g = scene.groups[g].group) found.add(scene.groups[g].id);
  };
  for (const box of scene.boxes) {
    const [own] = box.ids;
    if (!own || (had.has(own) && !replaced.has(own))) continue;
    found.add(box.id);
    up(box.group);
  }
  scene.groups.forEach((group, n) => {
    const isNew = ["region", "external", "composite"].includes(group.kind) && !groups.has(group.id);
    if (isNew || replaced.has(group.node)) up(n);
  });
  return found;
}

/** The box to show among the new ones, or else the new group; and the groups that contain it.
 * @returns {{ key: string, around: string[] }} */
export function firstNew(scene, fresh) {
  const box = scene.boxes.find((b) => fresh.has(b.id));
  const shown = box ?? scene.groups.filter((g) => fresh.has(g.id)).at(-1); // inner groups come last
  const around = [];
  for (let g = shown?.group ?? -1; g >= 0; g = scene.groups[g].group) around.push(scene.groups[g].id);
  return { key: shown?.id ?? "", around };
}

/** The groups that contain boxes, directly or indirectly. */
export function groupsOf(scene, boxes) {
  const found = new Set();
  for (const n of boxes) for (let g = scene.boxes[n].group; g >= 0 && !found.has(g); g = scene.groups[g].group) found.add(g);
  return found;
}

/** The ids of the groups at each level of nesting, the outermost level first.
 * @returns {string[][]} */
export function levelsOf(scene) {
  const levels = [];
  for (const group of scene.groups) {
    let depth = 0;
    for (let g = group.group; g >= 0; g = scene.groups[g].group) depth += 1;
    (levels[depth] ??= []).push(group.id);
  }
  return levels;
}
