"""Write the pictures of the README and the docs again: `make pictures` (needs Chromium).

Each picture is a screenshot of a saved page in a headless browser.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import byoc_lab  # noqa: E402
from byoc_lab.lessons import mobilenet  # noqa: E402
from tests.browser.chromium import driver, launched  # noqa: E402
from tests.lab.view.samples import chain  # noqa: E402

IMAGES = ROOT / "docs" / "images"
NETWORK = byoc_lab.trace(mobilenet.module(), pipeline="dnnl")  # as in the README
# {name: (trace, pressed keys, colours)}
PICTURES: dict[str, tuple[byoc_lab.Trace, tuple[str, ...], str]] = {
    "stepper": (chain(), (), "light"),
    "stepper_dark": (chain(), (), "dark"),
    "mobilenet": (NETWORK, ("End",), "light"),
    "mobilenet_dark": (NETWORK, ("End", ".", "."), "dark"),
}


def main() -> None:
    with (
        driver() as playwright,
        launched(playwright) as browser,
        tempfile.TemporaryDirectory() as folder,
    ):
        for name, (trace, keys, scheme) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": 1440, "height": 860},
                color_scheme=scheme,
                reduced_motion="reduce",
            )
            page.goto(trace.save_html(Path(folder) / f"{name}.html").as_uri())
            page.locator(".byl[data-ready]").wait_for()
            for key in keys:
                page.keyboard.press(key)
            page.locator(".byl-scene:not([data-busy])").wait_for()
            target = IMAGES / f"{name}.png"
            page.screenshot(path=target)
            print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
