"""Converters of ATen operators, by group."""
