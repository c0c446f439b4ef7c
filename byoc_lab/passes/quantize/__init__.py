"""Passes on number formats: quantized operators, fake quantization, mixed precision."""
