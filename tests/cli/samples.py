"""Relay files for the tests of the command line."""

from __future__ import annotations

HEAD = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 3), float32]) {\n'
CLEAN = f"{HEAD}  nn.relu(tanh(%x))\n}}\n"
NO_END = f"""{HEAD}  %0 = annotation.compiler_begin(%x, compiler="dnnl");
  nn.relu(%0)
}}
"""
