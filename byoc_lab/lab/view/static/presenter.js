// Presenter mode: full screen if the page is allowed to, large text, and a hidden stage list.

/** Enter or leave presenter mode. @param {HTMLElement} root @param {HTMLElement} button */
export async function present(root, button) {
  const on = root.dataset.present !== "true";
  root.dataset.present = String(on);
  button.setAttribute("aria-pressed", String(on));
  if (!on) {
    if (document.fullscreenElement === root) await document.exitFullscreen();
    return;
  }
  const left = () => {
    if (document.fullscreenElement === root) return;
    document.removeEventListener("fullscreenchange", left);
    if (root.dataset.present === "true") present(root, button);
  };
  try {
    await root.requestFullscreen();
  } catch {
    return; // a frame without the permission: the style makes the view fill the frame
  }
  if (root.dataset.present === "true") document.addEventListener("fullscreenchange", left);
  else await document.exitFullscreen(); // presenter mode ended before full screen began
}
