"""Each operator's converter equals PyTorch. (The functions of a group are exported together.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from torch import nn  # noqa: E402

import byoc_lab  # noqa: E402
from byoc_lab.errors import UnsupportedOperatorError  # noqa: E402
from byoc_lab.importers.pytorch import from_pytorch  # noqa: E402

from .cases import GROUPS, Functions  # noqa: E402


class Group(nn.Module):
    """The results of several functions with the same inputs."""

    def __init__(self, functions: Functions):
        super().__init__()
        self.functions = list(functions.values())

    def forward(self, *inputs: Any) -> Any:
        flat: list[Any] = []
        for function in self.functions:
            found = function(*inputs)
            flat += found if isinstance(found, (tuple, list)) else [found]
        return tuple(flat)


@pytest.mark.parametrize("name", GROUPS)
def test_results_of_operators_equal_pytorch(name: str) -> None:
    functions, make = GROUPS[name]
    torch.manual_seed(1)
    inputs = make()
    model = Group(functions)
    wanted = model(*inputs)
    mod, _ = from_pytorch(model, inputs)
    found = byoc_lab.evaluate(mod, [x.numpy() for x in inputs]).outputs
    labels = []
    for label, function in functions.items():
        results = function(*inputs)
        labels += [label] * (len(results) if isinstance(results, (tuple, list)) else 1)
    for label, ours, theirs in zip(labels, found, wanted, strict=True):
        assert ours.dtype == theirs.numpy().dtype, label
        assert ours.shape == tuple(theirs.shape), label
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5, err_msg=label)


REFUSED: dict[str, tuple[Any, str]] = {
    "aten::nanmedian.dim": (lambda x: x.nanmedian(1), "node 'nanmedian'.*; write it with the"),
    "aten::mode.default": (lambda x: x.mode(1), "node 'mode'.*; write it with the"),
    "aten::median.default": (lambda x: x[:, :0].median(), "export with at least one element"),
    "aten::searchsorted.Tensor": (
        lambda x: torch.searchsorted(x[0], x, sorter=torch.arange(4)),
        "sort the sequence before",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unsupported_operator_error_names_the_operator_with_advice(name: str) -> None:
    function, advice = REFUSED[name]
    with pytest.raises(UnsupportedOperatorError, match=advice) as raised:
        from_pytorch(Group({name: function}), (torch.ones(3, 4),))
    assert f"operator {name}" in str(raised.value)
