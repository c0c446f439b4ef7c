// The style sheet of the view.
import { make } from "./text/relay_text.js";

const STYLE = ""; // assets.py inserts the style sheet here

/** Put the style sheet into the page, or into the shadow tree that contains `el`, once.
 * @param {HTMLElement} el */
export function addStyle(el) {
  const tree = el.getRootNode();
  const place = tree instanceof ShadowRoot ? tree : document.head;
  const there = [...place.children].some((each) => each instanceof HTMLStyleElement && each.textContent === STYLE);
  if (!there) place.append(make("style", {}, STYLE));
}
