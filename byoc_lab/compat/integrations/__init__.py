"""TVM's integrations of vendor libraries: the supported calls and the fused patterns.

Importing this package registers them as back ends, except DNNL: byoc_lab itself has the DNNL back
end, and `dnnl/` contains only functions for scripts. For the other libraries, modules can be
annotated, partitioned and viewed, but no code is generated: `relay.build` and `byoc_lab.build` name
the missing compiler of a region. Scripts know these modules as `tvm.relay.op.contrib.<name>`.

One file is one integration. Names, order and refusals equal those in the file of the same name in
python/tvm/relay/op/contrib of TVM 0.16; in addition, a predicate says why it refuses a call
(`byoc_lab.backends.get(name).why_not`).
"""

from byoc_lab.compat.integrations import arm_compute_lib, bnns, cublas, cudnn, cutlass, dnnl

MODULES = {module.NAME: module for module in (arm_compute_lib, bnns, cublas, cudnn, cutlass)}

__all__ = ["MODULES", "arm_compute_lib", "bnns", "cublas", "cudnn", "cutlass", "dnnl"]
