// Presenter mode: full screen where the page may, large type, the stages out of the way.

/** Enter or leave it. @param {HTMLElement} root @param {HTMLElement} button */
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
    return; // a frame without the permission: it fills the frame by its style
  }
  if (root.dataset.present === "true") document.addEventListener("fullscreenchange", left);
  else await document.exitFullscreen(); // left before there was a full screen to leave
}
