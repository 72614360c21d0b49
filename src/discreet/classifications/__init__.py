"""Code trees of variables and their file formats (layer 1)."""

from discreet.classifications.model import MISSING, TOTAL, Classification
from discreet.classifications.order import natural_order

__all__ = ["MISSING", "TOTAL", "Classification", "natural_order"]
