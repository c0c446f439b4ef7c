"""CanonicalizeCast does what TVM 0.16 does."""

from __future__ import annotations

from tests.parity.golden import golden_test

test_golden = golden_test("CanonicalizeCast")
