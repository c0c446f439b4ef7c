"""Sample calls of the device annotations."""

from __future__ import annotations

from byoc_lab import relay
from tests.relay.op.samples.sample import Sample

DEVICE_SAMPLES = [
    Sample("on_device", lambda x: relay.annotation.on_device(x, "cpu")),
    Sample("device_copy", lambda x: relay.device_copy(x, "cpu", "cuda:1")),
]
