"""Passes and analyses of `tvm.relay` that differ from byoc_lab's, under TVM's names."""
