"""Structural differences between two modules; renumbering is not a difference."""

from byoc_lab.lab.diffing.records import Change
from byoc_lab.lab.diffing.result import Diff, apply, diff
from byoc_lab.lab.diffing.rows import Row

__all__ = ["Change", "Diff", "Row", "apply", "diff"]
