"""Operators on images: resizing, and sampling at given positions."""
