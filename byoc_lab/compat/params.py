"""Parameters as bytes: NumPy's own archive format, read back by `load_param_dict`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from byoc_lab.compat.nd import HostArray
from byoc_lab.errors import InputError


def save_param_dict(params: Mapping[str, Any]) -> bytearray:
    """Arrays by name as bytes (an .npz archive, not TVM's format)."""
    out = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in params.items()}
    np.savez(out, **arrays)
    return bytearray(out.getvalue())


def load_param_dict(param_bytes: bytes | bytearray) -> dict[str, HostArray]:
    """What `save_param_dict` wrote. Raises InputError for other bytes."""
    try:
        with np.load(io.BytesIO(bytes(param_bytes)), allow_pickle=False) as archive:
            return {name: HostArray(archive[name]) for name in archive.files}
    except (ValueError, OSError, EOFError) as error:
        raise InputError(
            f"these are no parameters that byoc_lab's save_param_dict wrote: {error}"
        ) from error


__all__ = ["load_param_dict", "save_param_dict"]
