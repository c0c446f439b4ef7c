// The panel about the selected node: its origins and images, stage by stage.
import { computedFrom, historyOf, placeOf } from "./lineage.js";
import { reasonOf } from "./graph/overlay.js";
import { make, tokens, withoutTypes } from "./text/relay_text.js";

const FEW = 6; // maximum of listed nodes per stage

/** @param {HTMLElement} pane @param {import("./store.js").Store} store */
export function drawNode(pane, store) {
  const { selected, state, index } = store;
  if (!selected) {
    pane.replaceChildren(make("p", { class: "byl-empty" }, "Select a line, a variable or a box of the graph: its history is here."));
    return;
  }
  const history = historyOf(state, index, selected);
  const shown = [store.pair.after, store.pair.before].find((module) => placeOf(module, selected));
  const here = placeOf(shown, selected);
  const constants = here ? tokens(here.text).filter((t) => t.kind === "const").map((t) => shown.names[t.text]) : [];
  const items = history.map((ids, n) => step(state, n, ids, history)).filter(Boolean);
  const last = [...new Set([...(history[history.length - 1] ?? []), selected])];
  for (const text of new Set(last.map((id) => store.known.kernels?.[id]).filter(Boolean))) items.push(make("li", { class: "byl-kernel" }, make("b", {}, "Kernel"), make("p", {}, text)));
  pane.replaceChildren(
    make("p", { class: "byl-words" }, here ? withoutTypes(here.text) : "A constant, or another part of a line"),
    here?.in ? make("p", { class: "byl-where" }, `line ${here.line + 1}, in ${here.in}`) : "",
    reasonOf(store.known, selected),
    ...computedFrom(state, [selected, ...constants]).map((words) => make("p", { class: "byl-computed" }, `${words}.`)),
    make("h4", {}, "History"),
    items.length ? make("ol", { class: "byl-history" }, ...items) : make("p", { class: "byl-empty" }, "This node is not in the modules of this stage."),
  );
}

/** The node after each stage; stages that did not change it are not listed. */
function step(state, n, ids, history) {
  const stage = n ? state.stages[n - 1] : null;
  const before = n ? history[n - 1] : [];
  const rules = [...new Set(ids.map((id) => stage?.rules?.[id]).filter(Boolean))];
  const placed = shownIn(state, n, ids);
  const same = n > 0 && !rules.length && ids.join() === before.join() && text(placed) === text(shownIn(state, n - 1, before));
  if ((same && n < history.length - 1) || (!ids.length && !before.length)) return null;
  const head = n === 0 ? "Input" : !ids.length ? `${stage.name}: nothing is left of it` : rules.length ? `${stage.name}: made by ${rules.join(", ")}` : before.length ? stage.name : `${stage.name}: inserted`;
  const lines = placed.slice(0, FEW).map(({ id, place }) =>
    make("button", { type: "button", class: "byl-card byl-past", "data-node": id, "data-stage": Math.max(0, n - 1) }, make("span", { class: "byl-words" }, withoutTypes(place.text)), place.in && make("span", { class: "byl-where" }, `in ${place.in}`)));
  const more = placed.length - FEW;
  const inside = ids.length && !placed.length ? make("span", { class: "byl-where" }, "part of a line") : "";
  return make("li", { "data-past": n }, make("b", {}, head), ...lines, inside, more > 0 ? make("span", { class: "byl-where" }, `and ${more} more`) : "");
}

const shownIn = (state, n, ids) => {
  const stage = n ? state.stages[n - 1] : null;
  const module = state.modules[stage ? (stage.after ?? stage.before) : state.stages[0].before];
  return ids.map((id) => ({ id, place: placeOf(module, id) })).filter(({ place }) => place);
};
const text = (placed) => placed.map(({ place }) => place.text.replace(/%\d+\b/g, "%") + place.in).join("\n");
