"""Lets worker processes of `multiprocessing` import the same `tvm` as the parent script."""

from __future__ import annotations

import multiprocessing
import multiprocessing.spawn
from typing import Any

from byoc_lab.compat.overlay import install


class _Installed:
    """An object whose unpickling installs the overlay in the process that unpickles it."""

    def __reduce__(self) -> Any:
        return same_in_workers, ()


def same_in_workers() -> None:
    """Install the overlay here and in each process that this one starts by spawn or forkserver.

    A worker unpickles its preparation data before it imports the script, so one additional entry in
    that data is sufficient; workers started by fork have the overlay anyway.
    """
    install()
    plain = multiprocessing.spawn.get_preparation_data
    if getattr(plain, "installs", False):
        return

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {**plain(name), "byoc_lab.compat": _Installed()}

    get_preparation_data.installs = True  # type: ignore[attr-defined]
    multiprocessing.spawn.get_preparation_data = get_preparation_data
    # A fork server must not import the script: it gets no preparation data, so no overlay.
    multiprocessing.set_forkserver_preload([])
