"""TVM's names of nodes, types, containers and expressions: `tvm.ir`, `tvm.tir`, `tvm.relay`."""
