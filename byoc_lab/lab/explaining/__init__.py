"""The reasons why calls are offloaded or not, changes that would alter it, and the meaning of TVM's
error messages."""

from byoc_lab.lab.explaining.answer import CAUSES
from byoc_lab.lab.explaining.calls import explain
from byoc_lab.lab.explaining.cards import Card
from byoc_lab.lab.explaining.decoding import Decoded, Meaning, decode
from byoc_lab.lab.explaining.entries import explain_patterns
from byoc_lab.lab.explaining.explanation import Explanation
from byoc_lab.lab.explaining.explanations import Explanations
from byoc_lab.lab.explaining.pattern_report import EntryReport, PatternReport
from byoc_lab.lab.explaining.trials import VerifiedChange

__all__ = [
    "CAUSES",
    "Card",
    "Decoded",
    "EntryReport",
    "Explanation",
    "Explanations",
    "Meaning",
    "PatternReport",
    "VerifiedChange",
    "decode",
    "explain",
    "explain_patterns",
]  # fmt: skip
