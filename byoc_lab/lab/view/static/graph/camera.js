// Pans and zooms a drawing: by wheel, by drag, or to show all of it.

const MOST = 3; // largest scale
const LEAST = 0.05;
const DISTINGUISHABLE = 0.4; // smallest scale at which boxes can be distinguished; text has 16 px at scale 1
export const READABLE = 0.6;
const LEGIBLE = 0.75;

export class Camera {
  /**
   * @param {HTMLElement} canvas the window
   * @param {SVGElement} layer the element that moves in the window
   * @param {(part: { x: number, y: number, w: number, h: number }) => void} moved called with the part of the drawing that is shown
   * @param {AbortSignal} signal removes the listeners
   */
  constructor(canvas, layer, moved, signal) {
    this.canvas = canvas;
    this.layer = layer;
    this.moved = moved;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    /** Whether the reader has panned or zoomed; if not, the whole drawing is shown. */
    this.chosen = false;
    /** @type {{ width: number, height: number } | null} the size of the drawing */
    this.size = null;
    /** @type {{ x: number, y: number, far: boolean, id: number, at: [number, number] } | null} */
    this.held = null;
    /** Whether the next click is the end of a drag. */
    this.dragged = false;
    const on = (/** @type {string} */ type, /** @type {(event: any) => void} */ act, extra = {}) => canvas.addEventListener(type, act, { signal, ...extra });
    on("wheel", (e) => this.wheel(e), { passive: false });
    on("pointerdown", (e) => this.press(e));
    on("pointermove", (e) => this.drag(e));
    for (const end of ["pointerup", "pointercancel"]) on(end, () => (this.held = null));
  }

  /** The scale at which a drawing fits the window. @param {number} width @param {number} height */
  fitting(width, height) {
    return Math.max(LEAST, Math.min(1.25, this.canvas.clientWidth / width, this.canvas.clientHeight / height));
  }

  fit() {
    if (!this.size || !this.canvas.clientWidth) return;
    const { width, height } = this.size;
    this.chosen = false;
    this.scale = this.fitting(width, height);
    this.x = (this.canvas.clientWidth - width * this.scale) / 2;
    this.y = (this.canvas.clientHeight - height * this.scale) / 2;
    this.apply();
  }

  /** @param {number} factor @param {number} [px] the point of the window that keeps its position @param
   * {number} [py] */
  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const next = Math.max(LEAST, Math.min(MOST, this.scale * factor));
    this.x = px - ((px - this.x) * next) / this.scale;
    this.y = py - ((py - this.y) * next) / this.scale;
    this.scale = next;
    this.chosen = true;
    this.apply();
  }

  /** @param {number} x @param {number} y a point of the drawing */
  centreOn(x, y) {
    this.x = this.canvas.clientWidth / 2 - x * this.scale;
    this.y = this.canvas.clientHeight / 2 - y * this.scale;
    this.chosen = true;
    this.apply();
  }

  /** Show the whole drawing if that is large enough; otherwise show only a section of it. If `part` is
   * given, text must be readable, and the section is `part`, with text of 12 px. Without `part`, boxes
   * must be distinguishable, and the section is `first`, the beginning.
   * @param {{ x: number, y: number, w: number, h: number } | undefined} part
   * @param {{ x: number, y: number, w: number, h: number }} first */
  fitAround(part, first) {
    this.fit();
    if (this.scale >= (part ? LEGIBLE : DISTINGUISHABLE)) return;
    this.scale = part ? LEGIBLE : READABLE;
    const { x, y, w, h } = part ?? first;
    this.centreOn(x + w / 2, y + h / 2);
    this.chosen = false;
  }

  /** The point of the drawing in the middle of the window. */
  get middle() {
    return [(this.canvas.clientWidth / 2 - this.x) / this.scale, (this.canvas.clientHeight / 2 - this.y) / this.scale];
  }

  /** Whether a part of the drawing is completely inside the window. @param {{ x: number, y: number, w:
   * number, h: number }} part */
  shows({ x, y, w, h }) {
    const [left, top] = [x * this.scale + this.x, y * this.scale + this.y];
    return left >= 0 && top >= 0 && left + w * this.scale <= this.canvas.clientWidth && top + h * this.scale <= this.canvas.clientHeight;
  }

  /** Move the view after a point of the drawing has moved: the point keeps its position in the window.
   * @param {{ x: number, y: number }} from @param {{ x: number, y: number }} to */
  hold(from, to) {
    this.x += (from.x - to.x) * this.scale;
    this.y += (from.y - to.y) * this.scale;
  }

  apply() {
    if (!this.size) return;
    const { clientWidth, clientHeight } = this.canvas;
    const clamp = (/** @type {number} */ offset, /** @type {number} */ size, /** @type {number} */ room) => (size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, offset)));
    this.x = clamp(this.x, this.size.width * this.scale, clientWidth);
    this.y = clamp(this.y, this.size.height * this.scale, clientHeight);
    this.layer.setAttribute("transform", `translate(${this.x} ${this.y}) scale(${this.scale})`);
    this.canvas.dataset.scale = this.scale.toFixed(3);
    this.moved({ x: -this.x / this.scale, y: -this.y / this.scale, w: clientWidth / this.scale, h: clientHeight / this.scale });
  }

  /** The wheel pans, and scrolls the page once the end of the drawing is reached; with Ctrl it zooms.
   * @param {WheelEvent} event */
  wheel(event) {
    if (!this.size) return;
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      const spot = this.canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - spot.left, event.clientY - spot.top);
      return;
    }
    const was = [this.x, this.y];
    this.x -= event.deltaX;
    this.y -= event.deltaY;
    this.apply();
    if (was[0] === this.x && was[1] === this.y) return;
    this.chosen = true;
    event.preventDefault();
  }

  /** @param {PointerEvent} event */
  press(event) {
    if (event.button === 0) this.held = { x: event.clientX - this.x, y: event.clientY - this.y, far: false, id: event.pointerId, at: [event.clientX, event.clientY] };
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (!this.held || !this.size) return;
    const [x, y] = this.held.at;
    if (!this.held.far && Math.hypot(event.clientX - x, event.clientY - y) < 4) return;
    if (!this.held.far) this.canvas.setPointerCapture(this.held.id);
    this.held.far = this.dragged = this.chosen = true;
    this.x = event.clientX - this.held.x;
    this.y = event.clientY - this.held.y;
    this.apply();
  }
}
