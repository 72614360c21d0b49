"""What a tabulation engine is: it turns records and passes into base cubes.

In: a `TabulationTask` (records, confidential). Out: one `Cube` per `Pass` (confidential). An
engine is a subclass of `Engine` in a module of this package; `tabulate` finds it there. All
engines keep one contract: the cubes of the same records are equal bit for bit; every record
key and every number is checked, and the error says how many records it concerns; no error
quotes a record.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import ClassVar

import narwhals as nw
import polars as pl

from discreet.confidential import engine_failed
from discreet.errors import DiscreetError, MicrodataError
from discreet.key_check import MOST, KeyCheck, check_records, lowest
from discreet.keygrid import KeyGrid
from discreet.microdata import DatabaseTable, NarwhalsFrame, distant_records, filter_failed
from discreet.record_batches import collected
from discreet.tabulation.cube import Cube
from discreet.tabulation.measures import MeasureLayout
from discreet.tabulation.query import CubeAxis, Query, QueryGroup, plan


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One grouped pass over the records: what spans it, who counts, what is summed."""

    axes: tuple[CubeAxis, ...]
    where: nw.Expr | None
    layout: MeasureLayout
    #: The filter as it was asked for.
    asked: str | nw.Expr | None = None

    @property
    def numbers(self) -> list[str]:
        """Columns of weights and values."""
        weight = self.layout.weight
        return [*([] if weight is None else [weight]), *self.layout.values]

    def complete(self) -> Pass:
        """A copy with measures of all shares of the records that may occur."""
        return replace(self, layout=self.layout.with_shares(self.layout.possible))


@dataclass(frozen=True, kw_only=True, repr=False)
class TabulationTask:
    """The records, and all that is to be counted among them (confidential)."""

    records: NarwhalsFrame
    queries: Sequence[Query]  # what is to be counted
    record_key: str | None  # column of record keys; None for none
    grid: KeyGrid  # their key grid
    unsuitable_keys: bool  # whether keys that cannot be drawn by chance are used all the same

    @cached_property
    def schema(self) -> nw.Schema:
        """The types of the columns."""
        return self.records.collect_schema()

    @cached_property
    def conditions(self) -> list[nw.Expr | None]:
        """The filters of the queries, as expressions for these records."""
        return [query.condition(self.schema) for query in self.queries]

    @property
    def reads(self) -> list[str]:
        """Columns to read; expressions may look at any, so then it is all of them."""
        if any(query.opaque for query in self.queries):
            return list(self.schema)
        named = dict.fromkeys(column for query in self.queries for column in query.columns)
        return list(named | dict.fromkeys([] if self.record_key is None else [self.record_key]))

    @property
    def spanning(self) -> list[str]:
        """The columns behind the spanning variables."""
        axes = {axis for query in self.queries for axis in query.axes}
        return sorted({c for axis in axes for c in axis.columns} - {self.record_key or ""})

    @property
    def sizes(self) -> dict[CubeAxis, int]:
        """Number of codes per axis, as far as classifications tell."""
        return {
            axis: len(tree.leaves)
            for query in self.queries
            for variable in query.variables
            for tree, axis in zip(variable.trees, variable.axes, strict=False)
        }


_ENGINES: dict[str, type[Engine]] = {}


def known_engines() -> list[type[Engine]]:
    """The engines of all modules of this package, in the order in which they are asked.

    >>> [engine.name for engine in known_engines()]
    ['cubes', 'database', 'store', 'memory', 'batches', 'pushdown']
    """
    _load_modules()
    return sorted(_ENGINES.values(), key=lambda engine: (engine.rank, engine.name))


@cache
def _load_modules() -> None:
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith("compiled"):  # their compiler is slow to load
            importlib.import_module(f"discreet.tabulation.{module.name}")


