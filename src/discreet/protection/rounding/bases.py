"""`Rounding`: to which multiples counts are rounded, and how. SECRET where it has a seed.

In: base, method and options, each checked. Out: the base of every cell of a table, the draws of
random rounding, and the interval of true counts that a rounded figure leaves to readers.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

import numpy as np
from pydantic import ConfigDict, Field, ValidationError, ValidationInfo, field_validator

from discreet.arrays import BoolArray, FloatArray, IntArray, UintArray
from discreet.confidential import Unpicklable
from discreet.errors import CountRoundingError, raise_all
from discreet.microdata import Secret
from discreet.protection.rounding.settings import RoundingSettings
from discreet.settings import refused, setting_problems
from discreet.tables import Table, sort_cells


class Rounding(Unpicklable, RoundingSettings):  # type: ignore[misc]
    """Bases and random source of a rounding.

    Args:
        options: What `RoundingSettings` has: `base`, `method`, `margins`, `ties`, `unbiased`,
            `steps`; and `seed`: what random draws come from, where cell keys do not decide. SECRET.

    >>> Rounding(base=1)
    Traceback (most recent call last):
        ...
    discreet.errors.CountRoundingError: [rounding] base: Input should be greater than...
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    seed: Annotated[Any, Field(exclude=True, validate_default=True)] = None

    def __init__(self, **options: Any) -> None:
        stated: dict[str, Any] = {
            name: int(value) if isinstance(value, np.integer) else value
            for name, value in options.items()
        }
        try:
            super().__init__(**stated)
        except ValidationError as error:
            problems = setting_problems(error)
        else:
            return
        raise_all(
            CountRoundingError, problems, code="rounding", many="{} options of rounding are wrong"
        )

    def __repr__(self) -> str:
        return "<Rounding: secret>"

    __str__ = __repr__

    @field_validator("seed")
    @classmethod
    def _drawn_from(cls, value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, Secret | bytes | str | int | None):
            raise refused("a seed must be a secret, a text or a whole number")
        random, unbiased = info.data.get("method") == "random", info.data.get("unbiased")
        if value is None and random:
            hint = (
                'add seed=…, or use method="keyed", which needs none and rounds equal sets equally'
            )
            raise refused("random rounding needs a seed, which makes tables reproducible", hint)
        if value is not None and not (random or unbiased):
            raise refused("this method uses no seed")
        return value

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
        """Digest of the source of the draws, to be keyed; "" without a seed. SECRET."""
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
        """The root mean square of it over all remainders, which tells no count.

        Conventional rounding is off by half a base at most; of an even base, one remainder is off
        by just that, and always to one side if halves go up. All other methods may go to either
        multiple: remainder r has the variance r (base - r).
        """
        if self.method == "conventional":
            return np.sqrt((base**2 + np.where(base % 2, -1, 2)) / 12)
        return np.sqrt((base**2 - 1) / 6)


def inner_cells(table: Table) -> BoolArray:
    """Which cells are no totals in any variable."""
    inner = np.ones(len(table), dtype=np.bool_)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        inner &= dimension.is_leaf[part]
    return inner


def no_cell_keys(table: Table, other: str = "") -> CountRoundingError:
    """The error for a table without cell keys."""
    hint = 'tabulate with record_key="…", or add cell_key= for cells from other tools'
    message = f"this rounding needs cell keys{' ' if other else ''}{other}"
    return CountRoundingError(message, code="no-cell-keys", where=table.name, hint=hint)
