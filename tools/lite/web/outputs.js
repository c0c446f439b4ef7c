// What a cell shows: text as it comes, tracebacks, tables, figures, and live widgets.
import { make } from "./dom.js";

const MAX_TEXT = 200_000; // characters of one stream; more is cut, so that a loop that prints stays harmless
const MISSING = "A browser does not have what this cell needs (see the last line). It runs where byoc_lab is installed.";

export class Outputs {
  /** @param {HTMLElement} element @param {string} place the cell in words
   * @param {import("./models.js").Models} models @param {any} view the widget's module */
  constructor(element, place, models, view) {
    this.element = element;
    this.place = place;
    this.models = models;
    this.view = view;
    /** What ends a widget. @type {(() => void)[]} */
    this.ends = [];
    this.clear();
  }

  clear() {
    for (const end of this.ends.splice(0)) end();
    this.element.replaceChildren();
    /** The outputs as a notebook file has them. @type {any[]} */
    this.kept = [];
    /** @type {{ stream: string, element: HTMLElement, output: any } | null} */
    this.last = null;
  }

  /** @param {any} message */
  hear(message) {
    if (message.kind === "error") this.error(message);
    else if (message.heading) this.heading(message.heading);
    else if (message.stream) this.text(message.stream, message.text);
    else this.bundle(message.bundle);
  }

  /** A part of what is shown, which gives its widgets their names. @param {string} words */
  heading(words) {
    this.last = null;
    this.place = words;
    this.element.append(make("h2", {}, words));
  }

  /** @param {string} stream @param {string} text */
  text(stream, text) {
    if (this.last?.stream !== stream) {
      const element = make("pre", { class: `stream ${stream}`, tabindex: "0" });
      const output = { output_type: "stream", name: stream, text: "" };
      this.element.append(element);
      this.kept.push(output);
      this.last = { stream, element, output };
    }
    const { element, output } = this.last;
    const room = MAX_TEXT - output.text.length;
    if (room <= 0) return;
    const shown = text.length < room ? text : `${text.slice(0, room)}\n… the rest is not shown\n`;
    output.text += shown;
    element.append(shown);
  }

  /** @param {{ text: string, missing?: boolean }} message */
  error({ text, missing }) {
    this.last = null;
    const shown = make("pre", { class: "error", tabindex: "0" }, text.trimEnd());
    if (missing) this.element.append(make("p", { class: "missing" }, MISSING), shown);
    else this.element.append(shown);
    const lines = text.trimEnd().split("\n");
    const [, ename, evalue] = /^([\w.]+):? ?(.*)$/.exec(lines[lines.length - 1]) ?? ["", "Error", text];
    this.kept.push({ output_type: "error", ename, evalue, traceback: lines });
  }

  /** @param {Record<string, any>} bundle */
  bundle({ model, ...data }) {
    if (model) this.widget(/** @type {import("./models.js").Model} */ (this.models.known.get(model)));
    else this.still(data);
    this.kept.push({ output_type: "display_data", data, metadata: {} });
  }

  /** @param {Record<string, any>} data */
  still(data) {
    const here = this.block();
    if (data["image/svg+xml"]) here.innerHTML = data["image/svg+xml"];
    else if (data["text/html"]) here.innerHTML = data["text/html"];
    else here.append(make("pre", { tabindex: "0" }, data["text/plain"]));
  }

  block() {
    this.last = null;
    const here = make("div", { class: "shown" });
    this.element.append(here);
    return here;
  }

  /** What a cell showed where it ran before. @param {any[]} messages @param {string} words
   * @param {string} style the class of the words */
  stored(messages, words, style = "missing") {
    this.last = null;
    this.element.append(make("p", { class: style }, words));
    for (const message of messages) this.hear(message);
  }

  /** A page has many widgets: their landmarks are named by their cells.
   * @param {import("./models.js").Model} model */
  widget(model) {
    const here = this.block();
    const named = () => {
      for (const part of here.querySelectorAll(":is(section, nav, aside, [role=\"region\"])[aria-label]")) part.ariaLabel += `, ${this.place}`;
    };
    this.ends.push(this.view.render({ model, el: here }), () => model.off("change:state", named));
    model.on("change:state", named); // after the view, which draws itself again
    named();
  }
}
