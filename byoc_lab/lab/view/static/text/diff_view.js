// The diff in the centre: the module before and after one stage, row by row.
import { rowsOf, withMoves } from "./moves.js";
import { counted, differing, make, number, tokens, withoutTypes, writeLine } from "./relay_text.js";

const CONTEXT = 3; // unchanged lines kept on each side of a change
const SHORTEST_FOLD = 12;
const LONGEST_LINE = 220; // characters without types; longer lines are cut, with a button for the rest
const SIGN = { added: "+", removed: "−", changed: "~", same: "", went: "↗", came: "↘" };
const WORD = { ...Object.fromEntries(["added", "removed", "changed"].map((k) => [k, k])), went: "moved away", came: "moved here" };
const HEAD = 140; // characters kept at the beginning of a line that is cut; as many as fit at its end
export const ICON = { error: "✖", warning: "▲", info: "●" };

/**
 * The items of the text, in order: rows (see moves.js), {kind "fold", rows} for a run of
 * unchanged rows, and rows of kind "gone".
 * @typedef {import("./moves.js").Row & {rows?: import("./moves.js").Row[], sign?: string}} Item
 */

/** The items of a stage.
 * @param {any} stage @param {any} before @param {any} after @returns {Item[]} */
export function itemsOf(stage, before, after) {
  const rows = withMoves(rowsOf(stage), before, after, stage.replaced ?? []);
  if (!before || !after || rows.every((r) => r.kind === "same")) return rows;
  /** @type {Item[]} */
  const items = [];
  for (let n = 0; n < rows.length; ) {
    let end = n;
    while (end < rows.length && rows[end].kind === "same") end++;
    if (end > n) items.push(...folded(rows.slice(n, end), n === 0, end === rows.length));
    else items.push(rows[end++]);
    n = end;
  }
  return items;
}

/** A run of unchanged rows; the middle of a long run is one item. */
function folded(run, atStart, atEnd) {
  const head = atStart ? 0 : CONTEXT;
  const tail = atEnd ? 0 : CONTEXT;
  const hidden = run.slice(head, run.length - tail);
  if (hidden.length < SHORTEST_FOLD) return run;
  return [...run.slice(0, head), { kind: "fold", b: hidden[0].b, a: hidden[0].a, rows: hidden }, ...run.slice(run.length - tail)];
}

/** The items that replace an item when it is opened; none for a row. @param {Item} item @returns
 * {Item[]} */
export function inside(item) {
  if (item.kind === "fold") return item.rows ?? [];
  if (item.kind === "gone") return (item.gone ?? []).map((r) => ({ ...r, kind: "removed", sign: "went" }));
  return [];
}

/** The data from which all items of a stage are drawn. */
export function sidesOf(before, after, split, options, unfold) {
  return { before, after, marks: { b: marksOf(before), a: marksOf(after) }, split, options, unfold };
}

/** The findings of a module by line number. */
function marksOf(module) {
  const byLine = new Map();
  for (const finding of module?.findings ?? []) {
    if (finding.line === null) continue;
    byLine.set(finding.line, [...(byLine.get(finding.line) ?? []), finding]);
  }
  return byLine;
}

/** The elements of an item; the caller handles selection. @param {Item} row @param {any} sides */
export function drawItem(row, sides) {
  const { before, after, marks, split } = sides;
  if (row.kind === "fold") return [opener("byl-fold", `⋯ ${row.rows.length} unchanged lines`, row, sides)];
  if (row.kind === "gone") {
    const count = row.gone.length;
    return [opener("byl-fold byl-gone-away", `↗ ${counted(count, "line")} moved ${row.to ? `to ${row.to}` : "away"}`, row, sides)];
  }
  if (row.kind === "moved") return drawMoved(row, sides, split);
  const parts = { b: null, a: null };
  const marked = { b: undefined, a: undefined };
  let typed = false;
  if (row.b !== null && before) parts.b = tokens(before.lines[row.b][0]);
  if (row.a !== null && after) parts.a = tokens(after.lines[row.a][0]);
  if (row.kind === "changed") {
    [marked.b, marked.a] = differing(parts.b, parts.a);
    // If only types changed, hiding the types would hide the change.
    typed = withoutTypes(before.lines[row.b][0]) === withoutTypes(after.lines[row.a][0]);
  }
  const opens = (lines, n) => n > 0 && lines?.[n]?.[0].startsWith("def ");
  const first = opens(before?.lines, row.b) || opens(after?.lines, row.a);
  const side = (which, module, kind) =>
    cells(parts[which], module, row[which], which, row.sign ?? kind, marked[which], marks[which]);
  const line = (kind, ...content) =>
    make("div", { class: `byl-row byl-${kind}${typed ? " byl-typed" : ""}${first ? " byl-opens" : ""}`, "data-kind": kind }, ...content);
  if (split) {
    const left = row.kind === "added" ? blank() : side("b", before, row.kind);
    const right = row.kind === "removed" ? blank() : side("a", after, row.kind);
    return [line(row.kind, ...left, ...right)];
  }
  if (row.kind === "changed") {
    return [line("changed byl-old", ...side("b", before, "removed")), line("changed byl-new", ...side("a", after, "added"))];
  }
  const which = row.a !== null && after ? "a" : "b";
  return [line(row.kind, ...side(which, which === "a" ? after : before, row.kind))];
}

