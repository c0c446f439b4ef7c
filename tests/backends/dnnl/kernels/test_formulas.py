"""The float64 formulas that kernels are compared with, checked against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sweeps import some

torch = pytest.importorskip("torch", reason="PyTorch, which computes the same, is not installed")

from tests.backends.dnnl.kernels import kernels_in_torch  # noqa: E402
from tests.backends.dnnl.kernels.draws import Draw, each_array  # noqa: E402
from tests.backends.dnnl.kernels.kernel_cases import KERNELS  # noqa: E402
from tests.backends.dnnl.reference import exact  # noqa: E402

# PyTorch lacks blocked layouts and Relay's rounding of integers. Those formulas only move
# elements, or are exact.
MISSING = ("reorder", "quantize", "requantize")


def test_every_kernel_has_a_row() -> None:
    assert {*kernels_in_torch.KERNELS, *MISSING} == set(KERNELS)


@pytest.mark.parametrize("name", kernels_in_torch.KERNELS)
@given(st.data())
@settings(max_examples=some(4))
def test_formula_equals_the_reference(name: str, drawn: st.DataObject) -> None:
    kernel = KERNELS[name]
    d = Draw(drawn, drawn.draw(st.sampled_from(kernel.dtypes)))
    case = kernel.cases(d)
    tensors = (each_array(lambda a: torch.tensor(np.float64(a)), arg) for arg in case.args)
    wanted = kernels_in_torch.KERNELS[name](*tensors, **case.attrs).numpy()
    found = kernel.formula(*(each_array(exact, arg) for arg in case.args), **case.attrs)
    np.testing.assert_allclose(found.value, wanted, rtol=1e-9, atol=1e-9)
