"""`relay.expr`: TVM's name for the module of the nodes (`relay.ir.expr`)."""

from byoc_lab.relay.ir.expr import *  # noqa: F403
