"""`relay.qnn`: operators on quantized numbers, `relay.qnn.op.conv2d` and its like."""

from byoc_lab.relay.qnn import op

__all__ = ["op"]
