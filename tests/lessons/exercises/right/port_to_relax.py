"""Other right answers to "port-to-relax"."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.dpl import is_op, wildcard

from byoc_lab.lessons.solutions.port_to_relax import NAME, conv, fused, kernel


def by_the_context(mod):
    pattern = relax.dpl.is_op("relax.nn.relu")(
        relax.dpl.is_op("relax.add")(conv(), relax.dpl.wildcard())
    )
    steps = [relax.transform.FuseOpsByPattern([(NAME, pattern, {})], annotate_codegen=True)]
    return tvm.transform.Sequential(steps)(mod)


def with_a_check(mod):
    root = kernel()
    fuse = relax.transform.FuseOpsByPattern(
        [relax.transform.FusionPattern(NAME, root, {"root": root}, lambda context: True)],
        bind_constants=False,
        annotate_codegen=True,
    )
    return fuse(mod)


def commuted(mod):
    """add in both orders, which the pattern accepts."""
    both = is_op("relax.add")(conv(), wildcard()) | is_op("relax.add")(wildcard(), conv())
    return fused(mod, is_op("relax.nn.relu")(both))


RIGHT = (by_the_context, with_a_check, commuted)
