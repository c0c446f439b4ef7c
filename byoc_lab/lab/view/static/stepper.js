// The stepper: draws the state that byoc_lab/lab/view/state.py describes. Computes no diff, no layout.
import { chooseInDiff, drawDiff, scrollInto } from "./diff_view.js";
import { helpOf } from "./help.js";
import { drawChanges, drawEvents, drawFindings, Tabs } from "./panels.js";
import { make } from "./relay_text.js";
import { Rewrites } from "./rewrites.js";
import { SceneView } from "./scene_view.js";
import { outcome, StageList, tally, time } from "./stage_list.js";
import { followTheme } from "./theme.js";

const SPLIT_FROM = 900; // narrower than this, before and after go below each other

function render({ model, el }) {
  const life = new AbortController();
  const { signal } = life;
  const state = model.get("state");
  const several = state.kind === "trace";
  const options = { split: null, types: false, wrap: true, side: "after" };

  // ---- the page, once -------------------------------------------------------------------------
  const root = make("section", { class: "byl", tabindex: "0", "data-lm-suppress-shortcuts": "true", "aria-label": `byoc_lab: ${state.title}`, "data-kind": state.kind });
  const button = (cls, label, title, act, extra = {}) => {
    const b = make("button", { type: "button", class: cls, title, ...extra }, label);
    b.addEventListener("click", act, { signal });
    return b;
  };
  const previous = button("byl-step byl-previous", "‹ Previous", "Previous stage (←)", () => go(stages.next(index(), -1)));
  const next = button("byl-step byl-next", "Next ›", "Next stage (→)", () => go(stages.next(index(), 1)));
  const position = make("span", { class: "byl-position" });
  const toggle = (name, label, title) => button(`byl-toggle`, label, title, () => flip(name), { "data-toggle": name });
  const toggles = { split: toggle("split", "Split", "Before and after side by side (s)"), types: toggle("types", "Types", "Show type comments (t)"), wrap: toggle("wrap", "Wrap", "Wrap long lines (w)") };
  const wide = button("byl-toggle", "Wide text", "Give the text most of the width, or the graph (g)", () => widen(), { "aria-pressed": "false" });
  const help = helpOf();
  const helpButton = button("byl-toggle", "?", "Keys (?)", () => showHelp(help.hidden), { "aria-label": "Keys" });
  const top = make("header", { class: "byl-top" }, make("span", { class: "byl-title", title: state.title }, state.title),
    several && make("nav", { class: "byl-nav", "aria-label": "Stages" }, previous, position, next),
    make("span", { class: "byl-tools" }, wide, helpButton));
  const left = make("nav", { class: "byl-stages", "aria-label": "Stages", hidden: !several });
  const heading = make("div", { class: "byl-heading" });
  const chips = make("div", { class: "byl-chips" });
  const pane = make("div", { class: "byl-diff", role: "region", tabindex: "0", "aria-label": "Module text" });
  const stageOfGraph = make("div", { class: "byl-scene", role: "region", "aria-label": "Graph" });
  const centre = make("div", { class: "byl-centre" }, heading, stageOfGraph);
  const panels = Object.fromEntries(["Text", "Findings", "Rewrites", "Changes"].map((n) => [n, make("div", { class: `byl-panel byl-panel-${n.toLowerCase()}` })]));
  if (state.kind === "module") {
    delete panels.Rewrites;
    delete panels.Changes;
  }
  panels.Text.append(make("div", { class: "byl-text-tools" }, ...Object.values(toggles)), pane);
  const bar = make("div", { class: "byl-tabs" });
  const side = make("aside", { class: "byl-side", "aria-label": "Details" }, bar, ...Object.values(panels));
  const splitter = make("div", { class: "byl-splitter", role: "separator", "aria-orientation": "vertical", title: "Drag to resize" });
  const live = make("div", { class: "byl-live", "aria-live": "polite" });
  const body = make("div", { class: "byl-body" }, left, centre, splitter, side);
  root.append(top, body, live, help);
  const graph = new SceneView(stageOfGraph, (id) => choose(id, true), signal);
  const stages = new StageList(left, state, go, signal);
  const tabs = new Tabs(bar, panels, (name) => name === "Text" && root.dataset.ready && drawChoice(true), signal);
  if (state.tab === "findings") tabs.show("Findings");
  const rewrites = new Rewrites(model, state, { stage: () => stage(), index: () => index(), goTo: (k) => goToRewrite(k), changed: () => say(), button, signal });

  // ---- the display ----------------------------------------------------------------------------
  const index = () => Math.max(0, Math.min(model.get("index"), state.stages.length - 1));
  const stage = () => state.stages[index()];
  const moduleOf = (which) => (stage()[which] === null ? null : state.modules[stage()[which]]);
  /** What the text shows: the whole pass, or one rewrite inside it. */
  const shownText = () => {
    const { step } = rewrites;
    return step ? { state: { ...state, modules: step.modules }, stage: { before: 0, after: 1, hunks: step.hunks, replaced: step.replaced } } : { state, stage: stage() };
  };
  const isSplit = () => options.split ?? pane.clientWidth >= SPLIT_FROM;

  function go(n) {
    if (n === index()) return;
    model.set("rewrite", 0);
    model.set("index", n);
    model.save_changes();
  }

  function goToRewrite(k) {
    const wanted = Math.max(0, Math.min(k, stage().events_total));
    if (wanted === rewrites.at) return;
    model.set("rewrite", wanted);
    model.save_changes();
  }

  function choose(id, reveal = false) {
    if (id === model.get("selected")) id = reveal ? id : "";
    if (id !== model.get("selected")) {
      model.set("selected", id);
      model.save_changes();
    } else drawChoice();
  }

  function draw() {
    const now = stage();
    root.dataset.index = String(index());
    stages.show(index());
    position.textContent = `${index() + 1} / ${state.stages.length}`;
    drawEnds();
    drawHeading(now);
    drawText();
    drawFindings(panels.Findings, state, now);
    const shown = moduleOf("after") ?? moduleOf("before");
    const worst = tally(shown)[0]?.[0];
    tabs.count("Findings", shown.findings.length, worst);
    if (panels.Rewrites) {
      drawEvents(panels.Rewrites, now);
      drawChanges(panels.Changes, now);
      tabs.count("Rewrites", now.events_total);
      tabs.count("Changes", now.changes_total);
    }
    drawGraph();
    drawChoice();
    say();
    root.dataset.ready = "true";
  }

  /** A part of the state of a large trace has come (see byoc_lab/lab/view/parts.py). */
  function takePart() {
    const part = model.get("part");
    if (!part?.stage) return;
    for (const [n, module] of part.modules) state.modules[n] = module;
    state.stages[part.index] = part.stage;
    if (part.index !== index()) return;
    if (root.dataset.ready) draw();
    if (part.stage.pending === "text") requestAnimationFrame(() => (model.set("asked", part.index), model.save_changes()));
  }

  /** Announce the displayed stage to screen readers. */
  function say() {
    const now = stage();
    const shown = moduleOf("after") ?? moduleOf("before");
    live.textContent = rewrites.at
      ? `${rewrites.position.textContent} of ${now.name}. ${rewrites.words.textContent}`
      : `Stage ${index() + 1} of ${state.stages.length}: ${now.name}, ${outcome(now).word}, ${now.events_total} rewrites, ${shown.findings.length} findings`;
  }

  /** Another rewrite inside the same stage: the text, and which card it is. */
  function drawRewrite() {
    rewrites.draw();
    if (rewrites.at && !rewrites.step) return; // it is on its way
    drawText();
    drawStats();
    drawGraph();
    for (const card of panels.Rewrites?.querySelectorAll("[data-rewrite]") ?? []) {
      const here = Number(card.dataset.rewrite) === rewrites.at;
      card.classList.toggle("byl-current", here);
      if (here) scrollInto(panels.Rewrites, card);
    }
    const event = rewrites.step?.event;
    if (event) choose(event.after ?? event.before ?? "", true);
    else drawChoice(false);
    say();
  }

  /** Not `disabled`, which would lose the focus, and the keys with it, at the last stage. */
  function drawEnds() {
    previous.setAttribute("aria-disabled", String(stages.next(index(), -1) === index()));
    next.setAttribute("aria-disabled", String(stages.next(index(), 1) === index()));
  }

  function drawHeading(now) {
    heading.replaceChildren();
    if (state.kind === "module") {
      heading.append(chips);
      return drawStats();
    }
    const { sign, word } = outcome(now);
    const title = make("div", { class: "byl-heading-line" }, make("h3", {}, now.name),
      make("span", { class: `byl-outcome byl-${word}` }, `${sign} ${word}`), make("span", { class: "byl-time" }, time(now.seconds)),
      make("span", { class: "byl-summary" }, now.skipped ? `not run: ${now.skipped}` : now.summary));
    heading.append(title);
    if (now.error) {
      heading.append(make("div", { class: "byl-error-box", role: "alert" }, make("b", {}, now.error.type), make("span", {}, now.error.message)));
    }
    heading.append(chips, rewrites.bar);
    drawStats();
    rewrites.draw();
  }

  /** The counters of what is shown: the whole pass, or one rewrite. */
  function drawStats() {
    const { before, after } = shownModules();
    chips.replaceChildren(...statsOf(before, after ?? before));
  }

  function shownModules() {
    const [before, after] = rewrites.step?.modules ?? [moduleOf("before"), moduleOf("after")];
    return { before, after };
  }

  function statsOf(before, after) {
    const found = [];
    for (const [key, [one, several]] of Object.entries(state.stat_labels)) {
      if (after.stats[key] === undefined) continue; // not known yet
      const [was, is] = [before?.stats[key] ?? after.stats[key], after.stats[key]];
      const text = was === is ? String(is) : `${was} → ${is}`;
      found.push(make("span", { class: `byl-chip${was === is ? "" : " byl-moved"}`, "data-stat": key }, make("b", {}, text), ` ${is === 1 ? one : several}`));
    }
    return found;
  }

  function drawText() {
    root.dataset.types = options.types ? "shown" : "hidden";
    root.dataset.wrap = options.wrap ? "on" : "off";
    const shown = shownText();
    drawDiff(pane, shown.state, shown.stage, { split: isSplit(), types: options.types });
    pane.dataset.rewrite = rewrites.step ? String(rewrites.at) : "";
    pane.scrollTop = 0;
    if (shown.stage.pending) pane.append(make("p", { class: "byl-empty" }, "The text of this stage is being computed."));
    for (const [name, b] of Object.entries(toggles)) b.setAttribute("aria-pressed", String(name === "split" ? isSplit() : options[name]));
    toggles.split.hidden = state.kind === "module";
    const firstChange = pane.querySelector(".byl-row:not(.byl-same)");
    if (firstChange) scrollInto(pane, firstChange);
  }

  function drawGraph() {
    const now = stage();
    const { before, after } = shownModules();
    const both = before !== null && after !== null && before !== after;
    const which = after === null ? "before" : both ? options.side : "after";
    const shown = which === "after" ? after : before;
    const key = rewrites.step ? `${index()} ${rewrites.at} ${which}` : String(now[which]);
    graph.show(shown, { key, before: which === "after" && both ? before.scene : null, replaced: (rewrites.step ?? now).replaced ?? [], findings: shown?.findings ?? [] });
    graph.sides.replaceChildren(...(both ? ["before", "after"] : []).map((name) =>
      button("byl-segment", name === "before" ? "Before" : "After", `Graph ${name} this ${rewrites.step ? "rewrite" : "pass"}`, () => ((options.side = name), drawGraph(), drawChoice(true)), { "aria-pressed": String(name === which) })));
  }

  function drawChoice(reveal = true) {
    const id = model.get("selected") || "";
    root.dataset.selected = id;
    const shown = shownText();
    chooseInDiff(pane, shown.state, shown.stage, id, reveal);
    graph.mark(id, reveal);
    for (const c of side.querySelectorAll("[data-node]")) c.classList.toggle("byl-chosen", id !== "" && c.dataset.node === id);
  }

  function flip(name) {
    options[name] = name === "split" ? !isSplit() : !options[name];
    drawText();
    drawChoice(false);
  }

  /** Give the text or the graph most of the width. */
  function widen() {
    const yes = root.dataset.wide !== "text";
    root.dataset.wide = yes ? "text" : "graph";
    root.style.removeProperty("--byl-side");
    wide.setAttribute("aria-pressed", String(yes));
  }

  function showHelp(yes) {
    help.hidden = !yes;
    (yes ? help : root).focus();
  }

  function showFinding(n) {
    tabs.show("Findings");
    const found = panels.Findings.querySelector(`[data-finding="${n}"]`);
    if (found) {
      scrollInto(panels.Findings, found);
      found.classList.add("byl-flash");
      found.addEventListener("animationend", () => found.classList.remove("byl-flash"), { once: true });
    }
  }

  function nextChange(step) {
    const rows = [...pane.querySelectorAll(".byl-row:not(.byl-same)")];
    const starts = rows.filter((r) => !r.previousElementSibling?.matches(".byl-row:not(.byl-same)"));
    const at = starts.indexOf(pane.current);
    const target = starts[at < 0 && step < 0 ? starts.length - 1 : Math.max(0, Math.min(at + step, starts.length - 1))];
    if (!target) return;
    pane.current?.classList.remove("byl-here");
    pane.current = target;
    target.classList.add("byl-here");
    pane.scrollTop += target.getBoundingClientRect().top - pane.getBoundingClientRect().top - 60;
  }

  // ---- user input -----------------------------------------------------------------------------
  pane.addEventListener("click", (event) => {
    const mark = event.target.closest(".byl-mark");
    if (mark) showFinding(mark.dataset.finding);
    if (window.getSelection()?.toString()) return; // text was being selected, to be copied
    const hit = event.target.closest("[data-id]") ?? event.target.closest(".byl-row")?.querySelector("code[data-id]");
    if (hit && !event.target.closest("button:not(.byl-mark)")) choose(hit.dataset.id, Boolean(mark));
  }, { signal });
  side.addEventListener("click", (event) => {
    const rewrite = event.target.closest("[data-rewrite]");
    if (rewrite) goToRewrite(Number(rewrite.dataset.rewrite));
    const clicked = event.target.closest("[data-node]");
    if (clicked) choose(clicked.dataset.node, true);
  }, { signal });

  const act = {
    ArrowRight: () => go(stages.next(index(), 1)),
    ArrowLeft: () => go(stages.next(index(), -1)),
    Home: () => go(stages.end(false)),
    End: () => go(stages.end(true)),
    ",": () => goToRewrite(rewrites.at - 1),
    ".": () => goToRewrite(rewrites.at + 1),
    n: () => nextChange(1),
    p: () => nextChange(-1),
    "/": () => several && stages.filter.focus(),
    c: () => several && stages.changedOnly.click(),
    s: () => flip("split"),
    t: () => flip("types"),
    w: () => flip("wrap"),
    g: () => widen(),
    u: () => graph.follow(),
    "?": () => showHelp(help.hidden),
  };
  act.j = act.ArrowRight;
  act.k = act.ArrowLeft;
  Object.keys(panels).forEach((name, n) => (act[String(n + 1)] = () => tabs.show(name)));
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search]");
    if (event.key === "Escape") {
      if (!help.hidden) showHelp(false);
      else if (typing) {
        stages.filter.value = "";
        stages.sift();
        root.focus();
      } else if (rewrites.at) goToRewrite(0);
      else choose("", true);
    } else if (typing) {
      if (event.key === "Enter") root.focus();
      return;
    } else {
      const inList = event.target === stages.list && { ArrowDown: act.ArrowRight, ArrowUp: act.ArrowLeft }[event.key];
      const found = inList || act[event.key];
      if (!found) return;
      found();
    }
    event.preventDefault();
    event.stopPropagation();
  }, { signal });
  for (const control of [stages.filter, stages.changedOnly]) {
    control.addEventListener("input", drawEnds, { signal });
  }
  splitter.addEventListener("pointerdown", (down) => {
    splitter.setPointerCapture(down.pointerId);
    const width = side.getBoundingClientRect().width;
    splitter.onpointermove = (move) => {
      const wanted = Math.max(180, Math.min(root.clientWidth - 420, width + down.clientX - move.clientX));
      root.style.setProperty("--byl-side", `${wanted}px`);
    };
    splitter.onpointerup = () => (splitter.onpointermove = splitter.onpointerup = null);
  }, { signal });

  // ---- theme, size, model ---------------------------------------------------------------------
  followTheme(root, signal);
  let wasSplit = null;
  const sized = new ResizeObserver(() => {
    if (wasSplit !== null && wasSplit !== isSplit()) {
      drawText();
      drawChoice();
    }
    wasSplit = isSplit();
  });
  const redraw = () => draw();
  const rechoose = () => drawChoice();
  model.on("change:index", redraw);
  model.on("change:selected", rechoose);
  model.on("change:rewrite", drawRewrite);
  model.on("change:step", drawRewrite);
  model.on("change:part", takePart);
  el.append(root);
  takePart();
  draw();
  sized.observe(pane);

  return () => {
    life.abort();
    sized.disconnect();
    model.off("change:index", redraw);
    model.off("change:selected", rechoose);
    model.off("change:rewrite", drawRewrite);
    model.off("change:step", drawRewrite);
    model.off("change:part", takePart);
    root.remove();
  };
}

export default { render };
