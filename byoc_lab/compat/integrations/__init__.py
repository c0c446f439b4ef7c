"""TVM's integrations of vendors' libraries: which calls each supports, and which patterns it fuses.

Importing this package registers them as back ends, but for DNNL, which is a back end of byoc_lab's
and has what only scripts use here. Modules can be annotated, partitioned and viewed for the others;
no code is generated, and `relay.build` and `byoc_lab.build` name the compiler that
a region is missing. Scripts know these modules as `tvm.relay.op.contrib.<name>`.

One file is one integration. Names, order and refusals are those of the file of the same name in
python/tvm/relay/op/contrib of TVM 0.16; a predicate gives its reason in words
(`byoc_lab.backends.get(name).why_not`).
"""

from byoc_lab.compat.integrations import arm_compute_lib, bnns, cublas, cudnn, cutlass, dnnl

MODULES = {module.NAME: module for module in (arm_compute_lib, bnns, cublas, cudnn, cutlass)}

__all__ = ["MODULES", "arm_compute_lib", "bnns", "cublas", "cudnn", "cutlass", "dnnl"]
