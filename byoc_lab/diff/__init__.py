"""What changed between two modules, by structure: renumbering is no change."""

from byoc_lab.diff.changes import Change
from byoc_lab.diff.result import Diff, diff
from byoc_lab.diff.rows import Row

__all__ = ["Change", "Diff", "Row", "diff"]
