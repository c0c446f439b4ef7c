"""A mark for tests that compile C."""

from __future__ import annotations

import pytest

from byoc_lab.backends.system_compiler import compiler_command

needs_cc = pytest.mark.skipif(not compiler_command(), reason="no C compiler is installed")
