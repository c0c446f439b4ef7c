"""The static site over HTTP, and two tabs of one browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import expect

from tests.browser.widget_page import NewPage

from .laboratory import Laboratory

pytestmark = pytest.mark.browser


class Quiet(SimpleHTTPRequestHandler):
    """The handler of `python -m http.server`, without its log."""

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site(one_file: Path) -> Iterator[str]:
    """The address of the static site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(one_file.parent)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def test_tabs_of_the_site_have_their_own_python(new_page: NewPage, site: str) -> None:
    page = new_page()
    asked: list[str] = []
    page.context.on("request", lambda request: asked.append(request.url))
    tabs = [Laboratory(page), Laboratory(page.context.new_page())]
    for number, tab in enumerate(tabs):
        tab.page.goto(f"{site}#02_reading_relay")
        tab.settle()
        cell = tab.page.locator("article:visible .cell").first
        tab.write(cell, f"n = globals().get('n', 0) + 1\nprint({number}, n)")
        tab.run(cell)
        expect(cell.locator(".stdout")).to_have_text(f"{number} 1\n")
    first = tabs[0].page.locator("article:visible .cell").first
    expect(first.locator(".cm-content")).to_contain_text("print(0, n)")
    tabs[0].run(first)
    expect(first.locator(".stdout")).to_have_text("0 2\n")
    assert {url.partition("#")[0] for url in asked if not url.startswith("blob:")} <= {
        site, f"{site}python.bin", f"{site}files.bin"
    }  # fmt: skip
