"""`ProtectedTable`: what may be published. It has no place for true values.

In: published values with their status, notes and provenance; reasons and intervals of
hidden cells (`Withheld`). Out: the table as a frame, cell by cell, or as a file. Public.

Zero cells are not stored. An original zero, a count changed to zero and a
combination that never occurred are therefore one and the same here, and no form of
output can tell them apart. For the same reason a code that is listed only because a
record carries it, and shows nothing but zeros, is left out; codes that were stated
beforehand are always listed.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet._version import __version__
from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray, PositionArray
from discreet.errors import Problem, TableError, raise_all
from discreet.files import texts_of
from discreet.renderings import rendering
from discreet.tables.dimension import (
    FIGURE,
    Dimension,
    Figure,
    Parts,
    by_language,
    level_numbers,
    texts_by,
    within,
)
from discreet.tables.table import sort_cells


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Withheld:
    """Reasons and intervals of hidden cells, one entry per cell.

    Args:
        index: Per spanning variable, the position of each cell's code.
        reason: Number of its reason in `reasons`, from 1; 0 where none is said.
        reasons: The reasons: `kind` is the code that files print.
        low: The smallest value that anyone can think possible; NaN where nothing is
            said, minus infinity where there is none. None if no intervals are published.
        high: The largest one.
        instead: Whether intervals are printed in the place of the sign for hidden cells.
    """

    index: tuple[PositionArray, ...]
    reason: npt.NDArray[np.int8]
    reasons: tuple[Note, ...] = ()
    low: FloatArray | None = None
    high: FloatArray | None = None
    instead: bool = False

    def __post_init__(self) -> None:
        columns: list[Any] = [*self.index, self.reason]
        columns += [part for part in (self.low, self.high) if part is not None]
        if len({len(part) for part in columns}) > 1 or (self.low is None) != (self.high is None):
            raise TableError("the columns of suppressed cells differ in length", code="table")

    def __len__(self) -> int:
        return len(self.reason)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that files have for it."""
        return ("reason", *(() if self.low is None else ("low", "high")))

    def beside(
        self, dimensions: Sequence[Dimension], index: Sequence[PositionArray], shown: BoolArray
    ) -> dict[str, Any]:
        """Its columns beside cells: code of the reason, low, high; null for other cells.

        Args:
            dimensions: The spanning variables.
            index: Positions of the cells' codes.
            shown: Which cells show a number.
        """
        at = CellIndex.of(dimensions).find(self.index, index, (len(self), len(shown)))
        hidden = (at >= 0) & ~shown
        which = np.zeros(len(at), dtype=np.int64)
        which[hidden] = self.reason[at[hidden]]
        codes = pl.Series([None, *(note.kind for note in self.reasons)], dtype=pl.String)
        columns = {"reason": codes.gather(which)}
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound is not None:
                limits = np.full(len(at), np.nan)
                limits[hidden] = bound[at[hidden]]
                limits[~np.isfinite(limits)] = np.nan
                columns[name] = pl.Series(limits, dtype=pl.Float64).fill_nan(None)
        return columns

    def printed(
        self, dimensions: Sequence[Dimension], index: Sequence[PositionArray], length: int
    ) -> tuple[FloatArray, FloatArray] | None:
        """The intervals to be printed in the place of cells; not a number for other cells."""
        if not self.instead or self.low is None or self.high is None:
            return None
        at = CellIndex.of(dimensions).find(self.index, index, (len(self), length))
        bounds = [np.full(length, np.nan) for _ in range(2)]
        for column, bound in zip(bounds, (self.low, self.high), strict=True):
            column[at >= 0] = bound[at[at >= 0]]
        return bounds[0], bounds[1]

    def renumbered(self, places: Sequence[PositionArray]) -> Withheld:
        """A copy without codes that no cell has.

        Args:
            places: Per spanning variable, the new position of each old one.
        """
        index = [place[part] for place, part in zip(places, self.index, strict=True)]
        return replace(self, index=tuple(index))

    def __repr__(self) -> str:
        return f"<Withheld: {len(self):,} cells>"


#: Up to this many cells, a table is shown as a complete grid unless asked otherwise.
COMPLETE_LIMIT = 1_000_000


