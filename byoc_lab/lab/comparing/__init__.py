"""Two traces side by side: the first difference, and the operators that moved between host and
regions."""

from byoc_lab.lab.comparing.comparison import Comparison, MovedOperator, StagePair, compare
from byoc_lab.lab.comparing.places import Place

__all__ = ["Comparison", "MovedOperator", "Place", "StagePair", "compare"]
