"""CombineParallelBatchMatmul gives TVM 0.16's modules."""

from __future__ import annotations

from byoc_lab.compat.passes import CombineParallelBatchMatmul
from tests.compat.passes.simplify.parallel import check_combined
from tests.parity.golden import golden_test

test_golden = golden_test("CombineParallelBatchMatmul")


def test_values_stay_and_events_cover_the_changes() -> None:
    check_combined("products", CombineParallelBatchMatmul(2))
