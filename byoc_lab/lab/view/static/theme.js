// Light or dark theme: from JupyterLab, else from the page around the widget, else from the system setting.

/** Keep `root.dataset.theme` up to date until `signal` aborts. */
export function followTheme(root, signal) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => {
    const jupyter = document.body.dataset.jpThemeLight;
    root.dataset.theme = (jupyter ? jupyter === "false" : isDark(root, system)) ? "dark" : "light";
  };
  const watch = new MutationObserver(theme);
  watch.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class", "style"] });
  const placed = new ResizeObserver(theme); // the classic notebook inserts a widget into the page later
  placed.observe(root);
  system.addEventListener("change", theme, { signal });
  signal.addEventListener("abort", () => [watch, placed].forEach((each) => each.disconnect()));
  theme();
}

/** Whether the surroundings of the widget are dark: by the nearest background that is not transparent, else
 * by the system setting. @param {HTMLElement} root @param {MediaQueryList} system */
function isDark(root, system) {
  for (let around = outside(root); around; around = outside(around)) {
    const [red, green, blue, alpha] = pixel(getComputedStyle(around).backgroundColor);
    if (alpha) return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
  }
  return system.matches;
}

/** @param {Element} element @returns {Element | null} */
function outside(element) {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? root.host : null);
}

/** Red, green, blue and alpha, to 255, of a colour in any notation: "rgb(0, 0, 0)", "color(srgb 1 1 1)".
 * @param {string} colour */
function pixel(colour) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d");
  if (!context) return [0, 0, 0, 0];
  context.fillStyle = colour || "transparent"; // an element outside the page has no colours
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}
