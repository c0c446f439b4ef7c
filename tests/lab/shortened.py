"""Networks with each of their kinds of blocks once or twice, since the other blocks repeat them."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.relay import IRModule
from byoc_lab.relay.testing import mobilenet, squeezenet

IMAGE = (3, 64, 64)


def short_mobilenet() -> tuple[IRModule, dict[str, Any]]:
    """The first convolution and two separable blocks, of which one halves the size."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mobilenet, "BLOCKS", mobilenet.BLOCKS[:2])
        return mobilenet.get_workload(image_shape=IMAGE)


def short_squeezenet() -> tuple[IRModule, dict[str, Any]]:
    """The first and the last convolution and two fire modules with a pooling between them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(squeezenet.FIRES, "1.0", (16, None, 32))
        return squeezenet.get_workload(image_shape=IMAGE)
