"""Back ends that tests of Relax register."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Unregister the back ends of a test."""
    yield
    from byoc_lab import backends, relax

    for name in ("npu", "dsp", "ccompiler"):
        relax.unregister(name)
    if "npu" in backends.names():
        backends.unregister("npu")
