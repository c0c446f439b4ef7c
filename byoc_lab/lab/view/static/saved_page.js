// A saved page: it contains the state, and its address names the shown stage, rewrite and node.

/** Replaces anywidget's model. */
class PageModel {
  constructor(values) {
    this.values = values;
    this.listeners = {};
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    for (const listener of this.listeners[`change:${name}`] ?? []) listener();
  }

  on(name, listener) {
    (this.listeners[name] ??= new Set()).add(listener);
  }

  off(name, listener) {
    this.listeners[name]?.delete(listener);
  }

  save_changes() {}

  send() {}
}

/** The model of a page with a state. @param {Sent.State} state */
export function pageModel(state) {
  const model = new PageModel({ state, index: state.opens, selected_id: "", rewrite: 0 });
  const open = () => {
    const wanted = new URLSearchParams(window.location.hash.slice(1));
    const number = (/** @type {string} */ name) => Number(wanted.get(name)) || 0;
    if (wanted.has("stage")) {
      model.set("index", Math.max(1, Math.min(number("stage"), state.stages.length)) - 1);
      model.set("rewrite", number("rewrite"));
    }
    if (/^n\d+$/.test(wanted.get("node") ?? "")) model.set("selected_id", wanted.get("node"));
  };
  const name = () => {
    if (window.location.protocol === "about:") return; // a frame in a notebook
    const values = { stage: model.get("index") + 1, rewrite: model.get("rewrite") || "", node: model.get("selected_id") };
    const kept = Object.entries(values).filter(([, value]) => value !== "");
    window.history.replaceState(null, "", `#${new URLSearchParams(kept)}`);
  };
  open();
  window.addEventListener("hashchange", open);
  for (const what of ["index", "rewrite", "selected_id"]) model.on(`change:${what}`, name);
  return model;
}
