"""`NDArray`: a read-only array with TVM's methods."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.relay.ir.ndarray import NDArray, array


def test_later_writes_to_the_source_do_not_change_the_ndarray() -> None:
    source = np.zeros(2, "float32")
    data = NDArray(source)
    source[0] = 1
    assert data.view().tolist() == [0, 0]


def test_view_is_read_only_and_copy_is_writable() -> None:
    data = array([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        data.view()[0] = 3
    copy = data.numpy()
    copy[0] = 3
    assert data.numpy().tolist() == [1.0, 2.0]


def test_ndarray_has_the_interface_of_an_array() -> None:
    data = array(np.ones((2, 3), "int8"))
    assert (data.shape, data.dtype, data.ndim, len(data)) == ((2, 3), "int8", 2, 2)
    assert np.asarray(data, "float32").dtype == np.float32
    assert array(data) is data
    assert data.same_as(data) and not data.same_as(array(data.numpy()))
