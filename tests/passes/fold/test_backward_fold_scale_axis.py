"""BackwardFoldScaleAxis: a scale behind a convolution moves into its weight."""

from __future__ import annotations

import pytest

from byoc_lab.passes import BackwardFoldScaleAxis
from tests.passes.fold.scaled import check_folds, check_leaves, network


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_scale_is_folded(layout: str) -> None:
    check_folds(BackwardFoldScaleAxis(), network(before=False, layout=layout))


def test_the_other_direction_is_left_alone() -> None:
    check_leaves(BackwardFoldScaleAxis(), network(before=True))
