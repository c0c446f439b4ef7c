"""Bounds of the errors of float32 code, element by element, derived from each operator."""
