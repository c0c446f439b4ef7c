"""The limit of threads per user that a JupyterHub sets: BYOC_LAB_THREADS."""

from __future__ import annotations

import os

from byoc_lab.errors import InputError

VARIABLE = "BYOC_LAB_THREADS"
OF_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")


def thread_limit() -> int | None:
    """The number of threads that the environment allows; None if the environment has no limit.

    Raises InputError for a value that is not a positive integer.
    """
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"{VARIABLE} must be a positive integer, found {text!r}")
    return int(text)


def limit_threads() -> int | None:
    """Limit the threads of libraries that have not started threads yet; return the limit.

    It is set for each library whose own environment variable is not set. Libraries read their
    variable when they are loaded, so NumPy's BLAS obeys only a variable that was set before Python
    started.
    """
    limit = thread_limit()
    if limit is not None:
        for name in OF_LIBRARIES:
            os.environ.setdefault(name, str(limit))
    return limit
