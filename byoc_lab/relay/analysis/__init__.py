"""Questions about expressions and modules; `relay.analysis` of TVM has these names too."""

from byoc_lab.relay.analysis.queries import *  # noqa: F403
