"""Screenshots and a short screen recording of the stepper, kept in build/browser.

build/browser/stepper-*.png: MobileNet annotated, merged and partitioned, light and dark.
build/browser/stepper.webp: all stages in order, and the rewrites in one of them.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.lab.view.states.rewrites import with_steps
from byoc_lab.lab.view.states.state import Builder
from tests.lab.view.samples import mobilenet

from .widget_page import NewPage, drawn, mount, still

pytestmark = pytest.mark.browser

KEPT = Path(__file__).parents[2] / "build" / "browser"
SCREEN = {"width": 1600, "height": 1000}
SHOWN = (800, 500)  # size of the recording
FRAME = 120  # ms
# Boxes are drawn at their position for a given time, however long a screenshot takes.
AT = """(time) => {
  for (const animation of document.getAnimations()) animation.currentTime = time;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots_of_the_stages_differ_and_are_not_empty(
    new_page: NewPage, mobilenet_state: Any, scheme: str
) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    root = mount(new_page(viewport=SCREEN, color_scheme=scheme), mobilenet_state, index=6)
    names = []
    for n in (6, 7, 8):
        drawn(root)
        still(root.page)
        names.append(KEPT / f"stepper-{mobilenet()[n].name}-{scheme}.png")
        root.page.screenshot(path=names[-1])
        root.press("ArrowRight")
    pictures = [name.read_bytes() for name in names]
    assert len(set(pictures)) == 3, "each stage looks different"
    assert all(len(picture) > 20_000 for picture in pictures), "none is empty"


def test_recording_has_frames_in_the_shown_size(new_page: NewPage) -> None:
    image = pytest.importorskip("PIL.Image", reason="Pillow writes the recording")
    trace = mobilenet()
    builder = Builder()
    state = with_steps(trace, builder.ids, builder.trace(trace), limit=2000)
    root = mount(new_page(viewport=SCREEN, device_scale_factor=0.5), state)
    devtools = root.page.context.new_cdp_session(root.page)
    devtools.send("Animation.enable")
    devtools.send("Animation.setPlaybackRate", {"playbackRate": 0})
    frames: list[Any] = []

    def record(count: int) -> None:
        drawn(root)
        for n in range(count):
            root.page.evaluate(AT, n * FRAME)
            shot = root.page.screenshot(type="jpeg", quality=80)
            frames.append(image.open(io.BytesIO(shot)).convert("RGB"))

    record(4)
    for _ in range(len(trace) - 1):
        root.press("ArrowRight")
        record(5)
    root.locator(".byl-repeat .byl-opener, .byl-external .byl-opener").first.click()
    record(6)
    root.press("Home")
    root.press("ArrowRight")
    record(3)
    for _ in range(3):
        root.press(".")
        record(4)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / "stepper.webp"
    frames[0].save(path, save_all=True, append_images=frames[1:], duration=FRAME, quality=60)
    with image.open(path) as made:
        assert made.n_frames > 40
        assert made.size == SHOWN
    assert path.stat().st_size < 6_000_000
