// The panels beside the diff: findings, rewrites inside the pass, and changes.
import { ICON } from "./text/diff_view.js";
import { make, number, spelled } from "./text/relay_text.js";

const MAX_CARDS = 300; // maximum of listed findings

/** A card that selects a node when clicked; without a node it is not a button. */
function card(kind, node, ...content) {
  return make(node ? "button" : "div", { class: `byl-card byl-${kind}`, type: node ? "button" : null, "data-node": node }, ...content);
}

const line = (kind, text) => make("span", { class: `byl-${kind}` }, text);

/** The findings after the stage, new ones marked; then the findings that the stage resolved. */
export function drawFindings(pane, store) {
  const { state, stage } = store;
  const { words } = state;
  const before = stage.before === null ? [] : state.modules[stage.before].findings;
  const after = stage.after === null ? null : state.modules[stage.after].findings;
  const sign = (f) => `${f.code} ${f.message}`;
  const known = new Set(before.map(sign));
  const shown = after ?? before;
  pane.replaceChildren();
  shown.slice(0, MAX_CARDS).forEach((finding, n) => {
    const isNew = after && stage.before !== null && !known.has(sign(finding));
    pane.append(findingCard(finding, n, isNew && words.isNew));
    if (finding.code !== shown[n + 1]?.code) pane.append(...aboutOf(state, finding.code));
  });
  const left = new Set((after ?? []).map(sign));
  const gone = after ? before.filter((f) => !left.has(sign(f))) : [];
  if (gone.length) {
    pane.append(make("h4", {}, `${words.gone} (${gone.length})`));
    pane.append(...gone.slice(0, MAX_CARDS).map((f) => findingCard(f, null, false, "gone")));
  }
  const more = shown.length - MAX_CARDS;
  if (more > 0) pane.append(empty(`… and ${number(more)} more; \`trace[${state.stages.indexOf(stage)}].findings_after\` has all of them.`));
  if (stage.pending) pane.append(empty("The findings of this stage are being computed."));
  else if (!pane.children.length) pane.append(empty("✓ No findings in this stage."));
}

function findingCard(f, n, note, extra = "") {
  const made = card(`finding byl-${f.severity} ${extra ? `byl-${extra}` : ""}`, f.node,
    make("span", { class: "byl-card-head" }, line("icon", ICON[f.severity] ?? "●"), line("code-name", `${f.code} ${f.name}`), note && line("note", note)),
    line("message", f.message),
    f.what_to_do && make("span", { class: "byl-remedy" }, make("b", {}, "How to fix: "), f.what_to_do),
    line("where", [f.severity, f.function && `in @${f.function}`, f.line !== null && `line ${f.line + 1}`].filter(Boolean).join(" · ")));
  if (n !== null) made.dataset.finding = n;
  return made;
}

/** The page and the source of a rule or a pass, folded; nothing if they are not known. */
function aboutOf(state, name) {
  const found = state.about?.[name];
  if (!found) return [];
  const text = (words) => make("pre", { tabindex: "0" }, spelled(words));
  const source = found.source ? [make("details", {}, make("summary", {}, "Source"), text(found.source))] : [];
  return [make("details", { class: "byl-about", "data-about": name }, make("summary", {}, `About ${name}`), text(found.page), ...source)];
}

/** The rewrites of a stage in order, runs of the same rule under one heading. */
export function drawEvents(pane, state, stage) {
  pane.replaceChildren(...aboutOf(state, stage.name));
  let rule = null;
  let group = null;
  for (const [n, event] of stage.events.entries()) {
    if (event.rule !== rule) {
      rule = event.rule;
      const count = make("span", { class: "byl-badge" });
      group = make("details", { class: "byl-group", open: true }, make("summary", {}, rule, count));
      group.count = count;
      pane.append(group);
    }
    group.append(eventCard(event, n + 1));
    group.count.textContent = String(group.children.length - 1);
  }
  const more = stage.events_total - stage.events.length;
  if (more > 0) pane.append(empty(`… and ${number(more)} more; the trace has all of them.`));
  if (!stage.events.length) pane.append(empty(stage.changed ? "This pass reports no individual rewrites." : "No rewrites."));
}

