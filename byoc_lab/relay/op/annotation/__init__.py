"""Operators that annotate and compute nothing: region borders, devices."""
