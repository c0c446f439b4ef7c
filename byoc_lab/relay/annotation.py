"""`relay.annotation`: the builders of the annotation operators."""

from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end, stop_fusion
from byoc_lab.relay.op.framework.namespace import later as _later

__all__ = ["compiler_begin", "compiler_end", "stop_fusion"]
__getattr__ = _later(__name__, "annotation.")