/** Clicking it shows the module before and after this rewrite. */
function eventCard(event, rewrite) {
  const words = [event.before_text, event.after_text].filter(Boolean).join(" → ");
  return make("button", { class: "byl-card byl-event", type: "button", "data-node": event.after ?? event.before, "data-rewrite": rewrite },
    words && line("words", words), line("reason", event.reason));
}

/** Mark the card of rewrite `at`; returns a list with this card. */
export function markCards(pane, at) {
  const cards = [...pane.querySelectorAll("[data-rewrite]")];
  for (const card of cards) card.classList.toggle("byl-current", Number(card.dataset.rewrite) === at);
  return cards.filter((card) => card.classList.contains("byl-current"));
}

/** The operators that are computed elsewhere in the second trace, with a heading for each kind of move. */
export function drawMovedOperators(pane, stage) {
  const cards = stage.moved.flatMap((m, n) => [...(m.way === stage.moved[n - 1]?.way ? [] : [make("h4", {}, m.way)]), card("change", m.node, line("message", m.text))]);
  pane.replaceChildren(...cards, ...andMore(stage.moved_total - stage.moved.length), cards.length ? "" : empty("No operator moved: each is on the host in both traces, or in regions of the same back end."));
}

/** The structural differences between before and after. */
export function drawChanges(pane, stage) {
  const cards = stage.changes.map((c) => card("change", c.after ?? c.before, line("kind", c.kind), line("message", c.text)));
  pane.replaceChildren(...cards, ...andMore(stage.changes_total - stage.changes.length), cards.length ? "" : empty("No changes."));
}

const andMore = (count) => (count > 0 ? [empty(`… and ${number(count)} more.`)] : []);
const empty = (text) => make("p", { class: "byl-empty" }, text);

/** A row of tabs over panels. `tabs`: {name: panel}; `onShow(name)` after a switch. */
export class Tabs {
  constructor(bar, tabs, onShow, signal) {
    this.tabs = tabs;
    this.onShow = onShow;
    this.buttons = {};
    bar.setAttribute("role", "tablist");
    const uid = `byl${Math.random().toString(36).slice(2, 8)}`;
    for (const [name, panel] of Object.entries(tabs)) {
      const count = make("span", { class: "byl-badge", hidden: true });
      const button = make("button", { type: "button", role: "tab", id: `${uid}-${name}`, "data-tab": name.toLowerCase() }, name, count);
      button.count = count;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", button.id);
      panel.dataset.panel = name.toLowerCase();
      // the panel scrolls; the text pane scrolls by itself
      if (name !== "Text") panel.setAttribute("tabindex", "0");
      button.addEventListener("click", () => this.show(name), { signal });
      this.buttons[name] = button;
      bar.append(button);
    }
    bar.addEventListener("keydown", (event) => this.key(event), { signal });
    this.show(Object.keys(tabs)[0]);
  }

  /** Arrow keys move between the tabs. */
  key(event) {
    const names = Object.keys(this.tabs).filter((name) => !this.buttons[name].hidden);
    const at = names.indexOf(this.current);
    const wanted = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (wanted === undefined) return;
    const name = names[(wanted + names.length) % names.length];
    this.show(name);
    this.buttons[name].focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /** Show or hide a tab. */
  offer(name, yes) {
    this.buttons[name].hidden = !yes;
    if (!yes && this.current === name) this.show(Object.keys(this.tabs)[0]);
  }

  show(name) {
    if (this.buttons[name].hidden) return;
    this.current = name;
    for (const [other, panel] of Object.entries(this.tabs)) {
      panel.hidden = other !== name;
      this.buttons[other].setAttribute("aria-selected", String(other === name));
      this.buttons[other].setAttribute("tabindex", other === name ? "0" : "-1");
    }
    this.onShow(name);
  }

  count(name, count, kind = "") {
    const badge = this.buttons[name].count;
    badge.hidden = !count;
    badge.textContent = number(count);
    badge.className = `byl-badge ${kind && `byl-${kind}`}`;
  }
}
