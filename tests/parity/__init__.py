"""Comparison with a real TVM 0.16: the oracle, its cases, and the golden files that it writes."""
