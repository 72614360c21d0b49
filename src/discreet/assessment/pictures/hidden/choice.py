"""Which codes of a variable fit on a picture, and what they are called there.

In: a spanning variable. Out: positions of codes, whole levels as far as there is room, and
their labels. Public.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.tables import Dimension

__all__ = ["STEP", "Chosen", "choose", "label_width", "named", "shortened_label"]

IntArray = npt.NDArray[np.int64]

#: Pixels by which a label is set in for each level.
STEP = 12

_LONGEST = 46
# Pixels of a letter; in short labels capitals count more.
_SHORT, _WIDE_SIGN, _SIGN = 18, 6.6, 5.4


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """Codes of a variable to be shown.

    Args:
        codes: Their positions, in tree order.
        all: Number of codes there are to choose from.
    """

    codes: IntArray
    all: int

    @property
    def complete(self) -> bool:
        """Whether no code was left out."""
        return len(self.codes) == self.all


def choose(dimension: Dimension, most: int, under: int = 0) -> Chosen:
    """The codes to show: as many whole levels as fit, or the first codes of the first level.

    Args:
        dimension: The variable.
        most: Most codes that fit.
        under: Position of a code; only it and the codes below it are shown.

    >>> from discreet.classifications import Classification
    >>> place = Classification.from_prefixes("place", ["11", "12", "21", "22"], [1, 2])
    >>> place = Dimension(classifications=(place,))
    >>> [place.codes[at] for at in choose(place, 5).codes]
    ['Total', '1', '2']
    >>> choose(place, 5, under=place.index["1"]).codes.tolist()
    [1, 2, 3]
    """
    below = np.zeros(len(dimension), dtype=np.bool_)
    below[under] = True
    for at in range(under + 1, len(dimension)):
        below[at] = below[dimension.parents[at]]
    codes = np.flatnonzero(below).astype(np.int64)
    levels = dimension.levels[codes]
    fitting = codes
    for level in sorted(set(levels.tolist()), reverse=True):
        fitting = codes[levels <= level]
        if len(fitting) <= most:
            break
    if len(fitting) < 2 <= len(codes) or len(fitting) > most:
        first = next((n for n in sorted(set(levels.tolist())) if (levels <= n).sum() > 1), 0)
        fitting = codes[levels <= first][:most]
    return Chosen(codes=fitting, all=len(codes))


def named(dimension: Dimension, chosen: Chosen, language: str) -> list[str]:
    """The labels of codes, shortened; equal ones with their codes.

    Args:
        dimension: The variable.
        chosen: Some of its codes.
        language: "en" or "de".

    >>> from discreet.classifications import Classification
    >>> labels = {"1": {"en": "Other"}, "2": {"en": "Other"}}
    >>> place = Dimension(classifications=(Classification.flat("p", ["1", "2"], labels=labels),))
    >>> named(place, choose(place, 9), "en")
    ['Total', 'Other (1)', 'Other (2)']
    """
    told = dimension.labels(language)
    short = [shortened_label(told[at]) for at in chosen.codes]
    often = Counter(short)
    return [
        label if often[label] == 1 else f"{label} ({dimension.codes[at]})"
        for label, at in zip(short, chosen.codes, strict=True)
    ]


def shortened_label(label: str, longest: int = _LONGEST) -> str:
    """A label that fits: the end of a long one is left out.

    >>> shortened_label("Wholesale trade", 10)
    'Wholesale…'
    """
    if len(label) <= longest:
        return label
    return label[: longest - 1].rstrip() + "…"


def label_width(labels: Sequence[str], levels: Sequence[int] | None = None) -> int:
    """About how many pixels the longest label takes.

    Args:
        labels: The labels.
        levels: How many steps each of them is set in.
    """
    steps = levels or [0] * len(labels)
    widths = [
        min(len(label), _SHORT) * _WIDE_SIGN + max(len(label) - _SHORT, 0) * _SIGN + at * STEP
        for label, at in zip(labels, steps, strict=True)
    ]
    return round(max(widths, default=0)) + 10
