"""Runs under TVM's Python: imports ONNX models with TVM's importer.

Reads {name: [path, arguments of from_onnx]} as JSON, and prints {name: result}: `text` (without
metadata), `constants` (shape, type and digest of each), `seconds`; or only `error`.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
import warnings
from typing import Any


def imported(path: str, arguments: dict[str, Any]) -> dict[str, Any]:
    import onnx
    from tvm import relay

    start = time.perf_counter()
    mod, _ = relay.frontend.from_onnx(onnx.load(path), **arguments)
    seconds = time.perf_counter() - start
    constants = []

    def visit(node: Any) -> None:
        if isinstance(node, relay.Constant):
            array = node.data.numpy()
            digest = hashlib.sha256(array.tobytes()).hexdigest()[:10]
            constants.append([list(array.shape), str(node.data.dtype), digest])

    relay.analysis.post_order_visit(mod["main"], visit)
    return {"text": mod.astext(show_meta_data=False), "constants": constants, "seconds": seconds}


def main() -> None:
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(100_000)
    found = {}
    for name, (path, arguments) in json.load(sys.stdin).items():
        try:
            found[name] = imported(path, arguments)
        except Exception as error:
            found[name] = {"error": f"{type(error).__name__}: {str(error).splitlines()[-1][:200]}"}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
