"""The tests of this folder check the operators of `byoc_lab.compat` too."""

import byoc_lab.compat  # noqa: F401 (defines operators)
