// The playground: an input, the passes that run on it, and what byoc_lab says of it. The address has
// the input, so that it can be sent; nothing is run before the reader asks for it.
import { find, make, value } from "./dom.js";
import { editor, replace } from "./editor.js";
import { inflatedText } from "./inflated.js";
import { input, linked } from "./link.js";
import { Model } from "./models.js";
import { Outputs } from "./outputs.js";
import { Passes } from "./passes.js";

const PLACE = "playground";
/** @type {Map<"relay_text" | "message" | "table", string>} */
const KINDS = new Map([["relay_text", "Relay text"], ["message", "Error message"], ["table", "Pattern table in Python"]]);
const WAIT = 300; // ms after a change until the address has it
const ERAS = { "": "today", "0.16": "TVM 0.16", "2020-01": "January 2020" };

export class Playground {
  /** @param {HTMLElement} article @param {import("./notebook.js").Host} host */
  constructor(article, host) {
    this.host = host;
    this.choices = value("choices");
    /** @type {import("./link.js").Input} */
    this.input = this.choices.sample;
    this.outputs = new Outputs(find("play-shown"), PLACE, host.models, host.view);
    this.passes = new Passes(find("play-passes"), this.choices.passes, (passes) => this.change({ passes }));
    const { pipelines, cases } = this.choices;
    find("play-case").append(new window.Option("your own text", ""), ...Object.entries(cases).map(([name, { title }]) => new window.Option(title, name)));
    find("play-pipeline").append(group("Pipelines", Object.keys(pipelines)), group("Passes of a case", Object.keys(cases)));
    this.editors = Object.fromEntries([...KINDS].map(([kind, label]) => [kind, this.editor(kind, label)]));
    const listen = (/** @type {string} */ id, /** @type {string} */ event, /** @type {() => void} */ act) => find(id).addEventListener(event, act);
    listen("play-case", "change", () => this.choose(find("play-case").value));
    listen("play-pipeline", "change", () => this.change({ pipeline: find("play-pipeline").value, passes: null, era: null }));
    listen("play-era", "change", () => this.change({ era: find("play-era").value || null, passes: null }));
    listen("play-run", "click", () => this.run());
    listen("play-link", "click", () => this.copy());
    for (const kind of article.querySelectorAll("[name=play-kind]")) kind.addEventListener("change", () => this.showKind(/** @type {HTMLInputElement} */ (kind).value));
    this.take(this.input);
    this.showSample();
  }

  /** @param {"relay_text" | "message" | "table"} kind @param {string} label */
  editor(kind, label) {
    const place = make("div", { class: "editor", "data-kind": kind });
    find("play-texts").append(place);
    return editor(place, {
      source: "",
      label,
      changed: (text) => text !== this.input[kind] && this.change({ [kind]: text }),
      run: () => this.run(),
      complete: kind === "table" ? (text) => this.host.kernel.complete(text) : undefined,
    });
  }

  /** What the sample shows is in the page; it needs no Python. */
  async showSample() {
    const state = JSON.parse(await inflatedText(find("sample-state")));
    if (this.outputs.element.childElementCount || this.input !== this.choices.sample) return;
    const model = new Model({ state, index: state.opens, selected_id: "", rewrite: 0 }, () => {});
    this.outputs.heading("Step by step");
    this.outputs.widget(model);
  }

  /** Show the input that a link has; an address without one leaves it as it is.
   * @param {string} link */
  async open(link) {
    if (!link || link === this.link) return;
    const found = await input(link);
    if (!found || !Object.hasOwn(this.erasOf(found.pipeline) ?? {}, found.era ?? "")) {
      this.say("The address has no input that can be read.");
      return;
    }
    this.link = link;
    this.awaited = null;
    this.outputs.clear();
    this.take(found);
    const code = found.table.trim() ? ", also the Python code of its pattern table," : "";
    this.say(`This input came with the address. Nothing has run yet: look at it${code} then press Run.`);
  }

