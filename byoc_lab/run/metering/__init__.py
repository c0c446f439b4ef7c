"""Counting and timing of regions: their cards, and the peak of this machine beside them."""
