// The exercises of the course: what has passed, and the file to hand in.
import { find, make, saved } from "./dom.js";
import { kept, keep } from "./storage.js";
import { zipped } from "./zip.js";

const PASSED = "passed";

export class Exercises {
  /** @param {Record<string, any>} files the notebooks
   * @param {Map<string, import("./notebook.js").Notebook>} opened */
  constructor(files, opened) {
    this.files = files;
    this.opened = opened;
    this.names = Object.keys(files).filter((name) => files[name].cells.some(isCheck));
    this.counted = make("p", { class: "small", role: "status" });
    find("group-exercises").append(this.counted, make("button", { title: "Write one file with all exercises that you changed", click: () => this.handIn() }, "Hand in"));
    this.show();
  }

  /** A check cell has shown its verdict. @param {string} name @param {any} cell @param {boolean} passed */
  judge(name, cell, passed) {
    if (!isCheck(cell) || !passed) return;
    keep(name, PASSED, PASSED, "");
    this.show();
  }

  show() {
    const passed = this.names.filter((name) => kept(name, PASSED));
    for (const name of passed) document.querySelector(`nav a[href="#${name}"]`)?.classList.add(PASSED);
    this.counted.textContent = `${passed.length} of ${this.names.length} passed in this browser`;
  }

  /** The exercises with what was typed. */
  get changed() {
    return new Map(this.names.flatMap((name) => {
      const file = this.opened.get(name)?.current ?? this.withKept(name);
      const isChanged = file.cells.some((/** @type {any} */ cell, /** @type {number} */ n) => source(cell) !== source(this.files[name].cells[n]));
      return isChanged ? [[`${name}.ipynb`, JSON.stringify(file, null, 1)]] : [];
    }));
  }

  /** @param {string} name of a notebook that was not opened since the page was loaded */
  withKept(name) {
    const file = this.files[name];
    return { ...file, cells: file.cells.map((/** @type {any} */ cell) => ({ ...cell, source: kept(name, cell.id) ?? cell.source })) };
  }

  handIn() {
    const { changed } = this;
    find("words").textContent = changed.size ? `Saved ${changed.size} exercises in exercises.zip: hand in that file` : "No exercise was changed yet";
    if (changed.size) saved(zipped(changed), "exercises.zip");
  }
}

/** @param {any} cell */
const source = (cell) => [cell.source].flat().join("");

/** @param {any} cell */
const isCheck = (cell) => cell.metadata.byoc_lab?.cell === "check";
