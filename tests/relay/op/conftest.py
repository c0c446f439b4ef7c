"""Imports `byoc_lab.compat`, so that the tests in this folder check its operators, too."""

import byoc_lab.compat  # noqa: F401 (defines operators)