/** A button in place of lines. */
function opener(classes, label, item, sides) {
  const button = make("button", { class: classes, type: "button", title: "Show these lines" }, label);
  button.addEventListener("click", () => sides.unfold(item));
  return button;
}

/** A line that was moved here: beside its old line, or with a note about its old position. */
function drawMoved(row, { before, after, marks }, split) {
  const parts = { b: tokens(before.lines[row.b][0]), a: tokens(after.lines[row.a][0]) };
  const [wordsB, wordsA] = differing(parts.b, parts.a);
  const shown = [...(split ? cells(parts.b, before, row.b, "b", "went", wordsB, marks.b) : []), ...cells(parts.a, after, row.a, "a", "came", wordsA, marks.a)];
  if (!split) shown.at(-1).dataset.from = String(row.b + 1);
  return [make("div", { class: "byl-row byl-moved-row", "data-kind": "moved" }, ...shown)];
}

const width = (token) => (token.kind === "type" ? 0 : token.text.length);
const blank = () => [make("span", { class: "byl-blank" })];

function cells(parts, module, number, which, kind, marked, findings) {
  const [, id] = module.lines[number];
  const here = findings.get(number) ?? [];
  const worst = ["error", "warning", "info"].find((s) => here.some((f) => f.severity === s));
  const sign = make("span", { class: "byl-sign", title: WORD[kind], role: "img", "aria-label": WORD[kind] ?? "unchanged" }, SIGN[kind]);
  const mark = worst
    ? make("button", { class: `byl-mark byl-${worst}`, type: "button", "data-finding": module.findings.indexOf(here[0]),
        title: here.map((f) => `${f.code}: ${f.message}`).join("\n"), "aria-label": `${here.length} findings` }, ICON[worst])
    : null;
  const code = make("code", { class: "byl-code", "data-id": id, "data-side": which, "data-line": number });
  const wrong = new Set(here.map((f) => f.operand).filter(Boolean));
  const write = (from, to) => writeLine(code, parts.slice(from, to), module.names, marked, wrong, from);
  const length = parts.reduce((sum, t) => sum + width(t), 0);
  if (length <= LONGEST_LINE + 60) write(0);
  else writeCut(code, parts, write);
  return [make("span", { class: "byl-number" }, String(number + 1), mark), sign, code];
}

/** A very long line (a function with a hundred parameters): both ends, and a button. */
function writeCut(code, parts, write) {
  const fitting = (tokens, room) => {
    let n = 0;
    for (let used = 0; n < tokens.length && (used += width(tokens[n])) <= room; n++);
    return n;
  };
  const head = fitting(parts, HEAD);
  const tail = parts.length - fitting([...parts].reverse(), LONGEST_LINE - HEAD);
  const rest = parts.slice(head, tail).reduce((sum, t) => sum + width(t), 0);
  const button = make("button", { class: "byl-more", type: "button", title: "Show the whole line" }, `… ${number(rest)} more characters …`);
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    code.replaceChildren();
    write(0);
  });
  write(0, head);
  code.append(button);
  write(tail);
}

/** Scroll `pane` alone (never the page) so that `target` can be seen. */
export function scrollInto(pane, target) {
  const box = pane.getBoundingClientRect();
  const at = target.getBoundingClientRect();
  if (at.top < box.top + 30 || at.bottom > box.bottom - 20) {
    pane.scrollTop += at.top - box.top - box.height / 3;
  }
}
