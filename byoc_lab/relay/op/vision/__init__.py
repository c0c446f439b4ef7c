"""Operators of detection networks: boxes, suppression, regions of interest."""
