"""Queries about expressions and modules, with the names of TVM's `relay.analysis`."""

from byoc_lab.relay.analysis.queries import *  # noqa: F403
