"""The extension API for back ends: supported operators, patterns, and code generators.

    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    byoc_lab.backends.register(
        "npu",
        patterns=[("npu.conv2d_relu", is_op("nn.relu")(conv2d))],
        supports={"nn.conv2d": lambda call: call.attrs.groups == 1 or Refused("no groups")},
        codegen=compile_for_npu,
    )
    mod = byoc_lab.backends.partition(mod, "npu")     # or byoc_lab.trace(mod, "npu")
    byoc_lab.build(mod).run(...)
    byoc_lab.relax.register("npu")                    # the same for modules of today's Relax

`ModuleRegion` turns a TVM-FFI module into what `codegen` must return, and `PythonRegion` a Python
function over NumPy arrays; `ReferenceRegion` computes a region with NumPy if a library is missing.
`c_library` compiles C to such a module; `inlined` returns the function with its composites inlined,
and `HEADERS` is the folder of `tensor_argument.h`, which checks arguments. `isolated(codegen)` runs
each call of a region in a separate process. The back ends of this package use the same API:
`byoc_lab.backends.dnnl`, and `ccompiler`, a short example to copy.
"""

from byoc_lab.backends.isolation import isolated
from byoc_lab.backends.module_region import ModuleRegion
from byoc_lab.backends.python_region import PythonRegion
from byoc_lab.backends.reference_region import ReferenceRegion
from byoc_lab.backends.registry import Backend, Refused, get, names, partition, register, unregister
from byoc_lab.backends.system_compiler import HEADERS, C, Cpp, c_library
from byoc_lab.run.inline import inlined

__all__ = [
    "HEADERS", "Backend", "C", "Cpp", "ModuleRegion", "PythonRegion", "ReferenceRegion", "Refused",
    "c_library", "get", "inlined", "isolated", "names", "partition", "register", "unregister",
]  # fmt: skip