  /** @param {import("./link.js").Input} given */
  take(given) {
    this.input = given;
    this.draw();
    const { relay_text, message, table } = given;
    this.showKind(relay_text || !(message || table) ? "relay_text" : message ? "message" : "table");
  }

  /** The names of the passes of a pipeline or a case by era. @param {string} name */
  erasOf(name) {
    const { pipelines, cases } = this.choices;
    return Object.hasOwn(pipelines, name) ? pipelines[name] : Object.hasOwn(cases, name) ? cases[name].passes : null;
  }

  /** @param {string} name of a case, "" for an empty input */
  choose(name) {
    const { relay_text = "", message = "" } = this.choices.cases[name] ?? {};
    this.take({ relay_text, message, table: "", pipeline: name || "dnnl", passes: null, era: null });
    this.mark();
    if (name) this.run();
  }

  /** @param {Partial<import("./link.js").Input>} values */
  change(values) {
    this.input = { ...this.input, ...values };
    this.draw();
    this.mark();
  }

  /** What is shown is of an earlier input, and the address gets this one. */
  mark() {
    this.say(this.outputs.element.childElementCount ? "The results below are of the input before this change: press Run." : "");
    this.link = null;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.keep(), WAIT);
  }

  async keep() {
    const given = this.input;
    const link = await linked(given);
    if (given !== this.input) return; // a later change or address has its own turn
    if (link === null) {
      this.say("This input is too long for an address: it is gone when the page is closed.");
      return;
    }
    this.link = link;
    if (document.body.dataset.article === PLACE) window.history.replaceState(null, "", `#${PLACE}/${link}`);
  }

  async copy() {
    await this.keep();
    if (!this.link) return;
    const copied = await window.navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    const done = copied ? "The address was copied" : "The address of this page has the input: copy it from above";
    const local = location.protocol === "file:" ? " It names a file of this computer; the part from # on works with any copy of this page." : "";
    this.say(`${done}. Whoever opens it sees the input, which runs when they press Run.${local}`);
  }

  /** Show the input in the fields. */
  draw() {
    const { pipeline, passes, era } = this.input;
    const eras = this.erasOf(pipeline);
    for (const kind of KINDS.keys()) {
      const text = this.input[kind];
      find(`play-${kind}`).toggleAttribute("data-filled", Boolean(text.trim()));
      if (this.editors[kind].state.doc.toString() !== text) replace(this.editors[kind], text);
    }
    find("play-pipeline").value = pipeline;
    find("play-case").value = this.choices.cases[pipeline] ? pipeline : "";
    find("play-era").replaceChildren(...Object.entries(ERAS).filter(([name]) => eras[name]).map(([name, words]) => new window.Option(words, name)));
    find("play-era").value = era ?? "";
    this.passes.show(passes ?? eras[era ?? ""]);
  }

  /** @param {string} kind */
  showKind(kind) {
    find(`play-${kind}`).checked = true;
    for (const place of find("play-texts").children) place.hidden = place.dataset.kind !== kind;
  }

  /** @param {string} words */
  say(words) {
    find("play-said").textContent = words;
  }

  run() {
    const { kernel } = this.host;
    this.say("");
    const given = (this.awaited = this.input);
    let fresh = true;
    const shown = () => {
      if (this.awaited !== given) return false; // an address has come with another input
      if (fresh) this.outputs.clear();
      fresh = false;
      return true;
    };
    find("play-run").disabled = true;
    kernel.run({ do: "look", cell: PLACE, given }, {
      hear: (message) => shown() && this.outputs.hear(message),
      done: (ran) => {
        find("play-run").disabled = false;
        if (ran) shown();
      },
    });
  }
}

/** @param {string} label @param {string[]} names */
function group(label, names) {
  const made = make("optgroup", { label });
  made.append(...names.map((name) => new window.Option(name)));
  return made;
}
