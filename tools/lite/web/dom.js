// Making elements.

/** @param {string} tag @param {Record<string, any>} [values] attributes, and functions that listen
 * @param {...(Node | string)} children @returns {HTMLElement} */
export function make(tag, values = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** An element of the page. @param {string} id @returns {any} */
export const find = (id) => document.getElementById(id);

/** The value of a script element with JSON. @param {string} id */
export const value = (id) => JSON.parse(find(id).textContent);

/** Save a file. @param {Blob} blob @param {string} name */
export function saved(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
