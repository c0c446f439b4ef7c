"""The instruction set that oneDNN uses on this processor, and a mark for tests of kernels that
need more."""

from __future__ import annotations

import ctypes

import pytest

from byoc_lab.backends.dnnl import native

AVX2 = 0x7  # dnnl_cpu_isa_avx2; later instruction sets include its bits


def _uses(instructions: int) -> bool:
    if not native.available():
        return False
    used: int = ctypes.CDLL("libdnnl.so.3").dnnl_get_effective_cpu_isa()
    return used & instructions == instructions


HAS_AVX2 = _uses(AVX2)
needs_avx2 = pytest.mark.skipif(
    native.available() and not HAS_AVX2, reason="needs AVX2: what is fused without it differs"
)
