"""Code trees of variables and their file formats."""

from discreet.classifications.classification import MISSING, TOTAL, Classification
from discreet.classifications.tree import natural_order

__all__ = ["MISSING", "TOTAL", "Classification", "natural_order"]
