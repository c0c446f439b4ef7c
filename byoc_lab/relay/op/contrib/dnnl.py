"""`relay.op.contrib.dnnl`: DNNL's integration under TVM's name. It lives in
`byoc_lab.backends.dnnl.contrib`; nothing in `byoc_lab.relay` uses this module."""

from __future__ import annotations

from byoc_lab.backends.dnnl.contrib import *  # noqa: F403
from byoc_lab.backends.dnnl.contrib import __all__ as __all__
