"""The server of the oracle: runs cases in a real TVM 0.16; requests and results are JSON lines.

`client.py` runs it under the oracle's Python, as `python -m parity.server` with the `tests` folder
on the path; it never imports byoc_lab. After a first line {"ready": version}, each request

    {"case": name}, {"text": relay text} or {"recipe": see recipe.py},
    "steps": [...], "constants_up_to": bytes or null, "places": whether texts keep their spans

gets one line for the module as built (step -1) and one for each step,

    {"step": i, "bare": text} and, if the constants are small enough, "full": text with metadata
    {"step": i, "error": {"type": ..., "message": ...}}       the last line of a request that failed

and then {"done": true}. An invalid request gets {"refused": reason}.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from contextlib import contextmanager

import numpy as np
import tvm
import tvm.relay.testing  # `import relay` does not import it
from tvm import relay

from . import cases, recipe, steps, tables

SPAN = re.compile(r" ?span=[^\s*]+:\d+:\d+")
FRESH = re.compile(r"%x_(\d+)")
METADATA = re.compile(r"\n#\[metadata\]\n\{\n.*?\n\}(?=\n|$)", re.DOTALL)


def serve(requests, answers) -> None:
    tables.register_targets(tvm)
    _say(answers, {"ready": tvm.__version__})
    for line in requests:
        try:
            for answer in _run(json.loads(line)):
                _say(answers, answer)
        except cases.NoSuchCase as error:
            _say(answers, {"refused": str(error)})
        else:
            _say(answers, {"done": True})


def _run(request):
    limit = request.get("constants_up_to")
    module = None
    for index, step in enumerate([None, *request["steps"]], start=-1):
        with _captured_stderr() as diagnostics:
            try:
                if step is None:
                    module = _source(request)
                elif "reads" in step:
                    # Type variables of type definitions are free in uses of constructors.
                    read = relay.parse(step["reads"])
                    tvm.ir.assert_structural_equal(read, module, map_free_vars=True)
                else:
                    module = steps.apply(step, module, tvm, relay)
            except cases.NoSuchCase:
                raise
            except Exception as error:  # TVM raises many types of errors; all are results here
                failure = {"type": type(error).__name__, "message": _message(error, diagnostics())}
                yield {"step": index, "error": failure}
                return
        yield {"step": index, **_texts(module, limit, request.get("places", False))}


def _source(request):
    if "recipe" in request:
        return relay.transform.InferType()(recipe.build(request["recipe"], tvm, np))
    if "case" in request:
        return cases.load(request["case"], tvm, relay, np)
    return cases.parse(request["text"], tvm, relay, np)


def _texts(module, limit, places):
    """The module's text without metadata and, if its constants are small, with it."""
    texts = {"bare": _settled(module.astext(show_meta_data=False), places)}
    if limit is None or _constant_bytes(module) <= limit:
        texts["full"] = _settled(module.astext(show_meta_data=True), places)
    return texts


def _settled(text: str, places: bool) -> str:
    """`text` without spans (unless `places` are asked for), fresh variables counted from 0.

    TVM counts those of ToANormalForm from the start of the process, and takes the functions of a
    module in the order of their addresses; so within each function they are ranked, and the
    functions follow the text.
    """
    text = text if places else SPAN.sub("", text)
    ranked = [
        number
        for function in text.split("\ndef ")
        for number in sorted(set(FRESH.findall(function)), key=int)
    ]
    rank = {number: index for index, number in enumerate(ranked)}
    return FRESH.sub(lambda match: f"%x_{rank[match[1]]}", text)


def _constant_bytes(module) -> int:
    sizes = {}

    def note(node):
        if isinstance(node, relay.Constant):
            array = node.data
            sizes[node.handle.value] = np.dtype(array.dtype).itemsize * int(np.prod(array.shape))

    for function in module.functions.values():
        relay.analysis.post_order_visit(function, note)
    return sum(sizes.values())


def _message(error, diagnostics: str) -> str:
    """TVM's message, without the C++ stack, the paths of its build, spans and metadata."""
    kind = type(error).__name__
    text = str(error).strip()
    if text.startswith("Traceback (most recent call last):"):
        # A C++ error: its stack, the location of the throw, then "<kind>: <message>".
        text = re.split(rf"^{kind}: ", text, maxsplit=1, flags=re.MULTILINE)[-1]
    text = METADATA.sub("", SPAN.sub("", text))
    if diagnostics and kind == "DiagnosticError":
        # One fault makes every later operator under-constrained; it is reported once.
        text = "\n".join(dict.fromkeys(diagnostics.splitlines()))
    return text.strip()


@contextmanager
def _captured_stderr():
    """Collects the text that TVM's C++ writes to stderr; yields a function that returns it so
    far."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def collected() -> str:
            file.seek(0)
            return file.read().decode("utf-8", "replace")

        try:
            yield collected
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)


def _say(answers, message) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    # Only responses are written to the original stdout; TVM's prints are redirected to stderr.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, channel)
