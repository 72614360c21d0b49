"""Ready-made perturbation tables, named for what they promise.

In: a name. Out: a `PerturbationTable`. These tables are public: whoever publishes
with one should lay its intervals out in a secret order first, and an office's own
table should be a design of its own.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.errors import PerturbationError
from discreet.perturbation.design.counts import design_perturbation
from discreet.perturbation.table import PerturbationTable

__all__ = ["PRESETS", "preset"]

# A matrix used in teaching: row = count (7 and more), column = noise −4 … 4.
_PUBLISHED = (
    ("0", "0", "0", "0", "1", "1", "1", "1", "1"),
    ("0", "0", "0", "0.6875", "0.6875", "0.6875", "0.9375", "1", "1"),
    ("0", "0", "0.3533", "0.3533", "0.3533", "0.944", "0.997", "0.999", "1"),
    ("0", "0.162", "0.162", "0.162", "0.662", "0.856", "0.997", "0.999", "1"),
    ("0.087", "0.087", "0.087", "0.192", "0.692", "0.859", "0.997", "0.999", "1"),
    ("0", "0", "0.145", "0.327", "0.827", "0.859", "0.893", "0.949", "1"),
    ("0", "0.04", "0.15", "0.285", "0.785", "0.86", "0.92", "0.96", "1"),
    ("0.02", "0.06", "0.145", "0.25", "0.75", "0.855", "0.94", "0.98", "1"),
)


def within_2_half_unchanged() -> PerturbationTable:
    """Noise of at most 2; every count stays as it is with probability ½."""
    return design_perturbation(2, 0.75, stay=0.5)


def within_5() -> PerturbationTable:
    """Noise of at most 5, of variance 3: no figure is more than 5 off."""
    return design_perturbation(5, 3)


def never_1_within_5() -> PerturbationTable:
    """Noise of at most 5, of variance 3; 1 is never published."""
    return design_perturbation(5, 3, forbidden=(1,))


def never_1_or_2_within_5() -> PerturbationTable:
    """Noise of at most 5, of variance 3; 1 and 2 are never published."""
    return design_perturbation(5, 3, forbidden=(1, 2))


def never_1_or_2_within_4_half_unchanged() -> PerturbationTable:
    """Noise of at most 4; 1 and 2 are never published; counts from 3 on stay with probability ½."""
    stay = dict.fromkeys(range(3, 8), 0.5)
    return design_perturbation(4, 2.25, forbidden=(1, 2), stay=stay)


def published_never_1_or_2_within_4_half_unchanged() -> PerturbationTable:
    """The same promises, by a matrix published for teaching."""
    return PerturbationTable.from_cumulative(_PUBLISHED, noise=range(-4, 5))


_FUNCTIONS: tuple[Callable[[], PerturbationTable], ...] = (
    within_2_half_unchanged,
    within_5,
    never_1_within_5,
    never_1_or_2_within_5,
    never_1_or_2_within_4_half_unchanged,
    published_never_1_or_2_within_4_half_unchanged,
)

#: Functions that make the tables, by name.
PRESETS: dict[str, Callable[[], PerturbationTable]] = {
    function.__name__.replace("_", "-"): function for function in _FUNCTIONS
}


def preset(name: str) -> PerturbationTable:
    """The ready-made table of this name.

    Args:
        name: One of `PRESETS`; spaces and commas may stand for the hyphens.

    >>> preset("never 1 or 2, within 4, half unchanged")
    <PerturbationTable never-1-or-2-within-4-half-unchanged: secret>
    """
    wanted = "-".join(str(name).replace(",", " ").replace("-", " ").replace("_", " ").split())
    if wanted not in PRESETS:
        raise PerturbationError(
            f"there is no ready-made table {name!r}",
            code="preset",
            hint="tables: " + "; ".join(PRESETS),
        )
    table = PRESETS[wanted]()
    return PerturbationTable(table.content, wanted)
