"""ForwardFoldScaleAxis: a scale before a convolution moves into its weight."""

from __future__ import annotations

import pytest

from byoc_lab.passes import ForwardFoldScaleAxis
from tests.passes.fold.scaled import check_folds, check_leaves, network


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_scale_is_folded(layout: str) -> None:
    check_folds(ForwardFoldScaleAxis(), network(before=True, layout=layout))


def test_the_other_direction_is_left_alone() -> None:
    check_leaves(ForwardFoldScaleAxis(), network(before=False))
