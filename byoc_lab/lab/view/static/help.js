// The help: all keys.
import { make } from "./text/relay_text.js";

const KEYS = [
  ["← →  or  k j", "previous / next stage"],
  ["Home  End", "first / last stage"],
  [",  .", "previous / next rewrite inside the pass"],
  ["p  n", "previous / next change in the text"],
  ["N  n", "in the graph, after a search: previous / next node that was found"],
  ["/", "filter the stages"],
  ["c", "changed stages only"],
  ["s", "side by side / one below the other"],
  ["t", "show / hide types"],
  ["w", "wrap long lines"],
  ["1 2 3 4 5 6", "text, findings, rewrites, changes, the selected node, attached results"],
  ["g", "wide graph / wide text"],
  ["space", "play / pause the rewrites"],
  ["f  F", "next / previous finding, in other stages too"],
  ["]  [", "next / previous line of the text"],
  ["b", "on the annotation board: put the chosen operator into a region, or take it out"],
  ["z  Z", "on the annotation board: undo / redo"],
  ["P", "presenter mode: full screen, large type"],
  ["o", "open / close the group in the graph that has the focus"],
  ["u", "follow: only what the chosen node depends on, and what depends on it"],
  ["Esc", "back to the whole pass, deselect the node, close this"],
  ["?", "this help"],
];

/** The help: a dialog, hidden at first. */
export class Help {
  /** @param {HTMLElement} root gets the focus back when the dialog closes */
  constructor(root) {
    this.root = root;
    this.element = helpDialog();
  }

  /** @param {boolean} yes */
  show(yes) {
    this.element.hidden = !yes;
    (yes ? this.element : this.root).focus();
  }
}

function helpDialog() {
  return make("div", { class: "byl-help", role: "dialog", "aria-label": "Keys", tabindex: "-1", hidden: true },
    make("h3", {}, "Keys"), make("dl", {}, ...KEYS.flatMap(([k, what]) => [make("dt", {}, k), make("dd", {}, what)])),
    make("p", {}, "Click a line, a %variable, a graph node, a finding or a rewrite to select its node everywhere."));
}
