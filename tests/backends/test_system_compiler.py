"""Data in compiled libraries."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from byoc_lab.backends import HEADERS, C, c_library
from byoc_lab.errors import BuildError

needs_cc = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler is installed"
)
SOURCE = """
#include "tensor_argument.h"
extern const {kind} {name}[3];
int __tvm_ffi_f(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  float* out = tensor_argument(args, 0, (int64_t[]){{3}}, 1);
  if (!out) return -1;
  for (int n = 0; n < 3; ++n) out[n] = {name}[n];
  return 0;
}}
"""


@needs_cc
@pytest.mark.parametrize(
    "kind, dtype", [("float", "float32"), ("int8_t", "int8"), ("double", "float64")]
)
def test_sources_see_arrays_as_they_are(kind: str, dtype: str) -> None:
    text = SOURCE.format(kind=kind, name="f_second")
    columns = np.array([[1, 2], [3, 4], [-5, 6]], dtype)
    data = {"f_first": columns, "f_second": columns[:, 0], "f_none": np.zeros((0,), dtype)}
    out = np.zeros(3, np.float32)
    c_library("f", [C(text)], includes=[HEADERS], data=data)["f"](out)
    np.testing.assert_array_equal(out, [1, 3, -5])


@pytest.mark.parametrize(
    "name, array",
    [('x"\n.globl y', np.zeros(3)), ("int", np.zeros(3)), ("x", np.array([None]))],
)
def test_names_and_arrays_are_verified(name: str, array: np.ndarray) -> None:
    with pytest.raises(BuildError, match="data must be arrays of plain numbers under identifiers"):
        c_library("f", [C("int x;")], data={name: array})


@needs_cc
def test_a_temporary_folder_may_have_any_name(tmp_path, monkeypatch) -> None:
    folder = tmp_path / 'a "quoted" \\ name'
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    text = SOURCE.format(kind="float", name="f_w")
    out = np.zeros(3, np.float32)
    weights = np.arange(3, dtype=np.float32)
    c_library("f", [C(text)], includes=[HEADERS], data={"f_w": weights})["f"](out)
    np.testing.assert_array_equal(out, weights)
