// Two modules of a trace compared by the ids of their lines, which follow nodes from stage to stage.

const normal = (/** @type {string} */ text) => text.replace(/%\d+\b/g, "%").trim();

/** The module after `base` stages, and the module after stage `index`, as a stage to draw.
 * @param {Sent.State} state @param {number} base @param {number} index */
export function compared(state, base, index) {
  const before = base ? (state.stages[base - 1].after ?? state.stages[base - 1].before) : state.stages[0].before;
  const after = state.stages[index].after ?? state.stages[index].before;
  const between = state.stages.slice(Math.min(base, index), index + 1);
  return {
    before,
    after,
    hunks: hunksBetween(state.modules[before].lines, state.modules[after].lines),
    replaced: [...new Set(between.flatMap((/** @type {Sent.Stage} */ s) => s.replaced))],
    pending: "",
  };
}

/** Hunks: [sign, line before, line after, count]. Cost n log n.
 * @param {(string | null)[][]} before @param {(string | null)[][]} after
 * @returns {[string, number, number, number][]} */
export function hunksBetween(before, after) {
  /** @type {[string, number, number, number][]} */
  const hunks = [];
  const add = (/** @type {string} */ sign, /** @type {number} */ b, /** @type {number} */ a) => {
    const last = hunks[hunks.length - 1];
    if (last && last[0] === sign) last[3]++;
    else hunks.push([sign, b, a, 1]);
  };
  const alike = (/** @type {number} */ b, /** @type {number} */ a) => normal(before[b][0]) === normal(after[a][0]);
  let [b, a] = [0, 0];
  for (const [nextB, nextA] of [...anchors(before, after), [before.length, after.length]]) {
    while (b < nextB && a < nextA && alike(b, a)) add("=", b++, a++);
    let tail = 0;
    while (nextB - tail > b && nextA - tail > a && alike(nextB - tail - 1, nextA - tail - 1)) tail++;
    while (b < nextB - tail) add("-", b++, a);
    while (a < nextA - tail) add("+", b, a++);
    for (; tail; tail--) add("=", b++, a++);
    if (b < before.length && a < after.length) add(alike(b, a) ? "=" : "~", b++, a++);
  }
  return hunks;
}

/** For each line, the id of the function that contains it.
 * @param {(string | null)[][]} lines */
function homes(lines) {
  /** @type {string | null} */
  let home = null;
  return lines.map(([text, id]) => (home = text.startsWith("def ") ? id : home));
}

/** The largest set of pairs of lines with equal ids in the same function whose order is equal in both
 * modules.
 * @param {(string | null)[][]} before @param {(string | null)[][]} after
 * @returns {[number, number][]} */
function anchors(before, after) {
  const place = new Map();
  const [homesB, homesA] = [homes(before), homes(after)];
  after.forEach(([, id], n) => id && !place.has(id) && place.set(id, n));
  /** @type {[number, number][]} */
  const pairs = [];
  before.forEach(([, id], n) => {
    if (!id || !place.has(id) || homesB[n] !== homesA[place.get(id)]) return;
    pairs.push([n, place.get(id)]);
    place.delete(id);
  });
  // The longest increasing subsequence of the lines after.
  /** @type {number[]} */
  const ends = []; // for each length, the pair that ends the lowest such sequence
  const previous = pairs.map(() => -1);
  pairs.forEach(([, at], n) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[ends[middle]][1] < at) low = middle + 1;
      else high = middle;
    }
    if (low) previous[n] = ends[low - 1];
    ends[low] = n;
  });
  /** @type {[number, number][]} */
  const found = [];
  for (let n = ends.length ? ends[ends.length - 1] : -1; n >= 0; n = previous[n]) found.push(pairs[n]);
  return found.reverse();
}
