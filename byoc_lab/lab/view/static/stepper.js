// The view: builds the components and puts them into the page. Each of them draws itself from the store.
import { BoardBar } from "./board_bar.js";
import { border } from "./borders.js";
import { scrollInto } from "./text/diff_view.js";
import { GraphPane } from "./graph/graph_pane.js";
import { Header } from "./header.js";
import { Heading } from "./heading.js";
import { Help } from "./help.js";
import { listenToKeys } from "./keys.js";
import { drawNode } from "./node_panel.js";
import { drawChanges, drawEvents, drawFindings, drawMovedOperators, markCards, Tabs } from "./panels.js";
import { Player } from "./player.js";
import { present } from "./presenter.js";
import { counted, make } from "./text/relay_text.js";
import { ResultTables } from "./result_tables.js";
import { Rewrites } from "./rewrites.js";
import { hideSavedCopy } from "./saved_copy.js";
import { pageModel } from "./saved_page.js";
import { StageList, tally } from "./stage_list.js";
import { OPTIONS, Store } from "./store.js";
import { addStyle } from "./style.js";
import { TextPane } from "./text/text_pane.js";
import { followTheme } from "./theme.js";

/** The panels at the right, by the kind of the state. @type {Record<string, string[]>} */
const PANELS = {
  trace: ["Text", "Findings", "Rewrites", "Changes", "Node", "Results"],
  comparison: ["Text", "Findings", "Moved", "Changes"],
  diff: ["Text", "Findings", "Changes"],
  module: ["Text", "Findings"],
};

/** Draw the view, and again whenever it gets another state. */
function render({ model, el }) {
  addStyle(el);
  const options = { ...OPTIONS }; // the reader's choices apply to all states
  let remove = view(model, el, options);
  const again = () => {
    const focused = el.contains(document.activeElement);
    remove();
    remove = view(model, el, options);
    if (focused) el.querySelector(".byl").focus();
  };
  model.on("change:state", again);
  return () => {
    model.off("change:state", again);
    remove();
  };
}

