"""Approximations of functions, created by the pass FastMath: fast_exp, fast_tanh, ..."""

from __future__ import annotations

import numpy as np

from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.nn.activation import define_softmax
from byoc_lab.relay.op.tensor.elementwise import define_unary, error_function

APPROXIMATED = {"nn.softmax": "nn.fast_softmax"}
"""For each function the operator that approximates it."""

for _name, _function, _doc in (
    ("exp", np.exp, "e to the power of data"),
    ("tanh", np.tanh, "hyperbolic tangent of data"),
    ("erf", error_function, "error function of data"),
):
    APPROXIMATED[_name] = f"fast_{_name}"
    define_unary(
        APPROXIMATED[_name],
        _function,
        f"out = {_doc}; TVM approximates it.",
        relax=_name,
        in_relax=(_name,),
        mixed_precision=FOLLOW,
    )

define_softmax(APPROXIMATED["nn.softmax"], "; TVM approximates exp", in_relax=("nn.softmax",))
