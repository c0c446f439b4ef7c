"""Grading of many notebooks, each in a process of its own that is kept from everything else."""
