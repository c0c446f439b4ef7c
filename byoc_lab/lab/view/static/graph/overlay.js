// Overlays on the nodes of the graph: numbers as a heat map, and reasons as badges.
import { make } from "../text/relay_text.js";
import { draw } from "./scene_drawing.js";

const WORDS = /** @type {Record<string, string>} */ ({ flops: "FLOP", bytes: "bytes moved", coverage: "coverage", time: "time", error: "error / tolerance" });

const MEANING = /** @type {Record<string, string>} */ ({
  flops: "floating-point operations of a call", bytes: "bytes read and written", coverage: "share of the operators", time: "seconds of the last profiled call; the time of a fused kernel is at its first operator",
  error: "largest error as a share of its tolerance; ✖ if it exceeds the tolerance",
});

/** The overlays that a view can show, by name. @param {Sent.Overlays} known @returns {[string, string][]} */
export function choices(known) {
  return ["flops", "bytes", "coverage", ...Object.keys(known.numbers ?? {})].map((name) => [name, WORDS[name] ?? name]);
}

/** The value of each drawn node: Map from key to number; nodes without a number are left out.
 * @param {string} name @param {Sent.Scene} scene @param {any[]} nodes @param {Sent.Overlays} known */
export function valuesOf(name, scene, nodes, known) {
  const numbers = known.numbers?.[name];
  const given = (/** @type {string[]} */ ids) => ids.map((id) => numbers?.values[id]).find((v) => v !== undefined) ?? null;
  /** @type {(number | null)[]} of each box */
  const own = scene.boxes.map((/** @type {Sent.Box} */ box) => (numbers ? given(box.ids) : name === "coverage" ? (box.kind === "op" ? Number(isOffloaded(scene, box.group)) : null) : box[name]));
  /** @type {(number | null)[]} of each group */
  const ofGroup = scene.groups.map((/** @type {Sent.Group} */ group) => given([group.node]));
  /** @type {number[][]} the values in each group */
  const inside = scene.groups.map(() => []);
  const add = (/** @type {number | null} */ value, /** @type {number} */ first) => {
    if (value === null || value === undefined) return;
    for (let g = first; g >= 0; g = scene.groups[g].group) {
      if (ofGroup[g] !== null && !numbers?.most) return; // the number of the group itself includes it
      inside[g].push(value);
    }
  };
  scene.boxes.forEach((/** @type {Sent.Box} */ box, /** @type {number} */ n) => add(own[n], box.group));
  scene.groups.forEach((/** @type {Sent.Group} */ group, /** @type {number} */ n) => {
    const value = ofGroup[n];
    if (value === null) return;
    inside[n].push(value);
    add(value, group.group);
  });
  const found = new Map();
  for (const node of nodes) {
    const values = node.box >= 0 ? [own[node.box]].filter((v) => v !== null && v !== undefined) : inside[node.group];
    if (values.length) found.set(node.key, name === "coverage" ? values.reduce((s, v) => s + v, 0) / values.length : numbers?.most ? Math.max(...values) : values.reduce((s, v) => s + v, 0));
  }
  return found;
}

function isOffloaded(scene, group) {
  for (let g = group; g >= 0; g = scene.groups[g].group) if (scene.groups[g].compiler && !scene.groups[g].partly) return true;
  return false;
}

/** A number with its unit. @param {string} name @param {number} value */
export function shownValue(name, value) {
  if (name === "coverage") return `${Math.round(value * 100)} % in regions`;
  if (name === "error") return value > 1 ? `✖ ${value.toPrecision(2)} × tolerance` : `✓ ${value >= 0.1 ? Math.round(value * 100) : (value * 100).toPrecision(2)} % of tolerance`;
  const [unit, scale] = /** @type {[string, number]} */ ({ flops: ["FLOP", 1], bytes: ["B", 1], time: ["s", 1e-6] }[name] ?? ["", 1]);
  if (!value) return `0 ${unit}`;
  const size = value * scale;
  const [prefix, factor] = /** @type {[string, number][]} */ ([["G", 1e9], ["M", 1e6], ["k", 1e3], ["", 1], ["m", 1e-3], ["µ", 1e-6]]).find(([, f]) => size >= f) ?? ["", 1];
  return `${(size / factor).toPrecision(size / factor >= 100 ? 3 : 2)} ${prefix}${unit}`;
}

/** The intensity of the colour of a value, 0 to 1. @param {string} name @param {number} value @param
 * {number} most */
