"""The laboratory: traces, differences, findings, checks and views of what passes do."""
