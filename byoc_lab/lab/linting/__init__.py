"""The linter: finds malformed annotations, explains them, and proposes fixes."""

from byoc_lab.lab.linting.base import LintRule, Sample
from byoc_lab.lab.linting.discovery import all_rules, get_rule
from byoc_lab.lab.linting.finding import Finding, Fix, Severity
from byoc_lab.lab.linting.findings import Findings
from byoc_lab.lab.linting.fixer import fix
from byoc_lab.lab.linting.linter import lint

__all__ = [
    "Finding", "Findings", "Fix", "LintRule", "Sample", "Severity", "all_rules", "fix", "get_rule",
    "lint",
]  # fmt: skip
