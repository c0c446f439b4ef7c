"""`relay.dataflow_pattern`: TVM's name for the pattern language (`relay.patterns`)."""

from byoc_lab.relay.patterns import *  # noqa: F403
