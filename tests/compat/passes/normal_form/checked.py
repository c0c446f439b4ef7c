"""Helpers that the tests of both passes on closures share."""

from __future__ import annotations

from collections.abc import Callable

from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.transform import InferType


def parsed(text: str) -> IRModule:
    return relay.parse(f'#[version = "0.0.5"]\n{text}')


def check(before: str, after: str, run: Callable[[IRModule], IRModule]) -> IRModule:
    """Asserts that `run` turns `before` into `after`, and leaves the module that it is given."""
    mod = parsed(before)
    typed = InferType()(run(mod))
    relay.assert_structural_equal(typed, parsed(after))
    relay.assert_structural_equal(mod, parsed(before))
    return typed
