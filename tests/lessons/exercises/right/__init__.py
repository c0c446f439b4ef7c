"""Right answers as students write them, other than the solutions; one exercise in a file."""
