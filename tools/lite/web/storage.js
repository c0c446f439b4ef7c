// What was typed, kept by the browser. Where it keeps nothing, the page works without.

/** @param {string} notebook @param {string} cell */
const key = (notebook, cell) => `byoc_lab/${notebook}/${cell}`;

/** @template T @param {() => T} act @param {T} otherwise */
function tried(act, otherwise) {
  try {
    return act();
  } catch (error) {
    if (error instanceof DOMException) return otherwise; // storage is switched off, or full
    throw error;
  }
}

/** @param {string} notebook @param {string} cell @returns {string | null} */
export const kept = (notebook, cell) => tried(() => localStorage.getItem(key(notebook, cell)), null);

/** Keep a source; that of the notebook itself need not be kept.
 * @param {string} notebook @param {string} cell @param {string} source @param {string} original */
export function keep(notebook, cell, source, original) {
  tried(() => (source === original ? localStorage.removeItem(key(notebook, cell)) : localStorage.setItem(key(notebook, cell), source)), undefined);
}
