"""Structural differences between two modules; renumbering is not a difference."""

from byoc_lab.lab.diffing.records import Change
from byoc_lab.lab.diffing.result import Diff, apply
from byoc_lab.lab.diffing.rows import Row
from byoc_lab.lab.diffing.text_diff import TextDiff, diff, diff_of

__all__ = ["Change", "Diff", "Row", "TextDiff", "apply", "diff", "diff_of"]
