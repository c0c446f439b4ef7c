"""Contained processes: what they see, what they may ask the kernel for, and what they may use."""
