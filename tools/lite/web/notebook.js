// A notebook of the page: its cells, and the file that it can be downloaded as.
import { Cell } from "./cell.js";
import { saved } from "./dom.js";

/** What all notebooks share. @typedef {{ kernel: import("./kernel.js").Kernel, models: import("./models.js").Models, view: any, exercises: import("./exercises.js").Exercises }} Host */

export class Notebook {
  /** @param {HTMLElement} article @param {any} file the notebook as it is in the course
   * @param {Record<string, any[]>} stored the outputs of cells that cannot run here @param {Host} host */
  constructor(article, file, stored, host) {
    this.name = article.id;
    this.file = file;
    this.stored = stored;
    this.host = host;
    const cells = new Map(file.cells.map((/** @type {any} */ cell) => [cell.id, cell]));
    const elements = [.../** @type {NodeListOf<HTMLElement>} */ (article.querySelectorAll(".cell"))];
    this.cells = elements.map((element, n) => new Cell(element, cells.get(String(element.dataset.cell)), n + 1, this));
  }

  runAll() {
    for (const cell of this.cells) cell.run();
  }

  /** Run the cells above one, and itself. @param {Cell} last */
  runTo(last) {
    for (const cell of this.cells.slice(0, this.cells.indexOf(last) + 1)) cell.run();
  }

  /** @param {Cell} cell */
  focusAfter(cell) {
    this.cells[this.cells.indexOf(cell) + 1]?.editor.focus();
  }

  /** Forget what was typed. */
  reset() {
    for (const cell of this.cells) cell.replace(cell.original);
  }

  /** The notebook with what was typed, and with outputs. */
  get current() {
    const cells = this.file.cells.map((/** @type {any} */ cell) => {
      const own = this.cells.find(({ id }) => id === cell.id);
      return own ? { ...cell, source: own.source, outputs: own.outputs.kept } : cell;
    });
    return { ...this.file, cells };
  }

  /** A cell has shown the verdict on an answer. @param {Cell} cell @param {boolean} passed */
  judge(cell, passed) {
    this.host.exercises.judge(this.name, this.file.cells.find(({ id }) => id === cell.id), passed);
  }

  download() {
    saved(new Blob([JSON.stringify(this.current, null, 1)], { type: "application/x-ipynb+json" }), `${this.name}.ipynb`);
  }

  /** Take the code of the cells of a file; nothing of it is run. Returns how many of them it has: none
   * if it is not a notebook. @param {string} text */
  upload(text) {
    const given = sources(text);
    const found = this.cells.filter(({ id }) => given.has(id));
    for (const cell of found) cell.replace(/** @type {string} */ (given.get(cell.id)));
    return found.length;
  }
}

/** The code of the cells of a notebook file, by their names. @param {string} text @returns {Map<string, string>} */
function sources(text) {
  const cells = parsed(text)?.cells;
  const known = (Array.isArray(cells) ? cells : []).filter(isCell);
  return new Map(known.map(({ id, source }) => [id, [source].flat().join("")]));
}

/** The value of JSON; null if it cannot be read. @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** @param {any} cell */
const isCell = (cell) => typeof cell?.id === "string" && [cell.source].flat().every((line) => typeof line === "string");
