"""Finds the smallest module for which a predicate holds, and the nearest one for which it does
not."""

from byoc_lab.lab.reducing.named import KINDS, NamedPredicate, predicate_named
from byoc_lab.lab.reducing.reducer import reduce
from byoc_lab.lab.reducing.reduction import Reduction

__all__ = ["KINDS", "NamedPredicate", "Reduction", "predicate_named", "reduce"]
