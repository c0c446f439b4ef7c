"""The exercise on a predicate that gives reasons."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons.exercises.base import Exercise
from byoc_lab.lessons.verdict import Mistake
from byoc_lab.passes.framework.predicates import Refused
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.typing.infer import infer_expr

ATTRIBUTES = ("groups", "dilation")
WORDS = {"groups": "groups", "dilation": "dilation", "dtype": "float64"}


class WriteAPredicate(Exercise):
    """A predicate decides and explains: a refusal without a reason costs a user a day.

    The reason must contain the attribute's name and its value (for the dtype: the dtype).
    """

    name = "write-a-predicate"
    title = "Write a predicate with reasons"
    statement = """\
The library has a conv2d without groups and without dilation, for float32. Write `answer(call)`. It
gets a typed call of nn.conv2d, and returns True if the library computes it, or `Refused(reason)`.
The reason is for a person who wants to know the obstacle: it names the one attribute that the
library does not support and its value in this call, such as `"groups=4: ..."` or
`"dilation=[2, 2]: ..."`, and does not name the other. For another dtype, it names that dtype, and
neither attribute.
"""
    stub = """\
from byoc_lab.backends import Refused


def answer(call):
    return True
"""
    shown = 'print(*task.start(), sep="\\n")'
    mistakes = {
        "accepts-groups": "A conv2d with groups is accepted: look at call.attrs.groups.",
        "accepts-dilation": "A conv2d with dilation is accepted; it has two directions.",
        "accepts-dtype": "A conv2d of another dtype is accepted: call.args[0].checked_type has it.",
        "refuses-good": "A conv2d that the library computes is refused. One attribute may be "
        "compared with a value of another type.",
        "no-reason": "The answer is right, but False gives no reason. Refused(...) does.",
        "vague-reason": "The reason does not name the attribute and its value in this call.",
        "other-cause": "The reason names an attribute that the library supports in this call. A "
        "reason that lists everything explains nothing.",
        "kind": "The answer is True or Refused(reason), nothing else.",
        "attribute": "A call of nn.conv2d has no such attribute: print(call.attrs) shows all.",
    }
    errors = {r"^UnknownAttributeError: relay\.attrs": "attribute"}
    hints = (
        "Ask for one cause after the other, and return a refusal at the first.",
        "An f-string with the name and the value of the attribute makes a good reason. Values of "
        "attributes may be integers of Relay: int(...) or list(...) of them compare as you expect.",
    )
    only_functions = True

    def calls(self, seed: int) -> list[tuple[Call, str, str]]:
        """Typed calls, each with the attribute for which the library refuses it ("" if it accepts
        the call) and the value of that attribute."""

        def made(dtype: str = "float32", **attrs: Any) -> Call:
            groups = attrs.get("groups", 1)
            x = relay.var("x", shape=(1, 8, 9 + seed % 5, 9), dtype=dtype)
            w = relay.var("w", shape=(8, 8 // groups, 3, 3), dtype=dtype)
            out = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=8, **attrs)
            typed = infer_expr(Function([x, w], out))
            assert isinstance(typed, Function) and isinstance(typed.body, Call)
            return typed.body

        groups, dilation = (2, 4, 8)[seed % 3], 2 + seed % 2
        return [
            (made(), "", ""),
            (made(groups=groups), "groups", str(groups)),
            (made(dilation=(dilation, dilation)), "dilation", str(dilation)),
            (made(dilation=(1, dilation)), "dilation", str(dilation)),
            (made("float64"), "dtype", "float64"),
            (made(strides=(2, 1), padding=(1, 1)), "", ""),
        ]

    def question(self, seed: int = 0) -> list[Call]:
        return [call for call, _, _ in self.calls(seed)]

    def respond(self, answer: Any, question: Any) -> Any:
        found: list[Any] = []
        for call in question:
            said = answer(call)
            if isinstance(said, Refused):
                found.append([False, str(said.reason)])
            elif isinstance(said, (bool, np.bool_)):
                found.append(bool(said))
            else:
                found.append(type(said).__name__)
        return found

    def judge(self, seed: int, reply: Any) -> Mistake | None:
        calls = self.calls(seed)
        if not isinstance(reply, (list, tuple)) or len(reply) != len(calls):
            return Mistake("kind", "expected True or Refused(reason) for each call")
        for said, (call, cause, value) in zip(reply, calls, strict=True):
            mistake = _compared(said, call, cause, value)
            if mistake is not None:
                return mistake
        return None


def _compared(said: Any, call: Call, cause: str, value: str) -> Mistake | None:
    shown = f"groups={call.attrs.groups}, dilation={list(call.attrs.dilation)}, "
    shown += str(call.args[0].checked_type.dtype)
    reason = said[1] if isinstance(said, (list, tuple)) and len(said) == 2 else None
    if not isinstance(said, bool) and not isinstance(reason, str):
        found = said if isinstance(said, str) else type(said).__name__
        return Mistake("kind", f"expected True or Refused(reason) for {shown}; found {found}")
    if said is True:
        return Mistake(f"accepts-{cause}", f"accepted: {shown}") if cause else None
    if not cause:
        return Mistake("refuses-good", f"refused: {shown}")
    if reason is None:
        return Mistake("no-reason", f"refused without a reason: {shown}")
    words = reason.lower()  # the 2 of conv2d is not a value
    if WORDS[cause] not in words or not re.search(rf"(?<!\d){value}(?!\d|d\b)", words):
        return Mistake("vague-reason", f"the reason {reason!r:.100} does not tell about {shown}")
    others = [name for name in ATTRIBUTES if name != cause and name in words]
    if others:
        told = f"the reason {reason!r:.100} names {others[0]}, which is supported: {shown}"
        return Mistake("other-cause", told)
    return None
