"""Drawings of modules: boxes, groups of boxes, layout."""
