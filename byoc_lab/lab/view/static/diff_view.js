// The diff in the centre: the module before and after one stage, row by row.
import { rowsOf, withMoves } from "./moves.js";
import { differing, make, tokens, withoutTypes, writeLine } from "./relay_text.js";

const CONTEXT = 3; // unchanged lines kept on each side of a change
const SHORTEST_FOLD = 12;
const LONGEST_LINE = 220; // characters without types; longer lines are cut, with a button for the rest
const SIGN = { added: "+", removed: "−", changed: "~", same: "", went: "↗", came: "↘" };
const WORD = { ...Object.fromEntries(["added", "removed", "changed"].map((k) => [k, k])), went: "moved away", came: "moved here" };
const HEAD = 140; // characters kept at the beginning of a line that is cut; as many as fit at its end
export const ICON = { error: "✖", warning: "▲", info: "●" };

/** Draw `stage` into `pane`. `options`: {split, types}. The caller handles selection. */
export function drawDiff(pane, state, stage, options) {
  const before = stage.before === null ? null : state.modules[stage.before];
  const after = stage.after === null ? null : state.modules[stage.after];
  const single = !before || !after;
  const split = options.split && !single;
  pane.replaceChildren();
  pane.dataset.layout = single ? "single" : split ? "split" : "unified";
  if (split) {
    const heading = (text) => make("div", { class: "byl-side-name" }, text);
    pane.append(make("div", { class: "byl-columns" }, heading("Before"), heading("After")));
  }
  const sides = { before, after, marks: { b: marksOf(before), a: marksOf(after) } };
  const rows = withMoves(rowsOf(stage), before, after, stage.replaced ?? []);
  let run = [];
  const flush = (atStart, atEnd) => {
    pane.append(...folded(run, atStart || single, atEnd || single, (r) => drawRow(r, sides, split, options)));
    run = [];
  };
  let first = true;
  const anyChange = rows.some((r) => r.kind !== "same");
  for (const row of rows) {
    if (row.kind === "same" && anyChange && !single) run.push(row);
    else {
      flush(first, false);
      first = false;
      pane.append(...drawRow(row, sides, split, options));
    }
  }
  flush(first, true);
}

/** A run of unchanged rows; the middle of a long run is behind a button. */
function folded(run, atStart, atEnd, draw) {
  const head = atStart ? 0 : CONTEXT;
  const tail = atEnd ? 0 : CONTEXT;
  const hidden = run.slice(head, run.length - tail);
  if (hidden.length < SHORTEST_FOLD) return run.flatMap(draw);
  const label = `${hidden.length} unchanged lines`;
  const button = make("button", { class: "byl-fold", type: "button", title: "Show these lines" }, `⋯ ${label}`);
  // Folded rows are created on demand; `unfold` also serves a jump to a line.
  button.unfold = () => button.replaceWith(...hidden.flatMap(draw));
  button.dataset.lines = hidden.map((r) => `${r.b ?? ""}:${r.a ?? ""}`).join(" ");
  button.addEventListener("click", () => button.unfold());
  return [...run.slice(0, head).flatMap(draw), button, ...run.slice(run.length - tail).flatMap(draw)];
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

function drawRow(row, sides, split, options) {
  const { before, after, marks } = sides;
  if (row.kind === "gone") return [goneAway(row, (r) => drawRow(r, sides, split, options))];
  if (row.kind === "moved") return drawMoved(row, sides, split);
  const parts = { b: null, a: null };
  const marked = { b: undefined, a: undefined };
  let typed = false;
  if (row.b !== null && before) parts.b = tokens(before.lines[row.b][0]);
  if (row.a !== null && after) parts.a = tokens(after.lines[row.a][0]);
  if (row.kind === "changed") {
    [marked.b, marked.a] = differing(parts.b, parts.a);
    // When nothing but types changed, hiding the types would hide the change.
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

/** Lines that moved to another place: one note, which opens. */
function goneAway(row, draw) {
  const count = row.gone.length;
  const button = make("button", { class: "byl-fold byl-gone-away", type: "button", title: "Show these lines" }, `↗ ${count} line${count > 1 ? "s" : ""} moved ${row.to ? `to ${row.to}` : "away"}`);
  button.unfold = () => button.replaceWith(...row.gone.flatMap((r) => draw({ ...r, kind: "removed", sign: "went" })));
  button.dataset.lines = row.gone.map((r) => `${r.b}:`).join(" ");
  button.addEventListener("click", () => button.unfold());
  return button;
}

/** A line that came from another place: beside the line it was, or with a note where it was. */
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
  const button = make("button", { class: "byl-more", type: "button", title: "Show the whole line" }, `… ${rest.toLocaleString("en")} more characters …`);
  button.addEventListener("click", (event) => {
    event.stopPropagation();
    code.replaceChildren();
    write(0);
  });
  write(0, head);
  code.append(button);
  write(tail);
}

/** Highlight everything in `pane` that shows node `id`; with `reveal`, scroll to it if needed. */
export function chooseInDiff(pane, state, stage, id, reveal, related = new Set()) {
  if (id && reveal && !pane.querySelector(`code[data-id="${CSS.escape(id)}"]`)) unfoldFor(pane, state, stage, id);
  for (const element of pane.querySelectorAll(".byl-chosen")) element.classList.remove("byl-chosen");
  for (const element of pane.querySelectorAll(".byl-related")) element.classList.remove("byl-related");
  if (!id) return;
  for (const other of related) {
    if (other !== id) for (const hit of pane.querySelectorAll(`[data-id="${CSS.escape(other)}"]`)) hit.classList.add("byl-related");
  }
  const hits = pane.querySelectorAll(`[data-id="${CSS.escape(id)}"]`);
  for (const hit of hits) hit.classList.add("byl-chosen");
  const target = [...hits].find((h) => h.dataset.side === "a") ?? [...hits].find((h) => h.tagName === "CODE") ?? hits[0];
  if (reveal && target) scrollInto(pane, target);
}

function unfoldFor(pane, state, stage, id) {
  for (const fold of pane.querySelectorAll(".byl-fold")) {
    const has = fold.dataset.lines.split(" ").some((pair) => {
      const [b, a] = pair.split(":");
      const hit = (module, line) => line !== "" && module !== null && state.modules[module].lines[line][1] === id;
      return hit(stage.before, b) || hit(stage.after, a);
    });
    if (has) fold.unfold();
  }
}

/** Scroll `pane` alone (never the page) so that `target` can be seen. */
export function scrollInto(pane, target) {
  const box = pane.getBoundingClientRect();
  const at = target.getBoundingClientRect();
  if (at.top < box.top + 30 || at.bottom > box.bottom - 20) {
    pane.scrollTop += at.top - box.top - box.height / 3;
  }
}
