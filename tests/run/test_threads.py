"""BYOC_LAB_THREADS: the limit that a hub sets applies to the libraries."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from byoc_lab.errors import InputError
from byoc_lab.run.threads import OF_LIBRARIES, thread_limit


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_limit_that_is_not_a_positive_integer_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BYOC_LAB_THREADS", text)
    with pytest.raises(InputError, match="must be a positive integer"):
        thread_limit()


def test_missing_limit_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BYOC_LAB_THREADS", raising=False)
    assert thread_limit() is None


@pytest.mark.slow
@pytest.mark.native
def test_regions_use_no_more_threads_than_the_limit() -> None:
    code = "from byoc_lab.backends.dnnl import native; print(native.get_num_threads())"
    environment = {k: v for k, v in os.environ.items() if k not in OF_LIBRARIES}
    for limit in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**environment, "BYOC_LAB_THREADS": limit},
        )  # fmt: skip
        assert done.stdout.strip() == limit
