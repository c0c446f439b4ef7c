"""What a command returns to the shell."""

OK, NO, USAGE = 0, 1, 2
"""Success; a negative result (findings, differences, a pass that failed); wrong usage."""
