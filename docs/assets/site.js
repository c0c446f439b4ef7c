// Names for those who hear the page: the theme's search has none, its copy buttons are no landmarks.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
// Wide tables scroll, by keys too.
const set = (selector, name, value) =>
  document.querySelectorAll(`${selector}:not([${name}])`).forEach((element) => {
    element.setAttribute(name, value);
  });
const name = () => {
  set("nav.md-code__nav", "role", "none");
  set(".md-typeset__scrollwrap", "tabindex", "0");
};
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
name();
// site.css would find the pages with steppers too, by :has, but each change would style the page anew.
document.body.classList.toggle("steppers", document.querySelector(".own-page") !== null);
