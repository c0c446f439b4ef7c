"""FoldScaleAxis: scales along one axis move into the weights around them."""

from __future__ import annotations

from typing import ClassVar

from byoc_lab.passes.fold.backward_fold_scale_axis import BackwardFoldScaleAxis
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.forward_fold_scale_axis import ForwardFoldScaleAxis
from byoc_lab.passes.fold.scale_axis import WEIGHTED
from byoc_lab.passes.framework.passes import Sequential


class FoldScaleAxis(Sequential):
    """Scales along one axis move into the weights around them, and are computed there.

    Runs both directions, then FoldConstant. As in TVM it is a sequence whose first two members have
    level 3: at the default level 2 only FoldConstant runs, and no scale moves.

    computed: whether to move scales that a convolution or dense computes.
    """

    weighted: ClassVar = WEIGHTED

    def __init__(self, computed: bool = True) -> None:
        passes = [BackwardFoldScaleAxis(computed), ForwardFoldScaleAxis(computed), FoldConstant()]
        super().__init__(passes, name="FoldScaleAxis")
