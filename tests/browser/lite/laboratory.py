"""The opened page of the laboratory in one file: shows articles, runs cells, saves files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import expect

SECONDS = 60_000  # a timeout in ms; a busy machine needs ten times as long as an idle one
POLL = 50  # interval in ms
PART = ".part"
"""The suffix of a download that is not complete."""
NARROW = 1024  # pixels
THEME = """
() => document.documentElement.dataset.theme
  || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")
"""


class Laboratory:
    """The opened page.

    downloads: the folder of a browser whose downloads the driver does not report.
    """

    def __init__(self, page: Any, downloads: Path | None = None):
        self.page = page
        self.downloads = downloads

    @property
    def is_chromium(self) -> bool:
        return bool(self.page.context.browser.browser_type.name == "chromium")

    def show(self, name: str) -> None:
        """Shows the article that an address names."""
        self.page.evaluate("(hash) => { location.hash = hash }", name)

    def open(self, name: str) -> None:
        """Shows an article with its original code, which earlier tests may have changed, and
        waits for Python."""
        self.show(name)
        expect(self.page.locator("body")).to_have_attribute("data-article", name.partition("/")[0])
        if (button := self.page.locator("#reset")).is_visible():
            button.click()
        self.settle()

    def settle(self) -> None:
        """Waits until Python is idle."""
        expect(self.page.locator("body")).to_have_attribute("data-python", "ready")

    def cell(self, words: str) -> Any:
        """The cell, in the shown article, whose code contains these words."""
        found = self.page.locator("article:visible .cell", has_text=words).first
        article = self.page.locator("body").get_attribute("data-article")
        place = f'[data-cell="{found.get_attribute("data-cell")}"]'
        return self.page.locator(f'article[id="{article}"] {place}')

    def write(self, cell: Any, source: str) -> None:
        """Replaces the code of a cell by typing."""
        code = cell.locator(".cm-content")
        code.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.press("Delete")
        self.page.keyboard.insert_text(source)

    def run(self, cell: Any, button: str = "Run this cell") -> None:
        cell.get_by_role("button", name=button).click()

    def saved(self, button: str) -> Path:
        """The file that a button of the page saves."""
        click = self.page.get_by_role("button", name=button).click
        if self.downloads is None:
            with self.page.expect_download() as saved:
                click()
            return Path(saved.value.path())
        before = set(self.downloads.iterdir())
        click()
        for _ in range(SECONDS // POLL):
            new = set(self.downloads.iterdir()) - before
            if new and all(path.suffix != PART and path.stat().st_size for path in new):
                return new.pop()
            self.page.wait_for_timeout(POLL)
        raise TimeoutError(f"{button} saved no file in {self.downloads}")

    def paint(self, scheme: str) -> None:
        """Shows the page in "light" or "dark"; uses the system's setting if the browser has it."""
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        if self.page.evaluate(THEME) != scheme:
            self.page.locator("#theme").click()
        assert self.page.evaluate(THEME) == scheme

    def narrow(self) -> None:
        """Makes the page as wide as a small laptop's screen, on which nothing may be cut off."""
        self.page.set_viewport_size({"width": NARROW, "height": 768})
        assert self.page.evaluate("() => document.documentElement.scrollWidth") <= NARROW
