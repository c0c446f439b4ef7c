"""`relay.expr_functor`: TVM's name for the visitors to subclass (`relay.ir.expr_functor`)."""

from byoc_lab.relay.ir.expr_functor import *  # noqa: F403
