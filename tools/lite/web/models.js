// The models of widgets, in the place of anywidget's over a Jupyter comm: the worker carries them.

export class Model {
  /** @param {Record<string, any>} values @param {(values: Record<string, any>) => void} send */
  constructor(values, send) {
    this.values = values;
    this.send = send;
    this.changed = new Set();
    /** Whether Python still has the model, as in Jupyter's own. */
    this.comm_live = true;
    /** @type {Record<string, Set<() => void>>} */
    this.listeners = {};
  }

  /** @param {string} name */
  get(name) {
    return this.values[name];
  }

  /** @param {string} name @param {any} value */
  set(name, value) {
    if (this.values[name] === value) return;
    this.values[name] = value;
    this.changed.add(name);
    this.fire(`change:${name}`);
  }

  /** Send what was set since the last time. */
  save_changes() {
    const values = Object.fromEntries([...this.changed].map((name) => [name, this.values[name]]));
    this.changed.clear();
    if (Object.keys(values).length) this.send(values);
  }

  /** Take values that Python has set. @param {Record<string, any>} values */
  take(values) {
    Object.assign(this.values, values);
    for (const name of Object.keys(values)) this.fire(`change:${name}`);
  }

  /** Python was started again, and does not know the model any more. */
  lose() {
    this.comm_live = false;
    this.fire("comm_live_update");
  }

  /** @param {string} event @param {() => void} act */
  on(event, act) {
    (this.listeners[event] ??= new Set()).add(act);
  }

  /** @param {string} event @param {() => void} act */
  off(event, act) {
    this.listeners[event]?.delete(act);
  }

  /** @param {string} event */
  fire(event) {
    for (const act of [...(this.listeners[event] ?? [])]) act();
  }
}

/** All models of a Python that runs. */
export class Models {
  /** @param {import("./kernel.js").Kernel} kernel */
  constructor(kernel) {
    this.kernel = kernel;
    /** @type {Map<string, Model>} */
    this.known = new Map();
    kernel.hearModel = (name, values) => this.take(name, values);
    kernel.forget = () => {
      for (const model of this.known.values()) model.lose();
      this.known.clear();
    };
  }

  /** @param {string} name @param {any} values null when Python has the model no longer */
  take(name, values) {
    if (values === null) {
      this.known.delete(name);
      return;
    }
    const model = this.known.get(name);
    if (model) model.take(values);
    else this.known.set(name, new Model(values, (changed) => this.kernel.send(name, changed)));
  }
}
