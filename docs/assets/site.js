// Names for those who hear the page: the theme's search has none, its copy buttons are no landmarks.
document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
const unmark = () =>
  document.querySelectorAll("nav.md-code__nav:not([role])").forEach((nav) => {
    nav.setAttribute("role", "none");
  });
new MutationObserver(unmark).observe(document.body, { childList: true, subtree: true });
unmark();
