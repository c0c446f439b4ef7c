"""`relay.transform`: the passes under TVM's name. They are defined in `byoc_lab.passes`; nothing in
`byoc_lab.relay` uses this module."""

from __future__ import annotations

from byoc_lab.passes import *  # noqa: F403
from byoc_lab.passes import __all__ as __all__
from byoc_lab.passes import __getattr__ as __getattr__  # its errors name the folder of other passes
