// The HTML after a widget in a notebook, for use without a kernel: it is hidden while the widget is shown.
import { make } from "./text/relay_text.js";

/** Hide the copy of a view anywhere in the page, also if it is added later, by a style rule that is
 * removed with the view.
 * @param {HTMLElement} root @param {string} name the `saved_as` of the model */
export function hideSavedCopy(root, name) {
  if (!name) return;
  const rule = `.byl-saved[data-of="${CSS.escape(name)}"] { display: none }`;
  root.append(make("style", {}, rule));
}
