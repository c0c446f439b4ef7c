"""How the property tests draw: the same examples in every run, unless one asks to explore.

`fixed` (the default, and what CI runs): each test draws the same examples every time, so that a
run that was green stays green. `explore` (`make slow`, or `pytest --hypothesis-profile=explore`):
new examples in every run. `pytest --hypothesis-seed=N` (`make slow SEED=N`) explores from a seed
that is given. A failure prints how to see it again.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code: tests that bound it
# do so themselves.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("fixed", unhurried, derandomize=True)
settings.register_profile("explore", unhurried, derandomize=False)
settings.load_profile("fixed")


def pytest_configure(config: pytest.Config) -> None:
    asked = config.getoption("--hypothesis-profile")
    if config.getoption("--hypothesis-seed") is not None and asked is None:
        settings.load_profile("explore")  # a seed means nothing to derandomised tests
