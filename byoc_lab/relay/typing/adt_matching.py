"""Exhaustiveness of a match: the values that no clause handles (`unmatched_cases`).

A candidate pattern represents the values it matches; the first candidate is a wildcard, which
represents all values. Each candidate is compared with the first clause that may match it. If the
clause matches all its values, the candidate is done; if only some, the candidate's wildcards are
expanded to all constructors. A candidate that no clause matches is a missing case.

Source: src/relay/analysis/match_exhaustion.cc of TVM 0.16 (same cases, in the same order).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.adt import Match, Pattern, PatternConstructor, PatternTuple, PatternWildcard
from byoc_lab.relay.ir.module import IRModule

# The problem is NP-hard; matches in real programs have some dozens of cases.
MAX_CASES = 5_000

_NO, _IN_PART, _YES = range(3)


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns for the values that `match` does not handle; empty if it handles all.

    Args:
        mod: the module that defines the types of the constructors in the patterns.

    Raises TypeInferenceError for patterns that contradict each other (a constructor with different
    numbers of fields) or more than 5,000 cases, UnknownNameError for a type that `mod` does not
    define.
    """
    mod = mod if mod is not None else IRModule()
    candidates: list[Pattern] = [PatternWildcard()]
    missing: list[Pattern] = []
    seen = 0
    while candidates:
        candidate = candidates.pop()
        seen += 1
        if seen + len(candidates) > MAX_CASES:
            raise _too_many()
        for clause in match.clauses:
            outcome = _matches(clause.lhs, candidate)
            if outcome == _NO:
                continue
            if outcome == _IN_PART:
                candidates += _expanded(clause.lhs, candidate, mod)
            break
        else:
            missing.append(candidate)
    return missing


def _matches(pattern: Pattern, candidate: Pattern) -> int:
    if not isinstance(pattern, (PatternConstructor, PatternTuple)):
        return _YES
    if type(candidate) is not type(pattern):
        return _IN_PART
    if isinstance(pattern, PatternConstructor):
        assert isinstance(candidate, PatternConstructor)
        if pattern.constructor.identity != candidate.constructor.identity:
            return _NO
    if len(pattern.patterns) != len(candidate.patterns):
        raise TypeInferenceError(
            f"the pattern {pattern} has {len(pattern.patterns)} fields, "
            f"expected {len(candidate.patterns)}"
        )
    fields = zip(pattern.patterns, candidate.patterns, strict=True)
    return min((_matches(p, c) for p, c in fields), default=_YES)


def _expanded(pattern: Pattern, candidate: Pattern, mod: IRModule) -> list[Pattern]:
    """`candidate` split into the cases that `pattern` distinguishes."""
    wild = isinstance(candidate, PatternWildcard)
    if isinstance(pattern, PatternConstructor):
        if wild:
            constructors = mod[pattern.constructor.belong_to].constructors
            return [PatternConstructor(c, _wildcards(c.inputs)) for c in constructors]
        assert isinstance(candidate, PatternConstructor)
        return [
            PatternConstructor(candidate.constructor, fields)
            for fields in _fields(pattern, candidate, mod)
        ]
    if isinstance(pattern, PatternTuple):
        if wild:
            return [PatternTuple(_wildcards(pattern.patterns))]
        return [PatternTuple(fields) for fields in _fields(pattern, candidate, mod)]
    return [candidate]


def _wildcards(places: Sequence[object]) -> list[Pattern]:
    return [PatternWildcard() for _ in places]


def _fields(pattern: Pattern, candidate: Pattern, mod: IRModule) -> list[tuple[Pattern, ...]]:
    pairs = zip(pattern.patterns, candidate.patterns, strict=True)
    choices = [_expanded(p, c, mod) for p, c in pairs]
    if math.prod(map(len, choices)) > MAX_CASES:
        raise _too_many()
    # The first field changes fastest, as in TVM.
    return [fields[::-1] for fields in itertools.product(*reversed(choices))]


def _too_many() -> TypeInferenceError:
    return TypeInferenceError(
        f"this match has more than {MAX_CASES} cases to distinguish; split it into several "
        "matches, or use match? to omit cases"
    )
