"""`with_comments`: transfers the comments of a Relay text to the text of the changed module.

A comment belongs to the code on its line or, if there is none, to the next line of code. Lines of
both texts are paired by their tokens, with all variables treated as equal: first lines that occur
once in each text, along a longest common subsequence, then the lines between them, each with the
next equal line. The comments of a removed line move to the next line that is left. The cost is O(n
log n) in the lengths of the texts.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from itertools import pairwise

from byoc_lab.lab.diffing.ordering import longest_increasing
from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text.lexer import comments, metadata_start, tokenize

_TYPE = re.compile(r"/\* ty=")
"""The beginning of a type comment, which the printer writes."""


def has_types(text: str) -> bool:
    """Whether a Relay text has type comments, as the printer writes them."""
    found = comments(Source(text), 0, metadata_start(text))
    return any(_TYPE.match(text, begin) for begin, _ in found)


def with_comments(original: str, text: str) -> str:
    """`text` with the comments of `original`, except type comments, which the printer writes.

    Both are Relay texts. Raises ParseError for a comment that never ends.
    """
    source, code, made = Source(original), _code(original), _code(text)
    numbers, new_numbers = list(code), [*made, _end(text)]
    partners = _partners(list(code.values()), list(made.values()))
    left = sorted(partners)
    lines = text.split("\n")
    above: dict[int, list[str]] = defaultdict(list)
    for begin, stop in comments(source, 0, metadata_start(original)):
        comment = original[begin:stop].rstrip()
        if _TYPE.match(comment):
            continue
        first, last = (source.place(at)[0] - 1 for at in (begin, stop))
        at = bisect_left(numbers, first)
        if first == last and at in partners and numbers[at] == first:
            lines[new_numbers[partners[at]]] += f"  {comment}"
        else:
            following = bisect_left(left, at)
            place = partners[left[following]] if following < len(left) else -1
            above[new_numbers[place]].append(comment)
    out: list[str] = []
    for n, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip())]
        out += [f"{indent}{comment}" for comment in above.pop(n, ())]
        out.append(line)
    return "\n".join([*out, *(comment for rest in above.values() for comment in rest)])


def _code(text: str) -> dict[int, tuple[str, ...]]:
    """The lines of code of a text, by line number from 0: their tokens, with all variables treated
    as equal."""
    tokens = tokenize(Source(text), 0, metadata_start(text))
    found: dict[int, list[str]] = {}
    for word, start in zip(tokens.texts, tokens.starts, strict=True):
        if word:
            line = found.setdefault(tokens.source.place(start)[0] - 1, [])
            line.append("%" if word.startswith("%") else word)
    return {number: tuple(words) for number, words in found.items()}


def _end(text: str) -> int:
    """The number, from 0, of the line after all code."""
    return text[: metadata_start(text)].count("\n") + (metadata_start(text) == len(text))


def _partners(old: list[tuple[str, ...]], new: list[tuple[str, ...]]) -> dict[int, int]:
    """Pairs lines of `old` with equal lines of `new`, in the order of both."""
    place = {key: n for n, key in enumerate(new)}
    old_counts, new_counts = Counter(old), Counter(new)
    once = {
        n: place[key]
        for n, key in enumerate(old)
        if key in place and old_counts[key] == new_counts[key] == 1
    }
    shared = list(once.items())
    anchors = [shared[n] for n in longest_increasing(list(once.values()))]
    found = dict(anchors)
    for (a, b), (c, d) in pairwise([(-1, -1), *anchors, (len(old), len(new))]):
        places = defaultdict(list)
        for m in range(b + 1, d):
            places[new[m]].append(m)
        last = b
        for n in range(a + 1, c):
            later = bisect_left(places[old[n]], last + 1)
            if later < len(places[old[n]]):
                found[n] = last = places[old[n]][later]
    return found
