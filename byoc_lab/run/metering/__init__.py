"""Counts and times regions: their cards, and the measured peak rate of this machine to compare
with."""