function view(model, el, options) {
  const life = new AbortController();
  const { signal } = life;
  const store = new Store(model, options, signal);
  const { state } = store;

  // ---- the components -------------------------------------------------------------------------
  const root = make("section", { class: "byl", tabindex: "0", "data-lm-suppress-shortcuts": "true", "aria-label": `byoc_lab: ${state.title}`, "data-kind": state.kind });
  const help = new Help(root, { has: { stages: store.hasStages, rewrites: store.isTrace, board: Boolean(state.board) }, panels: PANELS[state.kind] });
  const left = make("nav", { class: "byl-stages", "aria-label": "Stages", hidden: !store.hasStages });
  const stages = new StageList(left, store, signal);
  const player = new Player(store, stages, signal);
  const rewrites = new Rewrites(store, player.elements, say, signal);
  const header = new Header(store, stages, { widen, present: () => present(root, header.presenting), help: () => help.show(help.element.hidden) }, signal);
  const board = state.board ? new BoardBar(store, signal) : null;
  const heading = new Heading(store, [rewrites.bar, ...(board ? [board.element] : [])], showFinding, signal);
  const graphs = /** @type {("" | "before" | "after")[]} */ (store.isComparison ? ["before", "after"] : [""]).map((side) => new GraphPane(store, side, signal));
  const text = new TextPane(store, root, showFinding, signal);
  const panels = Object.fromEntries(PANELS[state.kind].map((n) => [n, make("div", { class: `byl-panel byl-panel-${n.toLowerCase()}` })]));
  const results = panels.Results ? new ResultTables(store, panels.Results, signal) : null;
  panels.Text.append(...text.elements);
  const bar = make("div", { class: "byl-tabs" });
  const tabs = new Tabs(bar, panels, (name) => root.dataset.ready && shownNow(name), signal);
  if (state.tab === "findings") tabs.show("Findings");
  const live = make("div", { class: "byl-live", "aria-live": "polite" });

  // ---- the page -------------------------------------------------------------------------------
  const centre = make("div", { class: "byl-centre" }, heading.element, make("div", { class: "byl-graphs" }, ...graphs.map((graph) => graph.element)));
  const side = make("aside", { class: "byl-side", "aria-label": "Details" }, bar, ...Object.values(panels));
  const width = (element) => () => element.getBoundingClientRect().width;
  const listBorder = border(root, { name: "--byl-list", label: "Width of the stages", axis: "x", sign: 1, size: width(left), limits: () => [120, 420] }, signal);
  const sideBorder = border(root, { name: "--byl-side", label: "Width of the details", axis: "x", sign: -1, size: width(side), limits: () => [180, Math.max(200, root.clientWidth - 420)] }, signal);
  const endBorder = border(root, { name: "--byl-height", label: "Height", axis: "y", sign: 1, size: () => root.getBoundingClientRect().height, limits: () => [320, 4000] }, signal);
  listBorder.hidden = !store.hasStages;
  root.append(header.element, make("div", { class: "byl-body" }, left, listBorder, centre, sideBorder, side), endBorder, live, help.element);

  // ---- shared by several components -----------------------------------------------------------
  store.on("stage", () => {
    root.dataset.index = String(store.index);
    stages.show(store.index);
    drawPanels();
    store.tell("selection", true);
    say();
    root.dataset.ready = "true";
  });
  store.on("rewrite", (again) => {
    if (!root.dataset.ready || (store.at && !store.step)) return; // the step was not received yet
    if (again) return store.tell("selection", true); // the text was received
    if (tabs.current === "Rewrites") for (const card of markCards(panels.Rewrites, store.at)) scrollInto(panels.Rewrites, card);
    else stale.add("Rewrites");
    const event = store.step?.event;
    if (event) store.choose(event.after ?? event.before ?? "", true);
    else store.tell("selection", false);
    say();
  });
  store.on("selection", () => {
    const id = store.selected;
    root.dataset.selected = id;
    stale.add("Node");
    shownNow(tabs.current === "Node" ? "Node" : "");
    for (const c of side.querySelectorAll("[data-node]")) c.classList.toggle("byl-chosen", id !== "" && c.dataset.node === id);
  });

  const attached = () => {
    if (!results) return;
    tabs.offer("Results", results.tables.length > 0);
    stale.add("Results");
    if (tabs.current === "Results") shownNow("Results");
  };
  store.on("known", () => (attached(), store.tell("selection", false)));
  store.on("selection", (reveal) => tabs.current === "Results" && results?.mark(reveal));
  store.on("kernel", () => {
    if (root.querySelector(".byl-restarted")) return;
    header.element.after(make("p", { class: "byl-restarted", role: "status" },
      "The kernel of this view has ended: selecting a node no longer reaches Python, and rewrites that were not shown yet cannot be computed. Stages, text, graph, search and history still work. Run the cell again to reconnect."));
  });

  // A panel is drawn when it is shown.
  const drawing = {
    Findings: () => drawFindings(panels.Findings, store),
    Rewrites: () => (drawEvents(panels.Rewrites, state, store.stage), markCards(panels.Rewrites, store.at)),
    Moved: () => drawMovedOperators(panels.Moved, store.stage),
    Changes: () => drawChanges(panels.Changes, store.stage),
    Node: () => drawNode(panels.Node, store),
    Results: () => results?.draw(),
  };
  const stale = new Set();

  function shownNow(name) {
    if (name === "Text") text.mark(true);
    if (stale.delete(name)) drawing[name]();
    else if (name === "Results") results?.mark(true);
  }

  function drawPanels() {
    const { stage } = store;
    const shown = store.moduleOf("after") ?? store.moduleOf("before");
    tabs.count("Findings", shown.findings.length, tally(shown)[0]?.[0]);
    if (panels.Rewrites) tabs.count("Rewrites", stage.events_total);
    if (panels.Moved) tabs.count("Moved", stage.moved_total);
    if (panels.Changes) tabs.count("Changes", stage.changes_total);
    for (const name of Object.keys(panels)) if (drawing[name] && name !== "Results") stale.add(name);
    shownNow(tabs.current);
  }

  /** Announce what is shown to screen readers. */
  function say() {
    const { stage, at, index } = store;
    const shown = store.moduleOf("after") ?? store.moduleOf("before");
    live.textContent = at
      ? `${rewrites.position.textContent} of ${stage.name}. ${rewrites.words.textContent}`
      : `Stage ${index + 1} of ${state.stages.length}: ${stage.name}, ${stage.outcome.word}, ${store.isTrace ? `${counted(stage.events_total, "rewrite")}, ` : ""}${counted(shown.findings.length, "finding")}. ${stage.caption}`;
  }

  /** Give the text or the graph most of the width. */
  function widen() {
    const yes = root.dataset.wide !== "text";
    root.dataset.wide = yes ? "text" : "graph";
    root.style.removeProperty("--byl-side");
    header.wide.setAttribute("aria-pressed", String(yes));
  }

  function showFinding(n) {
    tabs.show("Findings");
    const found = panels.Findings.querySelector(`[data-finding="${n}"]`);
    if (!found) return;
    scrollInto(panels.Findings, found);
    found.classList.add("byl-flash");
    found.addEventListener("animationend", () => found.classList.remove("byl-flash"), { once: true });
    if (found.dataset.node) store.choose(found.dataset.node, true);
  }

  /** Show the next finding (`direction` 1) or the previous one (-1); after the last finding of the stage,
   * the first finding of the next stage with findings. */
  function nextFinding(direction) {
    shownNow("Findings");
    const cards = [...panels.Findings.querySelectorAll("[data-finding]")];
    const at = cards.findIndex((c) => c.classList.contains("byl-now")) + direction;
    const now = cards[at === -2 ? cards.length - 1 : at];
    if (now) {
      for (const c of cards) c.classList.toggle("byl-now", c === now);
      return showFinding(Number(now.dataset.finding));
    }
    const has = (stage) => (state.modules[stage.after ?? stage.before]?.findings.length ?? 0) > 0;
    for (let n = store.index + direction; n >= 0 && n < state.stages.length; n += direction) {
      if (!has(state.stages[n])) continue;
      store.go(n);
      return nextFinding(direction);
    }
  }

  side.addEventListener("click", (event) => {
    const rewrite = event.target.closest("[data-rewrite]");
    if (rewrite) store.goToRewrite(Number(rewrite.dataset.rewrite));
    const clicked = event.target.closest("[data-node]");
    if (clicked?.dataset.stage) store.go(Number(clicked.dataset.stage));
    if (clicked) store.choose(clicked.dataset.node, true);
  }, { signal });
  root.addEventListener("click", (event) => event.target.closest(".byl-reason-badge") && tabs.show("Node"), { signal });
  listenToKeys(root, { store, stages, text, graphs, tabs, player, help, board, widen, nextFinding, present: () => present(root, header.presenting) }, signal);
  for (const control of [stages.filter, stages.changedOnly]) control.addEventListener("input", () => header.drawEnds(), { signal });
  hideSavedCopy(root, model.get("saved_as"));
  el.append(root);
  followTheme(root, signal);
  attached();
  store.take();
  if (!root.dataset.ready) store.tell("stage");

  return () => {
    life.abort();
    root.remove();
  };
}

/** Show the state of a saved page. @param {Sent.State} state @param {HTMLElement} el */
function open(state, el) {
  render({ model: pageModel(state), el });
  // without this the host would scroll to the view
  if (window.parent === window) el.querySelector("section")?.focus();
}

export default { render, open };
