"""`tvm.testing` and `tvm.relay.testing`."""
