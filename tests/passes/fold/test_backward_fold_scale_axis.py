"""BackwardFoldScaleAxis moves a scale after a convolution into its weight."""

from __future__ import annotations

import pytest

from byoc_lab.passes import BackwardFoldScaleAxis
from tests.passes.fold.scaled import check_folds, check_leaves, network


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_scale_after_a_convolution_is_folded(layout: str) -> None:
    check_folds(BackwardFoldScaleAxis(), network(before=False, layout=layout))


def test_scale_before_a_convolution_is_unchanged() -> None:
    check_leaves(BackwardFoldScaleAxis(), network(before=True))
