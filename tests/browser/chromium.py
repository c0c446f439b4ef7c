"""A headless Chromium for the tests, started without a network; tests are skipped if it is
missing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    # No name but this machine's resolves, so nothing can be loaded from a CDN.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
]
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


def missing(what: str) -> None:
    """Fails in CI, where every browser has to be installed; elsewhere skips with the reason."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; CI must have it")
    pytest.skip(what)


@contextmanager
def driver() -> Iterator[Any]:
    """Playwright's `Playwright`, which launches browsers; one per process."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed (pip install playwright)")
    with sync_playwright() as playwright:
        yield playwright


@contextmanager
def launched(playwright: Any) -> Iterator[Any]:
    """A running browser (playwright's `Browser`)."""
    found = [path for name in NAMES if (path := shutil.which(name))]
    if not found:
        missing(f"no browser on PATH ({', '.join(NAMES)})")
    browser = playwright.chromium.launch(executable_path=found[0], headless=True, args=FLAGS)
    try:
        yield browser
    finally:
        browser.close()
