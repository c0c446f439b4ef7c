// Asks a Web Worker for layouts, so that a large graph does not block the page.
import { layOut, workerSource } from "./layout.js";

export class LayoutClient {
  /** @param {AbortSignal} signal ends the worker */
  constructor(signal) {
    this.tickets = 0;
    this.waiting = new Map();
    this.keys = new WeakMap(); // scene -> its key, for scenes that the worker has received
    this.worker = this.start();
    signal.addEventListener("abort", () => this.worker?.terminate());
  }

  start() {
    try {
      const url = URL.createObjectURL(new Blob([workerSource()], { type: "text/javascript" }));
      const worker = new Worker(url);
      worker.onmessage = ({ data: { ticket, placed } }) => {
        this.waiting.get(ticket)?.done(placed);
        this.waiting.delete(ticket);
      };
      worker.onerror = () => this.withoutWorker();
      return worker;
    } catch {
      return null; // if the page forbids workers, the layout runs in the page itself
    }
  }

  withoutWorker() {
    this.worker?.terminate();
    this.worker = null;
    for (const { done, request } of this.waiting.values()) done(layOut(request.scene, request.open, request.room, request.before));
    this.waiting.clear();
  }

  /** The layout of a scene; each scene is sent to the worker once. `last`: the previous layout, or null.
   * @returns {Promise<import("./layout.js").Placed>} */
  place(scene, open, room, last) {
    const before = last && { nodes: last.nodes, columns: last.columns };
    if (!this.worker) return Promise.resolve(layOut(scene, open, room, before));
    const ticket = ++this.tickets;
    return new Promise((done) => {
      this.waiting.set(ticket, { done, request: { scene, open, room, before } });
      const known = this.keys.has(scene);
      if (!known) this.keys.set(scene, ticket);
      this.worker.postMessage({ ticket, key: this.keys.get(scene), open, room, last: before, scene: known ? null : scene });
    });
  }
}
