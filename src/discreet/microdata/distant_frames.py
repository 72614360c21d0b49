"""Records that are elsewhere, and the plans that stand in for them.

In: what knows the columns of such records: a database, or cubes in which they were added up.
Out: a polars plan with these columns, which fetches records only if somebody asks for them as
such; and, of a plan, what it stands in for, so that an engine can count where the records are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import narwhals as nw
import polars as pl
from polars.io.plugins import register_io_source


class DistantRecords(ABC):
    """Records that are elsewhere. CONFIDENTIAL."""

    @property
    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The columns and their types."""

    @abstractmethod
    def fetched(self, columns: Sequence[str], most: int | None) -> Iterator[pl.DataFrame]:
        """Some columns of the records, of the first ones where `most` says so; or an error."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} (confidential): {len(self.schema)} columns>"

    def plan(self) -> nw.LazyFrame[Any]:
        """A plan that stands in for the records."""
        names = list(self.schema)

        def parts(
            columns: list[str] | None, condition: pl.Expr | None, most: int | None, _: int | None
        ) -> Iterator[pl.DataFrame]:
            for part in self.fetched(columns or names, most if condition is None else None):
                frame = part if condition is None else part.filter(condition)
                left = frame if most is None else frame.head(most)
                most = None if most is None else most - left.height
                yield left
                if most == 0:
                    return

        plan = register_io_source(parts, schema=self.schema)
        vars(plan)[_OWN] = self
        opened: nw.LazyFrame[Any] = nw.from_native(plan)
        return opened


class KeyedBefore(DistantRecords):
    """Records that were checked, and given their keys, before they came where they are."""

    @property
    @abstractmethod
    def records(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def record_key(self) -> str | None:
        """The column of their keys."""


#: The attribute of a plan that names what it stands in for; plans made of it have none.
_OWN = "_discreet_distant_records"


def distant_records(records: Any) -> DistantRecords | None:
    """The distant records behind a frame; None if it holds or derives its records itself.

    >>> distant_records(pl.LazyFrame({"sex": ["m"]}))
    """
    native = nw.to_native(records, pass_through=True)
    return vars(native).get(_OWN) if isinstance(native, pl.LazyFrame) else None