export function strength(name, value, most) {
  if (name === "coverage") return value;
  if (name === "error") return Math.min(1, value);
  return most > 0 ? value / most : 0;
}

/** Draw an overlay on the nodes of a drawing; returns the data of its legend, or null.
 * @param {string} name "" for none @param {any} drawing @param {Sent.Scene} scene @param {Sent.Overlays} known */
export function drawOverlay(name, drawing, scene, known) {
  for (const old of drawing.layer.querySelectorAll(".byl-value")) old.remove();
  for (const { element } of drawing.nodes.values()) element.classList.remove("byl-heat", "byl-over");
  if (!name) return null;
  const nodes = [...drawing.nodes.values()].map(({ node }) => node);
  const values = valuesOf(name, scene, nodes, known);
  const most = Math.max(0, ...[...drawing.nodes.values()].filter(({ node }) => !node.open).map(({ node }) => values.get(node.key) ?? 0));
  for (const { element, node } of drawing.nodes.values()) {
    const value = values.get(node.key);
    const given = known.numbers?.[name]?.values[scene.groups[node.group]?.node];
    if (node.open && given !== undefined) element.append(draw("text", { class: "byl-value", x: node.w / 2, y: node.h + 16 }, `${shownValue(name, given)} `));
    if (value === undefined || node.open) continue;
    element.classList.add("byl-heat");
    element.classList.toggle("byl-over", name === "error" && value > 1);
    element.style.setProperty("--byl-strength", `${Math.round(8 + 60 * strength(name, value, most))}%`);
    element.append(draw("text", { class: "byl-value", x: node.w / 2, y: node.h + 16 }, `${shownValue(name, value)} `));
  }
  const note = MEANING[name] ? ` (${MEANING[name]})` : "";
  const label = values.size ? `${WORDS[name] ?? name}: none to ${shownValue(name, name === "coverage" ? 1 : name === "error" ? Math.max(1, most) : most)}${note}` : `${WORDS[name] ?? name}: not known here`;
  return make("span", { class: "byl-scale" }, make("i", { class: "byl-key byl-key-heat" }), label);
}

/** Badges at the boxes outside regions for which `explain` gives a reason.
 * @param {any} drawing @param {Sent.Scene} scene @param {Sent.Overlays} known */
export function drawReasons(drawing, scene, known) {
  for (const old of drawing.layer.querySelectorAll(".byl-reason-badge")) old.remove();
  const reasons = known.reasons ?? {};
  const at = new Map(); // for each group and box: the calls inside that have a reason
  scene.boxes.forEach((/** @type {Sent.Box} */ box, /** @type {number} */ n) => {
    const id = box.ids.find((/** @type {string} */ i) => reasons[i]);
    if (!id || isOffloaded(scene, box.group)) return;
    at.set(`box ${n}`, [id]);
    for (let g = box.group; g >= 0; g = scene.groups[g].group) at.set(`group ${g}`, [...(at.get(`group ${g}`) ?? []), id]);
  });
  for (const { element, node } of drawing.nodes.values()) {
    const ids = at.get(node.box >= 0 ? `box ${node.box}` : `group ${node.group}`);
    if (!ids || node.open) continue;
    const { cause, place } = reasons[ids[0]];
    const alike = ids.every((/** @type {string} */ id) => reasons[id].place === place);
    const words = ids.length > 1 ? `${ids.length} ${alike ? place : "not offloaded"}` : cause;
    const wide = words.length * 7.4 + 14;
    element.append(draw("g", { class: "byl-reason-badge", "data-ids": ids[0], transform: `translate(${(node.w - wide) / 2} -12)` },
      draw("title", {}, `${ids.length > 1 ? `${words}, the first: ` : `${sentence(place)}: `}${reasons[ids[0]].lines.map(([k, v]) => `${k}: ${v}`).join("\n")}`),
      draw("rect", { width: wide, height: 17, rx: 8 }), draw("text", { x: wide / 2, y: 12.5 }, words)));
  }
}

/** Words with a capital letter. @param {string} words */
const sentence = (words) => words[0].toUpperCase() + words.slice(1);

/** Why a call is not offloaded, for the panel of a node. @param {Sent.Overlays} known @param {string} id */
export function reasonOf(known, id) {
  const reason = known.reasons?.[id];
  if (!reason) return "";
  return make("div", { class: "byl-why-host" }, make("h4", {}, `${sentence(reason.place)}: ${reason.cause}`),
    make("dl", {}, ...reason.lines.flatMap(([name, text]) => [make("dt", {}, name), make("dd", {}, text)])));
}
