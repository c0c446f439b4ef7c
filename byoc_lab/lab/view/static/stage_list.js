// The list of stages at the left: a listbox with a filter.
import { ICON } from "./text/diff_view.js";
import { counted, make } from "./text/relay_text.js";

/** A name that may break before its capitals. */
const breakable = (name) => name.split(/(?=[A-Z])/).flatMap((word) => [make("wbr"), word]);

export class StageList {
  constructor(pane, store, signal) {
    const { state } = store;
    this.state = state;
    this.filter = make("input", { type: "search", class: "byl-filter", placeholder: "Filter passes  ( / )", "aria-label": "Filter passes by name" });
    this.changedOnly = make("input", { type: "checkbox" });
    this.list = make("ul", { class: "byl-list", role: "listbox", tabindex: "0", "aria-label": "Passes" });
    this.none = make("p", { class: "byl-empty", hidden: true }, "No pass matches.");
    const uid = `byl${Math.random().toString(36).slice(2, 8)}`;
    this.options = state.stages.map((stage, n) => this.option(stage, n, `${uid}-${n}`));
    this.list.append(...this.options);
    const box = make("label", { class: "byl-check" }, this.changedOnly, state.words.changedOnly);
    pane.append(this.filter, box, this.list, this.none);
    this.filter.addEventListener("input", () => this.sift(), { signal });
    this.changedOnly.addEventListener("change", () => this.sift(), { signal });
    this.list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) store.go(Number(option.dataset.index));
    }, { signal });
  }

  option(stage, n, id) {
    const { sign, word, kind } = stage.outcome;
    const counts = tally(stage.after === null ? this.state.modules[stage.before] : this.state.modules[stage.after]);
    const facts = make("span", { class: "byl-facts" },
      make("span", { class: `byl-outcome byl-${kind}` }, `${sign} ${word}`),
      make("span", { class: "byl-time" }, stage.time));
    for (const [severity, count] of counts) {
      facts.append(make("span", { class: `byl-count byl-${severity}`, title: counted(count, `${severity} finding`) }, `${ICON[severity]} ${count}`));
    }
    return make("li", { id, role: "option", "data-index": n, "aria-selected": "false", class: `byl-option byl-is-${kind}` },
      make("span", { class: "byl-order" }, String(n + 1)),
      make("span", { class: "byl-name" }, ...breakable(stage.name), (stage.note || stage.group) && make("span", { class: "byl-of" }, stage.note || ` in ${stage.group}`)), facts);
  }

  /** Hide the stages that the filter or the checkbox excludes. */
  sift() {
    const wanted = this.filter.value.trim().toLowerCase();
    this.state.stages.forEach((stage, n) => {
      const named = `${stage.name} ${stage.group}`.toLowerCase().includes(wanted);
      this.options[n].hidden = !named || (this.changedOnly.checked && !stage.changed && !stage.error);
    });
    this.none.hidden = this.options.some((o) => !o.hidden);
  }

  /** The next visible stage from `index` in direction `step`; `index` at the end. */
  next(index, step) {
    for (let n = index + step; n >= 0 && n < this.options.length; n += step) {
      if (!this.options[n].hidden) return n;
    }
    return index;
  }

  /** The first (or last) stage that is shown. */
  end(last) {
    const shown = this.options.filter((o) => !o.hidden);
    return shown.length ? Number(shown.at(last ? -1 : 0).dataset.index) : 0;
  }

  show(index) {
    this.options.forEach((o, n) => o.setAttribute("aria-selected", String(n === index)));
    const option = this.options[index];
    if (!option) return;
    this.list.setAttribute("aria-activedescendant", option.id);
    const [box, at] = [this.list.getBoundingClientRect(), option.getBoundingClientRect()];
    if (at.top < box.top) this.list.scrollTop -= box.top - at.top;
    else if (at.bottom > box.bottom) this.list.scrollTop += at.bottom - box.bottom;
  }
}

/** [severity, count] of the findings of a module, worst first. */
export function tally(module) {
  return ["error", "warning", "info"]
    .map((severity) => [severity, module.findings.filter((f) => f.severity === severity).length])
    .filter(([, count]) => count > 0);
}
