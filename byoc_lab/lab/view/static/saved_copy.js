// The HTML that follows a widget in a notebook, for when its kernel is gone: it is hidden while the widget lives.
import { make } from "./text/relay_text.js";

/** Hide the copy of a view, wherever the page has it or will have it. The rule goes with the view.
 * @param {HTMLElement} root @param {string} name the `saved_as` of the model */
export function hideSavedCopy(root, name) {
  if (!name) return;
  const rule = `.byl-saved[data-of="${CSS.escape(name)}"] { display: none }`;
  root.append(make("style", {}, rule));
}
