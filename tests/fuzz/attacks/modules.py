"""Random typed modules through every pass: a valid module stays valid."""

from __future__ import annotations

import random as _random

import byoc_lab
from byoc_lab import passes, relay
from byoc_lab.relay.analysis import well_formed
from tests.fuzz.examine import Steps, all_passes, limited
from tests.lab.checking.random_nets import random_net


def make(random: _random.Random) -> bytes:
    """A seed of `random_net`, and the names of passes to run in order."""
    names = random.choices(sorted(all_passes()), k=random.randint(1, 6))
    return " ".join([str(random.randrange(10**6)), *(n.replace(" ", "_") for n in names)]).encode()


def examine(data: bytes) -> int:
    seed, *names = data.decode().split()
    mod, _ = random_net(int(seed))
    steps, every = Steps(), all_passes()
    with limited():
        for name in names:
            after = steps.do(every[name.replace("_", " ")], mod)
            if after is None:
                continue
            mod = relay.transform.InferType()(after)  # raises if the pass broke the module
            assert all(well_formed(f) for f in mod.functions.values()), f"{name} breaks a rule"
            steps.do(mod.astext)
        for pipeline in passes.pipeline_names():
            trace = steps.do(byoc_lab.trace, mod, pipeline)
            if trace is None:
                continue
            result = steps.do(lambda made: made.result, trace)  # raises the failed pass's error
            if result is not None:
                relay.transform.InferType()(result)
    return steps.done
