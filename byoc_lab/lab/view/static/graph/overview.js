// A small map of the whole graph that marks the shown part; a click or a drag shows that point.
import { make } from "../text/relay_text.js";

const [WIDTH, HEIGHT] = [170, 110];

export class Overview {
  /** `go(x, y)`: called with the point of the graph to show in the middle. */
  constructor(go, signal) {
    this.map = make("canvas", { class: "byl-overview", width: String(WIDTH * 2), height: String(HEIGHT * 2), "aria-hidden": "true" });
    let held = false;
    const point = (event) => {
      const at = this.map.getBoundingClientRect();
      if (this.placed) go((event.clientX - at.left - this.left) / this.scale, (event.clientY - at.top - this.top) / this.scale);
    };
    this.map.addEventListener("pointerdown", (e) => ((held = true), this.map.setPointerCapture(e.pointerId), point(e)), { signal });
    this.map.addEventListener("pointermove", (e) => held && point(e), { signal });
    this.map.addEventListener("pointerup", () => (held = false), { signal });
  }

  /** `view`: {x, y, w, h}, the part of the graph that is shown. */
  draw(placed, scene, view) {
    this.placed = placed;
    const all = view.x <= 1 && view.y <= 1 && view.x + view.w >= placed.width - 1 && view.y + view.h >= placed.height - 1;
    this.map.hidden = all;
    if (all) return;
    this.scale = Math.min((WIDTH - 8) / placed.width, (HEIGHT - 8) / placed.height);
    this.left = (WIDTH - placed.width * this.scale) / 2;
    this.top = (HEIGHT - placed.height * this.scale) / 2;
    const pen = this.map.getContext("2d");
    const style = getComputedStyle(this.map);
    pen.setTransform(2, 0, 0, 2, 0, 0);
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    pen.translate(this.left, this.top);
    pen.scale(this.scale, this.scale);
    for (const node of placed.nodes) {
      pen.fillStyle = style.color;
      pen.globalAlpha = node.open ? 0.12 : 0.5;
      pen.fillRect(node.x, node.y, node.w, node.h);
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = style.outlineColor;
    pen.lineWidth = 2 / this.scale;
    pen.strokeRect(view.x, view.y, view.w, view.h);
  }
}
