// Follows the focus through the page. Lists the visited elements, the missed ones, and the elements whose
// drawing does not change when they have the focus. `places.step()` is called after each Tab.
() => {
  const isShown = (/** @type {Element} */ e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest("[inert]");
  const words = (/** @type {Element} */ e) => e.outerHTML.slice(0, 160);
  const style = (/** @type {Element | null} */ e) => {
    const { outline, boxShadow, border, background, stroke, strokeWidth } = e ? getComputedStyle(e) : {};
    return [outline, boxShadow, border, background, stroke, strokeWidth];
  };
  const drawn = (/** @type {Element} */ e) => JSON.stringify([e, ...e.children, e.nextElementSibling, e.closest(".cm-editor")].map(style));
  const FOCUSABLE = "a[href], button:enabled, input:not([type=radio]), select, summary, [tabindex='0']";
  window.places = {
    /** @type {Set<Element>} */
    visited: new Set(),
    /** @type {string[]} */
    unseen: [],
    /** @type {[Element, string] | null} */
    last: null,
    leave() {
      if (this.last && this.last[1] === drawn(this.last[0])) this.unseen.push(words(this.last[0]));
      this.last = null;
    },
    step() {
      this.leave();
      const here = document.activeElement;
      if (here === document.body || this.visited.has(here)) return "end"; // after the last element, the focus leaves the page
      this.last = [here, drawn(here)];
      this.visited.add(here);
      if (!this.missed.length) return "end";
      return here.matches(".cm-content") ? "editor" : "";
    },
    get missed() {
      const places = [...document.querySelectorAll(FOCUSABLE)].filter((e) => e.tabIndex >= 0 && isShown(e));
      return places.filter((e) => !this.visited.has(e)).map(words);
    },
    get found() {
      return { missed: this.missed, unseen: this.unseen, visited: this.visited.size };
    },
  };
}
