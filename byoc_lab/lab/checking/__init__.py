"""Are the numbers right, and if not, where: validation with derived tolerances."""
