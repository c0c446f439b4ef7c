// A long list of rows of which only those near the visible part are in the page.
import { make } from "./relay_text.js";

const BLOCK = 80; // number of items in a block, which is drawn and cleared as a whole
const ROW = 19; // assumed height in pixels of a row that was not drawn yet
const MARGIN = 1600; // pixels above and below the visible part that are drawn

/**
 * @template Item
 */
export class VirtualList {
  /** @param {HTMLElement} pane scrolls @param {(item: Item) => HTMLElement[]} draw the rows of an item
   * @param {(block: HTMLElement) => void} drawn called with newly drawn rows @param {AbortSignal} signal */
  constructor(pane, draw, drawn, signal) {
    this.pane = pane;
    this.draw = draw;
    this.drawn = drawn;
    /** @type {{element: HTMLElement, items: Item[], rows: boolean}[]} */
    this.blocks = [];
    let waits = false;
    pane.addEventListener("scroll", () => {
      if (waits) return;
      waits = true;
      requestAnimationFrame(() => ((waits = false), this.update()));
    }, { signal });
  }

  /** Show other items below `head`. @param {Item[]} items @param {HTMLElement[]} head */
  show(items, head) {
    this.blocks = [];
    for (let n = 0; n < items.length; n += BLOCK) {
      const part = items.slice(n, n + BLOCK);
      const element = make("div", { class: "byl-block", style: `height: ${part.length * ROW}px` });
      this.blocks.push({ element, items: part, rows: false });
    }
    this.pane.replaceChildren(...head, ...this.blocks.map((b) => b.element));
    this.update();
  }

  /** Draw the blocks near the visible part, and clear those that are far from it. */
  update() {
    const { scrollTop, clientHeight } = this.pane;
    if (!clientHeight) return; // the pane is hidden
    const from = this.firstBelow(scrollTop - MARGIN);
    let until = from;
    while (until < this.blocks.length && this.blocks[until].element.offsetTop < scrollTop + clientHeight + MARGIN) this.fill(this.blocks[until++]);
    this.blocks.forEach((block, n) => (n < from || n >= until) && this.clear(block));
  }

  /** The first block that ends below `y`; blocks are in order. @param {number} y */
  firstBelow(y) {
    let [low, high] = [0, this.blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const { offsetTop, offsetHeight } = this.blocks[middle].element;
      if (offsetTop + offsetHeight < y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @param {{element: HTMLElement, items: Item[], rows: boolean}} block */
  fill(block) {
    if (block.rows) return;
    block.rows = true;
    block.element.style.height = "";
    block.element.replaceChildren(...block.items.flatMap((item) => this.draw(item)));
    this.drawn(block.element);
  }

  /** @param {{element: HTMLElement, items: Item[], rows: boolean}} block */
  clear(block) {
    if (!block.rows) return;
    block.rows = false;
    block.element.style.height = `${block.element.offsetHeight}px`;
    block.element.replaceChildren();
  }

  /** Replace an item by others at its position. @param {Item} item @param {Item[]} others */
  replace(item, others) {
    const n = this.blocks.findIndex((b) => b.items.includes(item));
    if (n < 0) return;
    const { items, element } = this.blocks[n];
    const at = items.indexOf(item);
    const now = [...items.slice(0, at), ...others, ...items.slice(at + 1)];
    const made = [];
    for (let k = 0; k < now.length; k += BLOCK) {
      const part = now.slice(k, k + BLOCK);
      made.push({ element: make("div", { class: "byl-block", style: `height: ${part.length * ROW}px` }), items: part, rows: false });
    }
    this.blocks.splice(n, 1, ...made);
    element.replaceWith(...made.map((b) => b.element));
    this.update();
  }

  /** The items in order. */
  *items() {
    for (const { items } of this.blocks) yield* items;
  }

  /** Draw an item even if it is far from the visible part; returns its block. @param {Item} item */
  reveal(item) {
    const block = this.blocks.find((b) => b.items.includes(item));
    if (block) this.fill(block);
    return block?.element ?? null;
  }
}
