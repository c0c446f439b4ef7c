"""DNNL for users of today's Relax.

Importing this registers it: `relax.transform.RunCodegen()` then finds DNNL as it finds any code
generator, and compiles functions with the attribute Codegen="dnnl". Where byoc_lab is installed,
`import tvm` does that by itself. `partition_for_dnnl` makes such functions of everything that DNNL
supports. `build` compiles such a module: what it gives has cards, and `assert_offloaded`.
"""

from importlib.util import find_spec

from byoc_lab.relax.executable import RelaxExecutable, build
from byoc_lab.relax.partition import partition_for_dnnl, patterns, why_not_relax
from byoc_lab.relax.registration import CODEGEN, register_codegen

__all__ = [
    "CODEGEN",
    "RelaxExecutable",
    "build",
    "partition_for_dnnl",
    "patterns",
    "register_codegen",
    "why_not_relax",
]

if find_spec("tvm_ffi") is not None:
    register_codegen()
