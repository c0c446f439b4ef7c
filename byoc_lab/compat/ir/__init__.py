"""TVM's names for nodes, types, containers and expressions: `tvm.ir`, `tvm.tir`, `tvm.relay`."""

from byoc_lab.compat.ir import prelude  # noqa: F401 (gives modules `import_from_std`)
