"""Code trees of variables and their file formats."""

from discreet.classifications.classification import Classification
from discreet.classifications.tree import MISSING, TOTAL, natural_order

__all__ = ["MISSING", "TOTAL", "Classification", "natural_order"]
