"""`Rounding`: to which multiples counts are rounded, and how. SECRET where it has a seed.

In: base, method and options, each checked. Out: the base of every cell of a table, the draws of
random rounding, and the interval of true counts that a rounded figure leaves to readers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Literal, get_args

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray, UintArray
from discreet.confidential import Unpicklable
from discreet.errors import CountRoundingError, Problem, raise_all
from discreet.microdata import Secret
from discreet.tables import Table
from discreet.tables.table import sort_cells

#: How figures are rounded.
Method = Literal["keyed", "conventional", "random", "controlled", "small-counts"]
#: Whose totals are the sums of their parts, as published.
ADDITIVE = ("controlled", "small-counts")

LARGEST_BASE = 1000
MOST_STEPS = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class Rounding(Unpicklable):
    """How counts are rounded.

    Args:
        base: Figures become multiples of this, 2 to 1,000.
        method: "conventional" to the nearest multiple; "keyed" up or down at random by the cell
            key; "random" by a seed; "controlled" so that totals are sums; "small-counts" changes
            inner cells below the base only.
        margins: Another base for totals; that of inner cells if None.
        ties: Where a count halfway between goes: "up", or to the "even" multiple.
        seed: What random draws come from, where cell keys do not decide. SECRET.
        unbiased: Controlled rounding at random, right on average; two-way tables only.
        steps: By how many further multiples controlled rounding may miss where it has to.

    >>> Rounding(base=1)
    Traceback (most recent call last):
        ...
    discreet.errors.CountRoundingError: [rounding] base: the base is a whole number...
    """

    base: int = 5
    method: Method = "keyed"
    margins: int | None = None
    ties: Literal["up", "even"] = "up"
    seed: Secret | bytes | str | int | None = None
    unbiased: bool = False
    steps: int = 3

    def __post_init__(self) -> None:
        problems = [*self._outside(), *self._without_meaning()]
        raise_all(
            CountRoundingError, problems, code="rounding", many="{} options of rounding are wrong"
        )

    def _outside(self) -> list[Problem]:
        whole = f"is a whole number from 2 to {LARGEST_BASE:,}"
        told = "base 1 would publish true counts"
        choices: dict[str, tuple[str, ...]] = {"method": get_args(Method), "ties": ("up", "even")}
        found = [
            Problem(f"{name} is one of {', '.join(known)}", name)
            for name, known in choices.items()
            if getattr(self, name) not in known
        ]
        if not _whole(self.base, 2, LARGEST_BASE):
            found.append(Problem(f"the base {whole}", "base", told))
        if self.margins is not None and not _whole(self.margins, 2, LARGEST_BASE):
            found.append(Problem(f"the base of totals {whole}", "margins", told))
        if not _whole(self.steps, 0, MOST_STEPS):
            found.append(Problem(f"steps is a whole number from 0 to {MOST_STEPS}", "steps"))
        if not isinstance(self.seed, Secret | bytes | str | Integral | None):
            found.append(Problem("a seed is a secret, a text or a whole number", "seed"))
        return found

    def _without_meaning(self) -> list[Problem]:
        """Options that this method would ignore, or that it lacks."""
        found = []
        if self.margins is not None and self.method in ADDITIVE:
            what = "totals that are sums have the base of their parts"
            found.append(Problem(what, "margins", "leave it out, or round each figure on its own"))
        if self.ties != "up" and self.method != "conventional":
            found.append(Problem("ties are for conventional rounding", "ties"))
        if self.unbiased and self.method != "controlled":
            found.append(Problem("unbiased is for controlled rounding", "unbiased"))
        if self.seed is None and self.method == "random":
            what = "random rounding needs a seed: without one no table can be made again"
            hint = 'give seed=…; method="keyed" needs none, and rounds equal sets equally'
            found.append(Problem(what, "seed", hint))
        if self.seed is not None and not (self.method == "random" or self.unbiased):
            found.append(Problem("nothing is drawn from a seed by this method", "seed"))
        return found

    @property
    def additive(self) -> bool:
        """Whether published totals are the sums of published parts."""
        return self.method in ADDITIVE

    def bases(self, table: Table) -> IntArray:
        """The base of each cell."""
        totals = self.base if self.margins is None else self.margins
        return np.where(inner_cells(table), self.base, totals).astype(np.int64)

    def draws(self, table: Table) -> UintArray:
        """One draw of 64 bits for each cell: by seed and cell, whatever the order of the rows.

        Where no seed is given, the cell keys of the table stand for it. SECRET.
        """
        names = [part for each in table.dimensions for part in (each.name, *each.codes)]
        drawn = hashlib.sha256(b"discreet rounding 1\0" + self._seed(table))
        drawn.update("\0".join((*names, table.where)).encode())
        order = sort_cells(table.dimensions, table.index)
        raw = np.random.Philox(key=int.from_bytes(drawn.digest()[:16])).random_raw(len(table))
        found = np.empty(len(table), dtype=np.uint64)
        found[order] = raw
        return found

    def _seed(self, table: Table) -> bytes:
        if self.seed is None:
            if table.cell_key is None:
                raise no_cell_keys(table, "or a seed")
            order = sort_cells(table.dimensions, table.index)
            return np.ascontiguousarray(table.cell_key[order], dtype="<i8").tobytes()
        if isinstance(self.seed, Secret):
            return b"secret\0" + self.seed.derive("rounding")
        plain = self.seed if isinstance(self.seed, bytes) else str(self.seed).encode()
        return b"plain\0" + plain

    def digest(self) -> str:
        """What determines the draws, as a digest to be keyed; "" without a seed. SECRET."""
        none = Table(dimensions=(), index=(), count=np.zeros(1, dtype=np.int64))
        return "" if self.seed is None else hashlib.sha256(self._seed(none)).hexdigest()

    def interval(
        self, value: IntArray, base: IntArray, steps: IntArray | int = 0
    ) -> tuple[IntArray, IntArray]:
        """The true counts that a figure leaves possible, of cells known to be occupied.

        Args:
            value: Rounded counts.
            base: Their bases.
            steps: By how many further multiples each may be off.
        """
        low, high = value - base + 1 - steps * base, value + base - 1 + steps * base
        if self.method == "conventional":
            up = np.full(len(value), self.ties == "up")
            odd = (value // base) % 2 == 1
            open_low = ~up & odd & (base % 2 == 0)  # halves go to the even multiples
            low = value - base // 2 + open_low
            high = value + (base - 1) // 2 + (~up & ~odd & (base % 2 == 0))
        return np.maximum(low, 1), np.maximum(high, 1)

    def deviation(self, count: IntArray) -> FloatArray:
        """The standard deviation of what rounding does to counts."""
        if self.method == "conventional":
            return self.mean_deviation(np.full(len(count), self.base))
        rest = count % self.base
        return np.sqrt((rest * (self.base - rest)).astype(np.float64))

    def mean_deviation(self, base: IntArray) -> FloatArray:
        """The same over all remainders, which tells no count.

        Conventional rounding is off by half a base at most. All others may go to either
        multiple, and their variance is twice as large.
        """
        return np.sqrt((base**2 - 1) / (12 if self.method == "conventional" else 6))


def _whole(value: Any, low: int, high: int) -> bool:
    number = not isinstance(value, bool) and isinstance(value, Integral)
    return number and low <= int(value) <= high


def inner_cells(table: Table) -> BoolArray:
    """Which cells are no totals in any variable."""
    inner = np.ones(len(table), dtype=np.bool_)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        inner &= dimension.is_leaf[part]
    return inner


def no_cell_keys(table: Table, other: str = "") -> CountRoundingError:
    """The error for a table without cell keys."""
    hint = 'tabulate with record_key="…", or name cell_key= for cells made elsewhere'
    what = f"this rounding needs cell keys{' ' if other else ''}{other}"
    return CountRoundingError(what, code="no-cell-keys", where=table.name, hint=hint)