class CellStatus(IntEnum):
    """Status of a published cell; `sdmx` gives OBS_STATUS and CONF_STATUS.

    >>> CellStatus.suppressed.sdmx
    ('Q', 'C')
    """

    published = 0
    zero_or_changed_to_zero = 1
    suppressed = 2
    bracketed = 3
    official = 4
    not_applicable = 5
    imprecise = 6

    @property
    def sdmx(self) -> tuple[str, str]:
        """(OBS_STATUS, CONF_STATUS) of the SDMX code lists."""
        return _SDMX[self]


_SDMX = {
    CellStatus.published: ("A", "F"),
    CellStatus.zero_or_changed_to_zero: ("A", "F"),
    CellStatus.suppressed: ("Q", "C"),
    CellStatus.bracketed: ("U", "F"),
    CellStatus.official: ("A", "F"),
    CellStatus.not_applicable: ("M", "F"),
    CellStatus.imprecise: ("Q", "F"),
}

#: States of cells that show no number.
WITHOUT_NUMBER = (CellStatus.suppressed, CellStatus.not_applicable, CellStatus.imprecise)
_LACKS_NUMBER = np.isin(np.arange(len(CellStatus)), WITHOUT_NUMBER)


def lacks_number(status: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which cells show no number.

    >>> lacks_number(np.array([CellStatus.published, CellStatus.suppressed])).tolist()
    [False, True]
    """
    return _LACKS_NUMBER.take(status)


@dataclass(frozen=True, slots=True)
class Note:
    """A remark that is printed with a table."""

    kind: str  # short stable name, such as "non-additivity"
    texts: Mapping[str, str]  # language → text

    def text(self, language: str = "en") -> str:
        """The text in `language`, else in English."""
        return self.texts.get(language) or self.texts["en"]


def note_of(package: str, kind: str) -> Note:
    """The remark of this kind that a package brings along."""
    return Note(
        kind, {language: texts_of(package, "notes", language)[kind] for language in ("en", "de")}
    )


@dataclass(frozen=True, slots=True)
class CellNote:
    """A remark about some cells of a table."""

    codes: tuple[str | None, ...]  # one code per spanning variable; None for all of its codes
    note: Note  # the remark


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """Origin of a table, without parameters, keys, originals or noise."""

    version: str  # version of this package
    method: str  # name of the protection method
    key_grid: str = ""  # the key grid as text
    #: name → keyed digest (programme, perturbation table, data)
    digests: Mapping[str, str] = field(default_factory=dict)
    time: str = ""  # time of release, if the programme states one


def heading(
    method: str,
    titles: Any = None,
    universe: Any = None,
    digests: Any = None,
    *,
    key_grid: str = "",
    own: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Titles, population and provenance of a table that a method makes; checked, digests joined."""
    named = texts_by(digests, "digests", "every fingerprint needs a name", 'such as {"data": …}')
    return {
        "titles": by_language(titles, "titles"),
        "universe": by_language(universe, "universe"),
        "provenance": Provenance(
            version=__version__, method=method, key_grid=key_grid, digests=named | dict(own or {})
        ),
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class Imprint:
    """Publisher of a table and information for readers: language → text each.

    >>> Imprint(publisher={"en": "Statistical Office"}).publisher
    {'en': 'Statistical Office'}
    """

    publisher: Mapping[str, str] = field(default_factory=dict)
    source: Mapping[str, str] = field(default_factory=dict)  # survey or register
    reference_date: Mapping[str, str] = field(default_factory=dict)  # day or period
    next_update: Mapping[str, str] = field(default_factory=dict)
    licence: Mapping[str, str] = field(default_factory=dict)
    contact: Mapping[str, str] = field(default_factory=dict)
    disclaimer: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ProtectedTable:
    """A protected table, ready for publication.

    Args:
        dimensions: The spanning variables.
        index: Per spanning variable, the position of each stored cell's code.
        value: Protected values of the stored cells; 0 for cells without a number.
        status: Status of the stored cells. Cells not stored are zeros; for means, shares
            and ratios they have no value; on suppressed parts they are suppressed.
        notes: Remarks to print.
        provenance: Where the table comes from.
        name: Name of the table, used for file names.
        titles: language → heading.
        universe: language → who is counted (filter in words).
        decimals: Digits after the decimal point when printed.
        parts: The table parts it has; None for all. Cells on others are unknown.
        suppressed_parts: The table parts that are suppressed as a whole.
        figures: What the values are; none for counts. If there are several, the last
            dimension is that of the figures.
        cell_notes: Remarks about some of the cells.
        withheld: Why single cells are hidden; None if nothing is said.
        imprint: Publisher, licence, contact and the like; None if nothing is stated.
        margin: How far about 95 of 100 counts are from the true ones at most, rounded outward;
            None if nothing is stated.

    >>> from discreet.classifications import Classification
    >>> sex = Classification(name="sex", codes=("Total", "m", "w"), parents=(-1, 0, 0))
    >>> safe = ProtectedTable(
    ...     dimensions=(Dimension(classifications=(sex,)),),
    ...     index=(np.array([0, 1], dtype=np.int32),),
    ...     value=np.array([6, 5]),
    ...     status=np.array([CellStatus.published, CellStatus.published], dtype=np.int8),
    ...     provenance=Provenance(version="0.1.0", method="cell-key"),
    ... )
    >>> safe.get("Total"), safe.get("m"), safe.get("w")
    (6, 5, 0)
    """

    dimensions: tuple[Dimension, ...]
    index: tuple[PositionArray, ...]
    value: IntArray | FloatArray
    status: npt.NDArray[np.int8]
    provenance: Provenance
    notes: tuple[Note, ...] = ()
    name: str = "table"
    titles: Mapping[str, str] = field(default_factory=dict)
    universe: Mapping[str, str] = field(default_factory=dict)
    decimals: int = 0
    parts: Parts | None = None
    suppressed_parts: Parts = frozenset()
    figures: tuple[Figure, ...] = ()
    cell_notes: tuple[CellNote, ...] = ()
    withheld: Withheld | None = None
    imprint: Imprint | None = None
    margin: int | None = None

    def __post_init__(self) -> None:
        if {len(part) for part in self.index} | {len(self.status)} != {len(self.value)}:
            raise TableError("the columns of a table differ in length", code="table")
        self._check_figures()
        empty = lacks_number(self.status)
        value = np.where(empty, 0, self.value)
        zero = (value == 0) & ~empty
        status = np.where(zero, np.int8(CellStatus.zero_or_changed_to_zero), self.status)
        absent = self.absent(self.index, len(value))
        stored = (status != absent) & (absent != CellStatus.suppressed)
        index, status = self.index, status.astype(np.int8, copy=False)
        if not stored.all():
            kept = np.flatnonzero(stored)
            index = tuple(part.take(kept) for part in index)
            value, status = value.take(kept), status.take(kept)
        order = sort_cells(self.dimensions, index)[: len(value)]
        if not np.array_equal(order, np.arange(len(order))):
            index = tuple(part[order] for part in index)
            value, status = value[order], status[order]
        object.__setattr__(self, "index", index)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "status", status)

    def _check_figures(self) -> None:
        axis = len(self.figures) > 1
        names = tuple(figure.name for figure in self.figures)
        last = self.dimensions[-1] if self.dimensions else None
        if axis and (last is None or last.name != FIGURE or last.codes != names):
            raise TableError(
                "the last dimension of a table with several figures must be that of the figures",
                code="table",
                where=self.name,
                hint="create it with figure_dimension",
            )

    def described_as(self, **texts: Any) -> ProtectedTable:
        """A copy with other texts; nothing is checked or sorted again."""
        table = copy(self)
        for name, text in texts.items():
            object.__setattr__(table, name, text)
        return table

    @property
    def several_figures(self) -> bool:
        """Whether the last dimension is that of the figures."""
        return len(self.figures) > 1

    @property
    def spanning(self) -> tuple[Dimension, ...]:
        """The spanning variables, without the dimension of the figures."""
        return self.dimensions[:-1] if self.several_figures else self.dimensions

    def figure_decimals(self, position: int = 0) -> int:
        """Digits after the decimal point of one figure."""
        return self.figures[position].decimals if self.figures else self.decimals

    def absent(self, index: Sequence[PositionArray], length: int) -> npt.NDArray[np.int8]:
        """Status of cells at these places that are not stored."""
        status = np.full(length, CellStatus.zero_or_changed_to_zero, dtype=np.int8)
        if self.figures:
            summed = np.array([figure.summed for figure in self.figures])
            without = ~summed[index[-1]] if self.several_figures else ~summed[0]
            status[np.broadcast_to(without, length)] = CellStatus.not_applicable
        if self.suppressed_parts:
            status[within(self.dimensions, index, length, self.suppressed_parts)] = (
                CellStatus.suppressed
            )
        return status

    @property
    def grid_size(self) -> int:
        """Number of cells of the complete grid."""
        return CellIndex.of(self.dimensions).size

    @property
    def stored(self) -> int:
        """Number of cells that are stored."""
        return len(self.value)

    def title(self, language: str = "en") -> str:
        """The heading in `language`, else the variables' names."""
        if self.titles:
            return self.titles.get(language) or next(iter(self.titles.values()))
        joint = {"en": " by ", "de": " nach "}.get(language, " × ")
        names = [dimension.title(language) for dimension in self.spanning]
        return joint.join([names[0], ", ".join(names[1:])] if len(names) > 1 else names)

    def cells(
        self, complete: bool | None = None
    ) -> tuple[tuple[PositionArray, ...], IntArray | FloatArray, npt.NDArray[np.int8]]:
        """Positions, values and status of the cells.

        Args:
            complete: True for the whole grid with its zeros, False for the stored
                cells only, None for the grid where it has at most `COMPLETE_LIMIT`
                cells.
        """
        if complete is None:
            complete = self.grid_size <= COMPLETE_LIMIT
        if not complete:
            return self.index, self.value, self.status
        grid, size = CellIndex.of(self.dimensions), self.grid_size
        index, flat = grid.every(), grid.numbers(self.index, self.stored)
        value: Any = np.zeros(size, dtype=self.value.dtype)
        status = self.absent(index, size)
        value[flat] = self.value
        status[flat] = self.status
        known = self.known(index, size)
        return tuple(part[known] for part in index), value[known], status[known]

    def known(self, index: Sequence[PositionArray], length: int) -> npt.NDArray[np.bool_]:
        """Which cells lie on parts that the table has; all others are unknown."""
        return within(self.dimensions, index, length, self.parts)

    def to_polars(
        self,
        *,
        complete: bool | None = None,
        labels: bool | str | None = None,
        language: str | None = None,
        wide: str | None = None,
    ) -> pl.DataFrame:
        """The cells as a frame: one column per spanning variable, "value", "status".

        Suppressed and inapplicable values are null. Cells that are not listed are zero,
        have no value (means, shares, ratios) or lie on suppressed parts.

        Args:
            complete: As for `cells`.
            labels: Whether a column of labels stands beside each column of codes; a language
                is a yes, too.
            language: Language of the labels, which are there if it is given; English if None.
            wide: Name of a variable whose codes become columns of values, instead of
                "value" and "status"; with `labels` they are called by their labels.
        """
        labels = _language(labels, language)
        if wide is not None:
            return self._spread(wide, complete, labels)
        index, value, status = self.cells(complete)
        columns: dict[str, Any] = {}
        for dimension, part in zip(self.dimensions, index, strict=True):
            columns[dimension.name] = pl.Series(dimension.codes, dtype=pl.String).gather(part)
            if labels is not None:
                texts = pl.Series(dimension.labels(labels), dtype=pl.String)
                columns[f"{dimension.name}_label"] = texts.gather(part)
        shown = pl.Series(value)
        hidden = lacks_number(status)
        if bool(hidden.any()):
            shown = shown.to_frame("v").select(pl.when(pl.Series(~hidden)).then(pl.col("v")))["v"]
        columns["value"] = shown
        names = pl.Series([member.name for member in CellStatus], dtype=pl.String)
        columns["status"] = names.gather(status.astype(np.int64))
        if self.withheld is not None:
            columns.update(self.withheld.beside(self.dimensions, index, ~hidden))
        return pl.DataFrame(columns)

    def _spread(self, wide: str, complete: bool | None, labels: str | None) -> pl.DataFrame:
        """The cells with the codes of one variable side by side."""
        names = [dimension.name for dimension in self.dimensions]
        if wide not in names:
            hint = f"variables: {', '.join(names)}"
            raise TableError(f"variable {wide!r} not found", code="wide", hint=hint)
        across = self.dimensions[names.index(wide)]
        own = [f"{name}{end}" for name in names if name != wide for end in ("", "_label")]
        heads = across.codes if labels is None else across.labels(labels)
        if len({*heads, *own}) < len(heads) + len(own):
            message = f"spreading {wide!r} gives two columns the same name"
            raise TableError(message, code="wide", hint="remove labels=, or rename the variable")
        cells = self.to_polars(complete=complete, labels=labels)
        kept = [name for name in own if name in cells.columns]
        shown = cells.pivot(wide, index=kept or None, values="value", on_columns=across.codes)
        return shown.select(*kept, *across.codes).rename(
            dict(zip(across.codes, heads, strict=True))
        )

    def to_pandas(self, **options: Any) -> Any:
        """Like `to_polars`, as a pandas frame; pandas must be installed."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            message = "package pandas not found"
            raise TableError(message, code="missing-package", hint="pip install pandas") from None
        cells = self.to_polars(**options)
        return pandas.DataFrame(cells.to_dict(as_series=False), columns=cells.columns)

    def to_great_tables(self, **options: Any) -> Any:
        """The table as a `great_tables.GT`, to be styled; needs the extra `discreet[notebooks]`.

        Options are those of `discreet.publication.great_table`: `language`, `rows`, `columns`.
        """
        return rendering("great_table")(self, **options)

    def __getitem__(self, codes: str | tuple[str, ...]) -> int | float | None:
        """The published value of one cell, by codes or labels: ``safe["Bremen", "female"]``."""
        return self.get(*(codes if isinstance(codes, tuple) else (codes,)))

    def get(self, *codes: str, **named: str) -> int | float | None:
        """The published value of one cell; None if it is suppressed, unknown or has none.

        Args:
            codes: One code, or label, per spanning variable. One that is not listed is an error,
                also where codes were found in the data: it may be a slip of the pen, or hidden.
            named: The same by the names of the variables; those left out stand at their totals.
        """
        pairs = self._place(codes, named)
        match = np.ones(self.stored, dtype=np.bool_)
        for (dimension, code), part in zip(pairs, self.index, strict=True):
            match &= part == dimension.index[code]
        at = np.flatnonzero(match)
        if at.size == 0:
            places = [
                np.array([dimension.index[code]], dtype=np.int32) for dimension, code in pairs
            ]
            zero = self.absent(places, 1)[0] == CellStatus.zero_or_changed_to_zero
            return 0 if zero and self.known(places, 1)[0] else None
        if self.status[at[0]] in WITHOUT_NUMBER:
            return None
        number = self.value[at[0]].item()
        return int(number) if self.value.dtype.kind == "i" else float(number)

    def _place(self, codes: Sequence[str], named: Mapping[str, str]) -> list[tuple[Dimension, str]]:
        """The spanning variables, each with the code that is meant."""
        names = [dimension.name for dimension in self.dimensions]
        if codes and named:
            message, hint = "name a cell by codes or by variables, not both", ""
            raise TableError(message, code="cell", hint=hint)
        wrong = [name for name in named if name not in names]
        if wrong:
            hint = f"variables: {', '.join(names)}"
            raise TableError(f"variable {wrong[0]!r} not found", code="cell", hint=hint)
        if named and self.several_figures and FIGURE not in named:
            hint = f'write {FIGURE}="{self.figures[0].name}"'
            raise TableError("the table has several figures", code="cell", hint=hint)
        if not named and len(codes) != len(names):
            message = f"expected {len(names)} codes, got {len(codes)}"
            raise TableError(message, code="cell", hint=f"variables: {', '.join(names)}")
        stated = [named.get(d.name, d.total) for d in self.dimensions] if named else list(codes)
        meanings = [
            _meant(dimension, code) for dimension, code in zip(self.dimensions, stated, strict=True)
        ]
        problems = [item for item in meanings if isinstance(item, Problem)]
        raise_all(TableError, problems, code="cell", many="{} codes do not exist")
        meant = [item for item in meanings if isinstance(item, str)]
        return list(zip(self.dimensions, meant, strict=True))

    def _repr_html_(self) -> str:
        """The table as notebooks show it."""
        page: str = rendering("notebook_html")(self)
        return page

    def plot(self, kind: str | None = None, **options: Any) -> Any:
        """A picture of the figures; notebooks show it, and its `save` writes it.

        Args:
            kind: "bars", "lines", "heat map" or "pyramid"; what suits the table if None.
            options: `rows` and `columns` (names of variables), `at` (codes of the others),
                `figure` and `language`, as for `discreet.assessment.pictures.plot`.
        """
        return rendering("plot")(self, kind, **options)

    def write(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the table; the suffix chooses the format (csv, xlsx, html, parquet, json).

        Options are those of `discreet.publication.write`.
        """
        target: Path = rendering("write")(self, path, **options)
        return target

    def __len__(self) -> int:
        return self.stored

    def __repr__(self) -> str:
        names: Sequence[str] = [dimension.name for dimension in self.dimensions]
        return (
            f"<ProtectedTable {self.name}: {' × '.join(names) or 'grand total'}, "
            f"{self.grid_size:,} cells>"
        )


def _language(labels: bool | str | None, language: str | None) -> str | None:
    """The language in which labels are asked for; None for no labels."""
    if isinstance(labels, str) and language not in (None, labels):
        message = f"labels are requested in {labels!r} and in {language!r}"
        raise TableError(message, code="labels", hint="write labels=True, and one language")
    if labels is False or (labels is None and language is None):
        return None
    return labels if isinstance(labels, str) else language or "en"


def _meant(dimension: Dimension, text: str) -> str | Problem:
    """The code that is given, or the only one with that label in some language."""
    if text in dimension.index:
        return text
    every = (of for tree in dimension.classifications for of in tree.labels.values())
    matches = {
        code
        for language in sorted({"en", "de"}.union(*every))
        for code, label in zip(dimension.codes, dimension.labels(language), strict=True)
        if label == text
    }
    if len(matches) == 1:
        return matches.pop()
    if matches:
        hint = f"codes with this label: {', '.join(sorted(matches))}"
        return Problem(f"several codes have the label {text!r}", dimension.name, hint)
    hint = _listed(text, dimension.codes)
    return Problem(f"code {text!r} not found", dimension.name, hint)


def _listed(code: str, codes: Sequence[str]) -> str:
    """A hint for a code that is not listed: the nearest ones, else the first ones."""
    near = get_close_matches(str(code), codes, n=3)
    if near:
        return f"closest match: {' or '.join(repr(code) for code in near)}"
    return f"codes: {', '.join(codes[:10])}{', …' * (len(codes) > 10)}"


def without_unpublished(table: ProtectedTable) -> ProtectedTable:
    """Leave out found codes with nothing but zeros, there and on all codes below them.

    Suppressed cells stay listed: that they are unknown must be seen.
    """
    keeps = []
    for at, dimension in enumerate(table.dimensions):
        hidden = sorted({part[at] for part in table.suppressed_parts})
        unknown = np.flatnonzero(np.isin(level_numbers(dimension), hidden)).astype(np.int32)
        keeps.append(listed_codes(dimension, np.concatenate([table.index[at], unknown])))
    if all(bool(keep.all()) for keep in keeps):
        return table
    cells = np.ones(table.stored, dtype=np.bool_)
    places = [(np.cumsum(keep) - 1).astype(np.int32) for keep in keeps]
    index: list[Any] = []
    for keep, place, part in zip(keeps, places, table.index, strict=True):
        cells &= keep[part]
        index.append(place[part])
    dimensions = [
        dimension.restricted(keep) for dimension, keep in zip(table.dimensions, keeps, strict=True)
    ]
    return replace(
        table,
        dimensions=tuple(dimensions),
        index=tuple(part[cells] for part in index),
        value=table.value[cells],
        status=table.status[cells],
        withheld=None if table.withheld is None else table.withheld.renumbered(places),
    )


def listed_codes(dimension: Dimension, used: PositionArray) -> BoolArray:
    """The codes to list: stated ones, those with a figure, and what stands above them."""
    keep = ~dimension.found
    if bool(keep.all()):
        return keep
    keep[used] = True
    for level in range(int(dimension.levels.max()), 0, -1):
        here = keep & (dimension.levels == level)
        keep[dimension.parents[here]] = True
    return keep


def single_figure(table: ProtectedTable, number: int) -> ProtectedTable:
    """One of several figures of a table, by its number, as a table of its own."""
    own = table.index[-1] == number
    return replace(
        table,
        dimensions=table.dimensions[:-1],
        index=tuple(part[own] for part in table.index[:-1]),
        value=table.value[own],
        status=table.status[own],
        figures=(table.figures[number],),
        decimals=table.figures[number].decimals,
        parts=None,
        cell_notes=(),
        withheld=None,
    )
