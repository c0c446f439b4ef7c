"""TVM's integrations of other libraries, as far as Relay goes: what each takes, and what it fuses.

Modules can be annotated, partitioned and looked at for them; nothing here makes code, so that
`relay.build` and `byoc_lab.build` say which compiler a region is missing. Scripts know these
modules as `tvm.relay.op.contrib.<name>`; `byoc_lab` puts them there, as it does with DNNL's.

One file is one integration. Names, order and what is refused are those of the file of the same
name in python/tvm/relay/op/contrib of TVM 0.16; a predicate says in words why it refuses
(`byoc_lab.backends.get(name).why_not`).
"""

from byoc_lab.backends.integrations import arm_compute_lib, bnns, cublas, cudnn, cutlass

MODULES = {module.NAME: module for module in (arm_compute_lib, bnns, cublas, cudnn, cutlass)}

__all__ = ["MODULES", "arm_compute_lib", "bnns", "cublas", "cudnn", "cutlass"]
