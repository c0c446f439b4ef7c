"""The opened page of the laboratory in one file."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

SECONDS = 60_000  # ms; a machine with other work to do needs ten times as long as an idle one


class Laboratory:
    """The opened page."""

    def __init__(self, page: Any):
        self.page = page

    def show(self, name: str) -> None:
        """Show what an address names."""
        self.page.evaluate("(hash) => { location.hash = hash }", name)

    def open(self, name: str) -> None:
        """Show an article, and wait for Python."""
        self.show(name)
        self.settle()

    def settle(self) -> None:
        """Wait until Python has nothing to do."""
        expect(self.page.locator("body")).to_have_attribute("data-python", "ready")

    def cell(self, words: str) -> Any:
        """The cell of the article that is shown whose code has these words."""
        found = self.page.locator("article:visible .cell", has_text=words).first
        return self.page.locator(f'[data-cell="{found.get_attribute("data-cell")}"]')

    def write(self, cell: Any, source: str) -> None:
        """Type over the code of a cell."""
        code = cell.locator(".cm-content")
        code.click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)

    def run(self, cell: Any, button: str = "Run this cell") -> None:
        cell.get_by_role("button", name=button).click()
