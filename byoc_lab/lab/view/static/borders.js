// Borders that the reader moves by pointer or key; their positions are stored in the browser.
import { make } from "./text/relay_text.js";

const STEP = 24; // pixels that an arrow key moves a border
const STORAGE_KEY = "byoc_lab.view";

/** The settings that this browser has stored for the view; empty if storage is forbidden.
 * @returns {Record<string, string>} */
export function remembered() {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}");
  } catch {
    return {}; // a sandboxed frame has no storage
  }
}

/** @param {Record<string, string>} values */
export function remember(values) {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ ...remembered(), ...values }));
  } catch {
    return; // no storage: the border moves, but its position is not stored
  }
}

/**
 * A border that sets a width or height of `root`. axis: "x" for a vertical border, or "y"; sign: 1 if
  * the size grows to the right or down; limits: the current minimum and maximum of the size.
 * @param {HTMLElement} root
 * @param {{name: string, label: string, axis: "x" | "y", sign: number, size: () => number, limits: () => [number, number]}} spec
 * @param {AbortSignal} signal
 */
export function border(root, spec, signal) {
  const { name, label, axis, sign, size, limits } = spec;
  const made = make("div", { class: `byl-splitter byl-splitter-${axis}`, role: "separator", tabindex: "0", "aria-label": label,
    "aria-orientation": axis === "x" ? "vertical" : "horizontal", "aria-valuemin": 0, title: `${label}: drag it, or use the arrow keys` });
  const put = (/** @type {number} */ wanted, keep = true) => {
    const [least, largest] = limits();
    const length = Math.round(Math.max(least, Math.min(largest, wanted)));
    root.style.setProperty(name, `${length}px`);
    made.setAttribute("aria-valuenow", String(length));
    made.setAttribute("aria-valuemax", String(Math.round(largest)));
    if (keep) remember({ [name]: String(length) });
  };
  made.addEventListener("pointerdown", (/** @type {PointerEvent} */ down) => {
    made.setPointerCapture(down.pointerId);
    const [start, was] = [axis === "x" ? down.clientX : down.clientY, size()];
    made.onpointermove = (/** @type {PointerEvent} */ move) => put(was + sign * ((axis === "x" ? move.clientX : move.clientY) - start));
    made.onpointerup = made.onpointercancel = () => (made.onpointermove = made.onpointerup = null);
  }, { signal });
  made.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const direction = axis === "x" ? { ArrowRight: 1, ArrowLeft: -1 }[event.key] : { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!direction) return;
    put(size() + direction * sign * STEP);
    event.preventDefault();
    event.stopPropagation();
  }, { signal });
  const kept = Number(remembered()[name]);
  made.setAttribute("aria-valuenow", String(kept || 0));
  if (kept) requestAnimationFrame(() => root.isConnected && put(kept, false));
  return made;
}
