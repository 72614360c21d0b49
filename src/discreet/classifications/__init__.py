"""Code trees of variables and their file formats (layer 1)."""

from discreet.classifications.model import MISSING, TOTAL, Classification

__all__ = ["MISSING", "TOTAL", "Classification"]
