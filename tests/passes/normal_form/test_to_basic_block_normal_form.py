"""ToBasicBlockNormalForm gives TVM 0.16's modules."""

from __future__ import annotations

from tests.parity.golden import golden_test

test_golden = golden_test("ToBasicBlockNormalForm")
