"""Grading of many notebooks, each in a separate, isolated process."""
