// The help: all keys.
import { make } from "./text/relay_text.js";

/** Keys, their action, and the part that a page must have for it (none: any page).
 * @type {[string, string, string?][]} */
const KEYS = [
  ["← →  or  k j", "previous / next stage", "stages"],
  ["Home  End", "first / last stage", "stages"],
  [",  .", "previous / next rewrite inside the pass", "rewrites"],
  ["p  n", "previous / next change in the text"],
  ["N  n", "in the graph, after a search: previous / next node that was found"],
  ["/", "filter the stages", "stages"],
  ["c", "changed stages only", "stages"],
  ["s", "side by side / one below the other"],
  ["t", "show / hide types"],
  ["w", "wrap long lines"],
  ["g", "wide graph / wide text"],
  ["space", "play / pause the rewrites", "rewrites"],
  ["f  F", "next / previous finding, in other stages too"],
  ["]  [", "next / previous line of the text"],
  ["b", "put the chosen operator into a region, or take it out", "board"],
  ["z  Z", "undo / redo", "board"],
  ["P", "presenter mode: full screen, large type"],
  ["o", "open / close the group in the graph that has the focus"],
  ["u", "follow: only the nodes that the chosen node depends on, or that depend on it"],
  ["?", "this help"],
];

/** The help: a dialog, hidden at first. */
export class Help {
  /** @param {HTMLElement} root gets the focus back when the dialog closes
   * @param {{ has: Record<string, boolean>, panels: string[] }} page the parts of the page */
  constructor(root, page) {
    this.root = root;
    this.element = helpDialog(page);
  }

  /** @param {boolean} yes */
  show(yes) {
    this.element.hidden = !yes;
    (yes ? this.element : this.root).focus();
  }
}

/** @param {{ has: Record<string, boolean>, panels: string[] }} page */
function helpDialog({ has, panels }) {
  const numbers = panels.map((_, n) => n + 1).join(" ");
  const keys = [
    ...KEYS.filter(([, , where]) => !where || has[where]),
    ["Esc", `close this${has.rewrites ? ", go back to the whole pass," : ""} or deselect the node`],
    [numbers, `the panels: ${panels.join(", ").toLowerCase()}`],
  ];
  return make("div", { class: "byl-help", role: "dialog", "aria-label": "Keys", tabindex: "-1", hidden: true },
    make("h3", {}, "Keys"), make("dl", {}, ...keys.flatMap(([k, what]) => [make("dt", {}, k), make("dd", {}, what)])),
    make("p", {}, `Click a line, a %variable, a graph node${has.rewrites ? ", a rewrite" : ""} or a finding to select its node everywhere.`));
}
