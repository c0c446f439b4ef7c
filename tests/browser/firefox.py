"""The installed Firefox, headless and without a network, driven as Chromium is."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("firefox-esr", "firefox")
# Requests to other machines are sent to a closed port, so nothing can be loaded from a CDN.
PREFERENCES = {
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
}


@contextmanager
def launched(playwright: Any) -> Iterator[tuple[Any, Path]]:
    """A running browser (playwright's `Browser`), and the folder of its downloads."""
    found = [path for name in NAMES if (path := shutil.which(name))]
    if not found:
        pytest.skip("Firefox is not installed (apt-get install firefox-esr)")
    with tempfile.TemporaryDirectory() as downloads:
        browser = playwright.firefox.launch(
            executable_path=found[0],
            channel="moz-firefox",
            firefox_user_prefs=PREFERENCES,
            downloads_path=downloads,
        )
        try:
            yield browser, Path(downloads)
        finally:
            browser.close()
