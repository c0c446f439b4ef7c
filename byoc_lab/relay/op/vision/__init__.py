"""Operators of detection networks: boxes, non-maximum suppression, regions of interest."""