class Engine(ABC):
    """One way from records to base cubes.

    A subclass says its name, its rank, which tasks it takes, and counts. What is forgotten is
    an error at import.
    """

    #: What it is called.
    name: ClassVar[str]
    #: Engines of a lower rank are asked first.
    rank: ClassVar[int]
    #: Whether it counts where the records are, instead of fetching them.
    distant: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        missing = [item for item in ("name", "rank", "takes", "cubes") if item not in vars(cls)]
        if missing:
            raise TypeError(f"engine {cls.__name__} lacks {', '.join(missing)}")
        if _ENGINES.setdefault(cls.name, cls).__qualname__ != cls.__qualname__:
            raise TypeError(f"two engines have the name {cls.name!r}")

    def __init__(self, task: TabulationTask) -> None:
        self.task = task

    @classmethod
    @abstractmethod
    def takes(cls, task: TabulationTask) -> bool:
        """Whether it can read these records."""

    @property
    def height(self) -> int | None:
        """Number of records, if known."""
        return None

    @property
    def sizes(self) -> Mapping[CubeAxis, int]:
        """Number of values per axis, as far as known."""
        return self.task.sizes

    def some_records(self, columns: Sequence[str]) -> pl.DataFrame:
        """Some records for a test of their keys, in their order."""
        return first_records(self.task.records, columns)

    def lowest_keys(self, record_key: str) -> pl.Series:
        """All record keys in the lowest part of the grid."""
        return lowest_of_all(self.task.records, record_key, self.task.grid)

    def key_check(self) -> KeyCheck | None:
        """A test of the record keys; of none that cannot be read, which a pass will refuse."""
        task, column = self.task, self.task.record_key
        if column is None:
            return None
        with refusals(filtered=False):
            some = self.some_records([column, *task.spanning])
            low = self.lowest_keys(column)
        return check_records(some, low, task.grid, column=column, allowed=task.unsuitable_keys)

    def groups(self) -> list[QueryGroup]:
        """The queries in groups that share a cube."""
        return plan(self.task.queries, records=self.height, sizes=self.sizes)

    def suits(self, one: Pass) -> bool:
        """Whether it is the one for a pass, or leaves it to the next engine."""
        return True

    @abstractmethod
    def cubes(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """The base cubes of the passes, in their order."""

    def run(self, passes: Sequence[Pass]) -> Iterator[Cube]:
        """Run the tabulation and check its result; errors quote no record."""
        with refusals(filtered=any(one.where is not None for one in passes)):
            cubes = self.cubes(passes)
            for one in passes:
                cube = next(cubes)
                if cube.axes != one.axes or set(one.layout.rows) - set(cube.layout.rows):
                    raise TypeError(f"engine {self.name} returned another cube than requested")
                yield cube


def first_records(records: NarwhalsFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The first records, as many as a test of keys looks at."""
    return collected(records.select(*columns).head(MOST))


def lowest_of_all(records: NarwhalsFrame, record_key: str, grid: KeyGrid) -> pl.Series:
    """All keys in the lowest part of the grid; none of texts, which engines cannot add."""
    dtype = records.collect_schema()[record_key]
    if not dtype.is_numeric():
        return pl.Series(dtype=pl.Int64)
    column, most = nw.col(record_key), lowest(grid, whole=dtype.is_integer())
    if isinstance(table := distant_records(records), DatabaseTable):
        return table.lowest(record_key, most)
    return collected(records.select(record_key).filter((column >= 0) & (column < most)))[record_key]


@contextmanager
def refusals(*, filtered: bool) -> Iterator[None]:
    """Turn whatever goes wrong with records into an error whose text holds no data."""
    try:
        yield
    except (DiscreetError, MemoryError):
        raise
    except Exception as error:
        # No condition on records makes code impossible to load or to compile.
        if filtered and not isinstance(error, ImportError | OSError | RuntimeError):
            raise filter_failed(error) from None
        raise engine_failed(error) from None


def unusable_numbers(kind: str, number: int, name: str) -> MicrodataError:
    """The error for weights or values that cannot be summed."""
    hints = {
        "missing": "give every record a weight",
        "negative": "weights must be at least 0",
        "too large": "change the unit: exact sums need values up to 10^14",
        "infinite": "remove or correct these records first",
    }
    return MicrodataError(
        f"{number:,} {'record has' if number == 1 else 'records have'} a value that is {kind}",
        code="values",
        where=name,
        hint=hints[kind],
    )


def wrong_type(what: str, dtype: object, name: str) -> MicrodataError:
    """The error for a column that holds no numbers."""
    # Only the kind: a type may list the values of its column.
    kind = str(dtype).partition("(")[0]
    return MicrodataError(f"{what}; the column has type {kind}", code="column-type", where=name)
