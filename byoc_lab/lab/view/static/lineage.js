// Origins and images of nodes, from the origins in the state of a trace.

const known = new WeakMap();

/** The ids of all nodes of a module that the page can show.
 * @param {Sent.Module} module @returns {Set<string>} */
export function idsIn(module) {
  if (!module) return new Set();
  if (!known.has(module)) {
    const ids = new Set(Object.values(module.names));
    for (const [, id] of module.lines) if (id) ids.add(id);
    for (const box of module.scene?.boxes ?? []) for (const id of box.ids) ids.add(id);
    known.set(module, ids);
  }
  return known.get(module);
}

/** The nodes of a stage's input from which a node of its result originates.
 * @param {Sent.State} state @param {number} n @param {string} id @returns {string[]} */
export function originsOf(state, n, id) {
  const stage = state.stages[n];
  return stage.origins?.[id] ?? (idsIn(state.modules[stage.before]).has(id) ? [id] : []);
}

const inverses = new WeakMap();

/** The nodes of a stage's result that originate from a node of its input.
 * @param {Sent.State} state @param {number} n @param {string} id @returns {string[]} */
export function imagesOf(state, n, id) {
  const stage = state.stages[n];
  if (stage.after === null) return [];
  if (!inverses.has(stage)) {
    const images = new Map();
    for (const [image, origins] of Object.entries(stage.origins ?? {})) for (const origin of origins) images.set(origin, [...(images.get(origin) ?? []), image]);
    inverses.set(stage, images);
  }
  const others = inverses.get(stage).get(id) ?? [];
  const own = !stage.origins?.[id] && idsIn(state.modules[stage.after]).has(id) ? [id] : [];
  return [...new Set([...own, ...others])];
}

/** The ids that correspond to a node of stage `n`: a list for the input, and one for each stage's result.
 * @param {Sent.State} state @param {number} n @param {string} id @returns {string[][]} */
export function historyOf(state, n, id) {
  const count = state.stages.length;
  /** @type {string[][]} */
  const found = Array.from({ length: count + 1 }, () => []);
  const all = (/** @type {string[]} */ ids, /** @type {(id: string) => string[]} */ of) => [...new Set(ids.flatMap(of))];
  const { before, after } = state.stages[n];
  if (after !== null && idsIn(state.modules[after]).has(id)) found[n + 1] = [id];
  else if (idsIn(state.modules[before]).has(id)) found[n] = [id];
  else return found;
  const start = found[n + 1].length ? n + 1 : n;
  for (let k = start; k > 0; k--) found[k - 1] = all(found[k], (x) => originsOf(state, k - 1, x));
  for (let k = start; k < count; k++) found[k + 1] = all(found[k], (x) => imagesOf(state, k, x));
  return found;
}

/** The line of a module that shows a node, and the function of the line; null if no line shows it.
 * @param {Sent.Module} module @param {string} id */
export function placeOf(module, id) {
  const at = module ? module.lines.findIndex((/** @type {[string, string]} */ [, line]) => line === id) : -1;
  if (at < 0) return null;
  let n = at;
  while (n > 0 && !module.lines[n][0].startsWith("def ")) n--;
  return { line: at, text: module.lines[at][0].trim(), in: /^def (@[\w.:-]+)/.exec(module.lines[n][0])?.[1] ?? "" };
}

/** The expressions, in words, from which the constants among these nodes were computed.
 * @param {Sent.State} state @param {string[]} ids @returns {string[]} */
export function computedFrom(state, ids) {
  return [...new Set(ids)].flatMap((id) => state.stages.flatMap((/** @type {Sent.Stage} */ stage) => (stage.computed?.[id] ? [`${stage.name} computed it from ${stage.computed[id]}`] : [])));
}
