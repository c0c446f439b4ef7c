"""Operators of neural networks: convolution, pooling, matrix products, normalisation."""
