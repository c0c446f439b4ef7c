// Relay text: tokens, colours, and the words that differ between two lines.
// Text of a module becomes text nodes only; nothing here writes HTML.

const TOKEN = new RegExp(
  [
    String.raw`(?<type>\s?\/\*\s*ty=[\s\S]*?\*\/)`,
    String.raw`(?<comment>\/\/.*|\/\*[\s\S]*?\*\/)`,
    String.raw`(?<string>"(?:[^"\\]|\\.)*")`,
    String.raw`(?<const>meta\[relay\.Constant\]\[\d+\])`,
    String.raw`(?<var>%[\w.:\-]*\w)`,
    String.raw`(?<global>@[\w.:\-]*\w)`,
    String.raw`\b(?<keyword>def|fn|let|if|else|free_var|meta|ref|True|False|None)\b`,
    String.raw`\b(?<dtype>Tensor|bool|u?int\d+|b?float\d+)\b`,
    String.raw`(?<arrow>->)`,
    String.raw`(?<number>-?\b\d[\w.]*)`,
    String.raw`(?<mark>annotation\.compiler_(?:begin|end))(?=\()`,
    String.raw`(?<op>[A-Za-z_][\w.]*)(?=\()`,
    String.raw`(?<plain>[A-Za-z_][\w.]*|\s+|.)`,
  ].join("|"),
  "g",
);

/** All tokens of a line: [{kind, text}]. */
export function tokens(text) {
  const found = [];
  for (const match of text.matchAll(TOKEN)) {
    const kind = Object.keys(match.groups).find((k) => match.groups[k] !== undefined);
    found.push({ kind, text: match[0] });
  }
  return found;
}

/** A line without its type comments, for the comparison when types are hidden. */
export function withoutTypes(text) {
  return tokens(text)
    .filter((t) => t.kind !== "type")
    .map((t) => t.text)
    .join("")
    .trim();
}

/** Positions of tokens except white space, since indentation is not a change. */
class Words extends Set {
  constructor(parts) {
    super();
    this.parts = parts;
  }
  add(n) {
    return this.parts[n].text.trim() ? super.add(n) : this;
  }
}

// maximum of cells of the table below; with more, only equal beginnings and ends are found
const LARGEST = 60000;

/** The tokens of `a` and `b` without a counterpart, as two Sets of positions. %3 equals %4. */
export function differing(a, b) {
  const key = (t) => t.text.replace(/^%\d+$/, "%");
  const x = a.map(key);
  const y = b.map(key);
  let head = 0;
  while (head < x.length && head < y.length && x[head] === y[head]) head++;
  let tail = 0;
  while (tail < x.length - head && tail < y.length - head && x.at(-1 - tail) === y.at(-1 - tail)) tail++;
  const n = x.length - head - tail;
  const m = y.length - head - tail;
  const inA = new Words(a);
  const inB = new Words(b);
  if (n * m > LARGEST) {
    for (let i = 0; i < n; i++) inA.add(head + i);
    for (let j = 0; j < m; j++) inB.add(head + j);
    return [inA, inB];
  }
  // Longest common subsequence; length[i][j] is the length for x[i..] and y[j..], without common
  // beginnings and ends.
  const length = Array.from({ length: n + 1 }, () => new Uint16Array(m + 1));
  for (let i = n - 1; i >= 0; i--) {
    for (let j = m - 1; j >= 0; j--) {
      const same = x[head + i] === y[head + j];
      length[i][j] = same ? length[i + 1][j + 1] + 1 : Math.max(length[i + 1][j], length[i][j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < n || j < m) {
    if (i < n && j < m && x[head + i] === y[head + j]) {
      i++;
      j++;
    } else if (j >= m || (i < n && length[i + 1][j] >= length[i][j + 1])) inA.add(head + i++);
    else inB.add(head + j++);
  }
  return [inA, inB];
}

/** An element with class, text and children; the only way to create elements here. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** "1 rewrite", "2,000 rewrites"; the same as in Python. @param {number} count @param {string} noun */
export const counted = (count, noun) => (count === 1 ? `1 ${noun}` : `${number(count)} ${noun}s`);

/** A count with its thousands separated: "14,857". @param {number} count */
export const number = (count) => count.toLocaleString("en");

const NAMES = new Set(["var", "global", "const"]);
const CALLS = new Set(["op", "mark", "var", "global"]);

const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** A text with escaped direction marks, which would display a name in a different order.
 * @param {string} text */
export const spelled = (text) => text.replace(TURNING, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

/**
 * Append tokens to `code`, coloured. `names` (%3 -> node id) makes variables selectable, `marked` are
 * positions of changed words, `wrong` are names that a finding is about.
 */
export function writeLine(code, parts, names, marked = new Set(), wrong = new Set(), from = 0) {
  parts.forEach((token, at) => {
    const n = at + from;
    const id = NAMES.has(token.kind) ? names[token.text] : undefined;
    if (token.kind === "plain" && !marked.has(n)) {
      code.append(spelled(token.text));
      // A long call may break after its bracket.
      if (token.text === "(" && CALLS.has(parts[at - 1]?.kind)) code.append(make("wbr"));
      return;
    }
    const classes = `byl-t-${token.kind}${marked.has(n) ? " byl-word" : ""}${wrong.has(token.text) ? " byl-wrong" : ""}`;
    code.append(make("span", { class: classes, "data-id": id }, spelled(token.text)));
  });
}
