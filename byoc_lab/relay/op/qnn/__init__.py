"""Operators on quantized tensors, and how their scales are computed."""
