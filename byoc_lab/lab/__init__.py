"""The laboratory: traces, diffs, findings, numerical checks and views."""
