"""Numerical checks: validation of a build with derived tolerances."""
