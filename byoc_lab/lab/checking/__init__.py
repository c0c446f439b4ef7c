"""Checks of the numbers: validation of a build with derived tolerances."""
