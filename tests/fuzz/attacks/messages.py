"""Messages from a page to the widgets: wrong types, out of range, or for traits that only Python
may set."""

from __future__ import annotations

import json
import random as _random
from functools import cache
from typing import Any

from traitlets import TraitError

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.view.board import Board
from byoc_lab.lab.view.stepper import Stepper
from tests.fuzz.examine import Steps, limited
from tests.hostile_names import FIXED

TEXT = """def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  nn.relu(nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]))
}
"""
TRAITS = ["index", "selected_id", "rewrite", "asked", "request", "state", "answer", "preview"]
TRAITS += ["overlays", "script", "_esm", "_css", "selected", "layout", "_view_count", "none", ""]
ODD: list[Any] = [None, True, 0, 1, 3, -1, 2**70, 1.5, "", "n1", "n3", [], {}, [1], {"stage": 0}]
ODD += ["dnnl", "preview", "apply", {"undo": True}, {"state": {}}, *FIXED[:6]]
ASKED = ["stage", "rewrite", "what", "page", "node", "compiler", "undo", "fix", "ticket", "at"]
VALUES = [
    0,
    1,
    -1,
    7,
    "picture",
    "text",
    "ahead",
    "page",
    "n1",
    "n2",
    "n3",
    "n4",
    "dnnl",
    "npu",
    "",
    True,
]
VALUES += [None, [], {}, ["dnnl"], "preview", "apply", "dismiss", 1.5, "\x00", "x" * 3_000]


def make(random: _random.Random) -> bytes:
    """Messages, one per line."""
    return b"\n".join(_message(random) for _ in range(random.randint(1, 8)))


def _message(random: _random.Random) -> bytes:
    message: dict[str, Any] = {}
    for _ in range(random.choice([1, 1, 1, 2])):
        trait = random.choice(TRAITS[: random.choice([5, len(TRAITS)])])
        message[trait] = random.choice(ODD)
        if trait in ("asked", "request") and random.random() < 0.8:
            keys = random.sample(ASKED, random.choice([1, 2, 2, 3]))
            message[trait] = {key: random.choice(VALUES) for key in keys}
    return json.dumps(message).encode("utf-8", "surrogatepass")


def examine(data: bytes) -> int:
    steps = Steps()
    with limited():
        mod = _module()
        for widget in (Stepper(byoc_lab.trace(mod, "dnnl")), Board(mod)):
            for line in data.split(b"\n"):
                _send(widget, json.loads(line.decode("utf-8", "surrogatepass")), steps)
            str(widget)
            if isinstance(widget, Board):
                steps.do(lambda board: (board.findings, board.partitioned, board.stats), widget)
    return steps.done


def _send(widget: Any, message: dict[str, Any], steps: Steps) -> None:
    """Sends a message; a refused message must not change the display."""
    before = _shown(widget)
    try:
        widget.set_state(message)
        steps.done += 1
    except (ByocLabError, TraitError):
        if len(message) == 1:
            assert _shown(widget) == before, "a message was refused, and changed what is shown"


def _shown(widget: Any) -> Any:
    chosen = dict(widget.chosen) if isinstance(widget, Board) else {}
    names = ("state", "index", "selected_id", "rewrite", "answer", "overlays")
    return chosen, [getattr(widget, name) for name in names]


@cache
def _module() -> relay.IRModule:
    return relay.parse(TEXT)
