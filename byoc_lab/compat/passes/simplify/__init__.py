"""Passes that reduce or simplify computations."""
