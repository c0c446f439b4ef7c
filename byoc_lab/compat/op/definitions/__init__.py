"""Operators that only scripts written for TVM use; found by discovery, like the core operators."""
