"""Operators on quantized tensors, and the arithmetic of their scales."""
