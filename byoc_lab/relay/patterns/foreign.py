"""Patterns of other languages, such as Relax, that Relay's pattern language does not have.

They say what their parts are. Whether they match is judged by the matcher of their language.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay.patterns.patterns import DFPattern


class AndPattern(DFPattern):
    """Both patterns, for one expression."""

    def __init__(self, left: DFPattern, right: DFPattern):
        self.left, self.right = left, right

    def children(self) -> Sequence[DFPattern]:
        return (self.left, self.right)

    same_root = children


class NotPattern(DFPattern):
    """Anything but what a pattern matches."""

    def __init__(self, reject: DFPattern):
        self.reject = reject

    def children(self) -> Sequence[DFPattern]:
        return (self.reject,)


class ForeignPattern(DFPattern):
    """Any other pattern. words: what it matches."""

    def __init__(self, words: str, children: Sequence[DFPattern] = ()):
        self.words, self._children = words, tuple(children)

    def children(self) -> Sequence[DFPattern]:
        return self._children
