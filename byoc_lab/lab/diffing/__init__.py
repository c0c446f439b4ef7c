"""What changed between two modules, by structure: renumbering is no change."""

from byoc_lab.lab.diffing.changes import Change
from byoc_lab.lab.diffing.result import Diff, diff
from byoc_lab.lab.diffing.rows import Row

__all__ = ["Change", "Diff", "Row", "diff"]
