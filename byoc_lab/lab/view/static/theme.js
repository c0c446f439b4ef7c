// Light or dark: as JupyterLab says, as the page around the widget is, or as the system is set.

/** Keep `root.dataset.theme` up to date until `signal` aborts. */
export function followTheme(root, signal) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => {
    const jupyter = document.body.dataset.jpThemeLight;
    root.dataset.theme = (jupyter ? jupyter === "false" : isDark(system)) ? "dark" : "light";
  };
  const watch = new MutationObserver(theme);
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class", "style"] });
  system.addEventListener("change", theme, { signal });
  signal.addEventListener("abort", () => watch.disconnect());
  theme();
}

/** Whether the surrounding page is dark: by its background colour, else by the system setting. */
function isDark(system) {
  const behind = getComputedStyle(document.body).backgroundColor.match(/[\d.]+/g)?.map(Number);
  if (!behind || behind[3] === 0) return system.matches;
  return 0.2126 * behind[0] + 0.7152 * behind[1] + 0.0722 * behind[2] < 128;
}
