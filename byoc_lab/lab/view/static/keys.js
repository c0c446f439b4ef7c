// The actions of the keys.

/** Listen to keys on `root`. `view`: the components; see stepper.js.
 * @param {HTMLElement} root @param {any} view @param {AbortSignal} signal */
export function listenToKeys(root, view, signal) {
  const { store, stages, text, graphs, tabs, player, help } = view;
  const act = {
    ArrowRight: () => store.go(stages.next(store.index, 1)),
    ArrowLeft: () => store.go(stages.next(store.index, -1)),
    Home: () => store.go(stages.end(false)),
    End: () => store.go(stages.end(true)),
    ",": () => store.goToRewrite(store.at - 1),
    ".": () => store.goToRewrite(store.at + 1),
    " ": () => player.toggle(),
    f: () => view.nextFinding(1),
    F: () => view.nextFinding(-1),
    n: () => text.nextChange(1),
    p: () => text.nextChange(-1),
    "]": () => text.nextLine(1),
    "[": () => text.nextLine(-1),
    "/": () => store.hasStages && stages.filter.focus(),
    c: () => store.hasStages && stages.changedOnly.click(),
    s: () => text.flip("split"),
    t: () => text.flip("types"),
    w: () => text.flip("wrap"),
    g: () => view.widen(),
    P: () => view.present(),
    b: () => view.board?.toggle(),
    z: () => view.board?.again("undo"),
    Z: () => view.board?.again("redo"),
    u: () => graphs.forEach((graph) => graph.view.follow()),
    "?": () => help.show(help.element.hidden),
  };
  act.j = act.ArrowRight;
  act.k = act.ArrowLeft;
  Object.keys(tabs.tabs).forEach((name, n) => (act[String(n + 1)] = () => tabs.show(name)));

  const escape = (typing) => {
    if (!help.element.hidden) help.show(false);
    else if (typing) {
      stages.filter.value = "";
      stages.sift();
      root.focus();
    } else if (store.at) store.goToRewrite(0);
    else if (store.base !== null) store.compareWith(null);
    else store.choose("", true);
  };
  root.addEventListener("keydown", (/** @type {any} */ event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input[type=search]");
    if (event.key === "Escape") escape(typing);
    else if (typing) {
      if (event.key === "Enter") root.focus();
      return;
    } else {
      if (ownKeys(event)) return;
      const inList = event.target === stages.list && { ArrowDown: act.ArrowRight, ArrowUp: act.ArrowLeft }[event.key];
      const found = inList || act[event.key];
      if (!found) return;
      found();
    }
    event.preventDefault();
    event.stopPropagation();
  }, { signal });
}

/** Whether the element that has the focus uses the key itself. */
function ownKeys(event) {
  if (event.target.matches("select, input[type=range]")) return event.key.startsWith("Arrow") || ["Home", "End", " "].includes(event.key) || event.target.matches("select");
  return event.key === " " && event.target.matches("button, summary, input");
}
