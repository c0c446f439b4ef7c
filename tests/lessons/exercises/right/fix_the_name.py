"""Other right answers to "fix-the-name"."""

from __future__ import annotations


def split(name):
    library, _, kernel = name.partition("_")
    return f"{library}.{kernel}"


def another_kernel(name):
    return "edu.sqrt_of_conv"


RIGHT = (split, another_kernel, "edu.conv2d_add_sqrt", "edu.v1.kernel")
