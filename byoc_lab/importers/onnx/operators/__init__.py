"""Converters of ONNX operators, by group."""
