"""The linter: malformed annotations, why they are malformed, and how to fix them."""

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity
from byoc_lab.lab.linting.linter import Findings, all_rules, lint

__all__ = ["Finding", "Findings", "LintRule", "Sample", "Severity", "all_rules", "lint"]
