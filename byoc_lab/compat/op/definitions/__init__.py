"""Operators that only scripts written for TVM use; found by discovery, as those of the core."""
