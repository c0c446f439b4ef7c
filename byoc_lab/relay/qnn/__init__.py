"""`relay.qnn`: operators on quantized numbers, such as `relay.qnn.op.conv2d`."""

from byoc_lab.relay.qnn import op

__all__ = ["op"]
