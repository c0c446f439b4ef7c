"""Why a call was offloaded or not, and what would change it; what TVM's error messages mean."""

from byoc_lab.lab.explaining.changes import Change
from byoc_lab.lab.explaining.explain import explain
from byoc_lab.lab.explaining.explanation import CAUSES, Explanation, Explanations

__all__ = ["CAUSES", "Change", "Explanation", "Explanations", "explain"]
