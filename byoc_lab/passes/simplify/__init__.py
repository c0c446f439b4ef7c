"""Passes that replace computations by simpler or shorter equivalent ones."""
