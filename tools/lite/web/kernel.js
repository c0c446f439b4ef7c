// Python as the page sees it: a worker that runs cells one after the other, and is started again
// to interrupt it.

/** @typedef {{ text?: string, address?: string }} Ingredient gzip in base64, or where gzip is */
/** @typedef {{ hear: (message: any) => void, done: (ran: boolean) => void }} Listener `ran`: false if it was dropped */

export class Kernel {
  /** @param {{ worker: string, python: Ingredient, files: Ingredient }} ingredients
   * @param {(state: string, words: string) => void} show a state ("starting", "ready", "busy", "ended")
   * @param {(bytes: number) => void} showMemory */
  constructor(ingredients, show, showMemory) {
    this.ingredients = ingredients;
    this.show = show;
    this.showMemory = showMemory;
    this.address = URL.createObjectURL(new Blob([ingredients.worker], { type: "text/javascript" }));
    /** The compiled Python, which outlives the worker. @type {WebAssembly.Module | null} */
    this.module = null;
    /** Python after its imports. @type {import("./runtime.js").Image | null} */
    this.image = null;
    /** Hears messages of models. @type {(model: string, values: any) => void} */
    this.hearModel = () => {};
    /** Called when Python has lost its state. @type {() => void} */
    this.forget = () => {};
    this.tickets = 0;
    this.start();
  }

  start() {
    const { python, files } = this.ingredients;
    /** @type {{ message: any, listener: Listener }[]} */
    this.queue = [];
    /** @type {Listener | null} the cell that runs, or ran last */
    this.listener = null;
    this.running = false;
    /** @type {Map<number, (found: any[]) => void>} */
    this.asked = new Map();
    this.ready = false;
    this.worker = new Worker(this.address);
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = (event) => this.end(event.message);
    this.show("starting", "Starting Python");
    this.worker.postMessage({ do: "start", module: this.module, image: this.image, python: this.module ? null : python, files });
  }

  /** @param {any} message */
  hear(message) {
    const { kind } = message;
    if (kind === "progress") this.show("starting", message.stage);
    else if (kind === "module") this.module = message.module;
    else if (kind === "image") this.image = message.image;
    else if (kind === "ready") (this.ready = true), this.next();
    else if (kind === "memory") this.showMemory(message.bytes);
    else if (kind === "model") this.hearModel(message.model, message.values);
    else if (kind === "completed") this.asked.get(message.ticket)?.(message.found);
    else if (kind === "ended") this.end(message.text);
    else if (kind === "done") {
      this.running = false;
      this.listener?.done(true);
      this.next();
    } else this.listener?.hear(message);
  }

  /** Do what a message asks for when all before it is done: {do: "run", cell, source} runs a cell,
   * {do: "look", cell, given} shows an input of the playground.
   * @param {Record<string, any>} message @param {Listener} listener */
  run(message, listener) {
    this.queue.push({ message, listener });
    this.next();
  }

  next() {
    if (!this.ready || this.running) return;
    const first = this.queue.shift();
    this.show(first ? "busy" : "ready", first ? "Python is running" : "Python is ready");
    if (!first) return;
    this.running = true;
    this.listener = first.listener;
    this.worker.postMessage(first.message);
  }

  /** Nothing that waits is run after an error. */
  drop() {
    for (const { listener } of this.queue.splice(0)) listener.done(false);
  }

  /** Names that complete `text`; none while Python is busy.
   * @param {string} text @returns {Promise<{ name: string, about: string }[]>} */
  complete(text) {
    if (!this.ready || this.running) return Promise.resolve([]);
    const ticket = ++this.tickets;
    return new Promise((resolve) => {
      this.asked.set(ticket, (found) => (this.asked.delete(ticket), resolve(found)));
      this.worker.postMessage({ do: "complete", ticket, text });
    });
  }

  /** @param {string} model @param {any} values */
  send(model, values) {
    if (this.ready) this.worker.postMessage({ do: "model", model, values });
  }

  /** End what runs and start Python again; its variables are gone. */
  restart() {
    this.worker.terminate();
    this.end("Interrupted. Python was started again, without the variables of before: run the cells above again.");
    this.start();
  }

  /** Python cannot go on. @param {string} words */
  end(words) {
    this.worker.terminate();
    for (const found of this.asked.values()) found([]);
    if (this.running) {
      this.listener?.hear({ kind: "error", text: words });
      this.listener?.done(true);
    }
    this.running = this.ready = false;
    this.drop();
    this.forget();
    this.show("ended", words);
  }
}
