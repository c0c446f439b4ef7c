// Moved lines: shown beside their old lines, and folded into one note at their old position.

/**
 * @typedef {{kind: string, b: number | null, a: number | null, moved?: boolean, to?: string, gone?: any[]}} Row
 * @typedef {{lines: [string, string | null][]}} Module
 */

/** The rows of a stage: {kind, b, a} with line numbers from 0, or null on an empty side.
 * @param {any} stage @returns {Row[]} */
export function rowsOf(stage) {
  const KIND = /** @type {Record<string, string>} */ ({ "=": "same", "+": "added", "-": "removed", "~": "changed" });
  return stage.hunks.flatMap((/** @type {[string, number, number, number]} */ [sign, b, a, n]) =>
    Array.from({ length: n }, (_, i) => ({ kind: KIND[sign], b: sign === "+" ? null : b + i, a: sign === "-" ? null : a + i })),
  );
}

/** Rows with moved lines joined. A line that was removed at one position and added at another is one
 * row at the new position: {kind "moved", b, a}. Runs of such lines are one row at the old position:
 * {kind "gone", gone: rows, to: names of functions}.
 * @param {Row[]} rows @param {Module | null} before @param {Module | null} after
 * @param {Iterable<string>} replaced ids whose nodes were replaced
 * @returns {Row[]} */
export function withMoves(rows, before, after, replaced) {
  if (!before || !after) return rows;
  const another = new Set(replaced);
  const removed = new Map();
  for (const row of rows) {
    const id = row.kind === "removed" && row.b !== null ? before.lines[row.b][1] : null;
    if (id && !another.has(id) && !removed.has(id)) removed.set(id, row.b);
  }
  const target = new Map(); // id -> the function that the line is in now
  let name = "";
  const found = rows.map((row) => {
    const [text, id] = row.a === null ? ["", null] : after.lines[row.a];
    name = /^def (@[\w.:-]+)/.exec(text)?.[1] ?? name;
    if (row.kind !== "added" || !id || !removed.has(id) || target.has(id)) return row;
    target.set(id, name);
    return { ...row, kind: "moved", b: removed.get(id), moved: true };
  });
  /** @type {Row[]} */
  const shown = [];
  for (const row of found) {
    const id = row.kind === "removed" && row.b !== null ? before.lines[row.b][1] : null;
    if (!id || another.has(id) || !target.has(id)) {
      shown.push(row);
      continue;
    }
    const to = target.get(id);
    let n = shown.length - 1; // removed lines in between do not divide a run of moved lines
    while (n >= 0 && (shown[n].kind === "removed" || (shown[n].kind === "gone" && shown[n].to !== to))) n--;
    const last = shown[n];
    if (last?.kind === "gone" && last.to === to) last.gone?.push(row);
    else shown.push({ kind: "gone", b: row.b, a: null, gone: [row], to });
  }
  return shown;
}
