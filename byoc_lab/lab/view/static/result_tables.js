// Results as tables (see byoc_lab/lab/view/states/tables.py), whose rows are linked to the graph.
import { idsIn } from "./lineage.js";
import { make, number } from "./text/relay_text.js";

/** A node, then the groups around it in a scene: its composite and its region.
 * @param {Sent.Scene} scene @param {string} id @returns {string[]} */
export function around(scene, id) {
  const found = [id];
  const box = scene?.boxes.find((/** @type {Sent.Box} */ b) => b.ids.includes(id));
  const group = scene?.groups.findIndex((/** @type {Sent.Group} */ g) => g.node === id) ?? -1;
  for (let g = box ? box.group : (scene?.groups[group]?.group ?? -1); g >= 0; g = scene.groups[g].group) if (scene.groups[g].node) found.push(scene.groups[g].node);
  return found;
}

/** The node whose rows are highlighted if `id` is selected: the node itself or the nearest group around
 * it that has a row.
 * @param {Sent.Table} table @param {Sent.Scene} scene @param {string} id */
export function litNode(table, scene, id) {
  if (!id) return "";
  const nodes = new Set(table.rows.map((row) => row.node));
  return around(scene, id).find((node) => nodes.has(node)) ?? "";
}

export class ResultTables {
  /** @param {import("./store.js").Store} store @param {HTMLElement} pane @param {AbortSignal} signal */
  constructor(store, pane, signal) {
    this.store = store;
    this.pane = pane;
    this.shown = "";
    this.choice = make("div", { class: "byl-segments", role: "group", "aria-label": "Which result" });
    this.place = make("div", { class: "byl-results" });
    pane.append(this.choice, this.place);
    this.choice.addEventListener("click", (event) => {
      const name = /** @type {HTMLElement} */ (event.target).closest("button")?.dataset.result;
      if (name !== undefined) this.draw(name);
    }, { signal });
    this.place.addEventListener("click", (event) => this.choose(event), { signal });
    this.place.addEventListener("keydown", (event) => this.key(event), { signal });
  }

  /** @returns {Sent.Table[]} */
  get tables() {
    return this.store.known.tables ?? [];
  }

  /** Draw one table: the one that was shown, or the first. @param {string} [wanted] */
  draw(wanted = this.shown) {
    const { tables } = this;
    const at = Math.max(0, tables.findIndex((_, n) => String(n) === wanted));
    const table = tables[at];
    this.shown = String(at);
    this.choice.replaceChildren(...tables.map((t, n) => make("button", { type: "button", "data-result": n, "aria-pressed": String(n === at) }, t.name)));
    this.place.replaceChildren();
    if (!table) return;
    const head = make("tr", {}, ...table.columns.map(([title, number]) => make("th", { scope: "col", class: number ? "byl-number" : null }, title)));
    const body = make("tbody", {}, ...table.rows.map((row, n) => this.row(table, row, n)));
    this.place.append(make("table", {}, make("caption", {}, table.summary), make("thead", {}, head), body));
    if (table.left_out) this.place.append(make("p", { class: "byl-empty" }, `… and ${number(table.left_out)} more rows; the result itself has all of them.`));
    this.mark(false);
  }

  /** @param {Sent.Table} table @param {Sent.Row} row @param {number} n */
  row(table, row, n) {
    const [first, ...rest] = row.cells;
    const linked = row.node !== null || row.stage !== null;
    const words = `${row.wrong ? "✖ " : ""}${first}`;
    const title = linked ? make("button", { type: "button" }, words) : words;
    return make("tr", { "data-row": n, class: [row.wrong && "byl-wrong-row", linked && "byl-linked"].filter(Boolean).join(" ") || null },
      make("th", { scope: "row" }, title), ...rest.map((cell, k) => make("td", { class: table.columns[k + 1][1] ? "byl-number" : null }, cell)));
  }

  /** Show the node of a row, in the shown stage if that contains the node.
   * @param {Event} event */
  choose(event) {
    const element = /** @type {HTMLElement} */ (event.target).closest("tr");
    const row = this.tables[Number(this.shown)]?.rows[Number(element?.dataset.row ?? -1)];
    if (!row || !element) return;
    const { store } = this;
    const { after, before } = store.pair;
    const here = row.node !== null && idsIn(after ?? before).has(row.node);
    if (!here && row.stage !== null) store.go(row.stage);
    if (row.node !== null) store.choose(row.node, true);
    element.querySelector("button")?.focus();
  }

  /** The keys Up and Down move between the linked rows. @param {KeyboardEvent} event */
  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const buttons = [...this.place.querySelectorAll("button")];
    const now = buttons.findIndex((b) => b === event.target);
    buttons[Math.max(0, Math.min(now + step, buttons.length - 1))]?.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Highlight the rows of the selected node. @param {boolean} reveal */
  mark(reveal) {
    const table = this.tables[Number(this.shown)];
    if (!table) return;
    const { after, before } = this.store.pair;
    const lit = litNode(table, (after ?? before)?.scene, this.store.selected);
    let first = null;
    for (const element of this.place.querySelectorAll("tr[data-row]")) {
      const yes = lit !== "" && table.rows[Number(/** @type {HTMLElement} */ (element).dataset.row)].node === lit;
      element.classList.toggle("byl-chosen", yes);
      const button = element.querySelector("button");
      if (yes) button?.setAttribute("aria-current", "true");
      else button?.removeAttribute("aria-current");
      if (yes) first ??= element;
    }
    if (reveal) first?.scrollIntoView({ block: "nearest" });
  }
}
