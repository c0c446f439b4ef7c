"""Prints the results of a real TVM 0.16 for the cases, as JSON.

`expected_files.py` runs it under TVM's Python; it imports nothing of byoc_lab.
"""

from __future__ import annotations

import json
import os
import re

import tvm
from cases import CASES, outcome
from tvm import relay
from tvm.relay import dataflow_pattern

SPAN = re.compile(r" ?span=[^\s*]+:\d+:\d+")


def outcomes() -> dict:
    found = {}
    for name, case in CASES.items():
        result = outcome(case, relay, dataflow_pattern, relay.parse)
        mod = relay.transform.InferType()(result["module"])
        found[name] = {
            "matched": result["matched"],
            "text": SPAN.sub("", mod.astext(show_meta_data=False)),
        }
    return found


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # other output of TVM is not a result
    channel.write(json.dumps({"version": tvm.__version__, "outcomes": outcomes()}))
    channel.close()
