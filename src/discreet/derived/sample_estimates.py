"""`estimate_sample`: weighted estimates from a sample, with their classes of precision.

In: the records of a sample with weights (CONFIDENTIAL), and how it was drawn: replicate weights,
or strata and sampling units. Out: a `ProtectedTable` of rounded counts, sums and shares. Each
figure has the class of its relative standard error; the worst are withheld, and so is what few
records stand behind. A cell without records cannot be told from one that is withheld.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet._version import __version__
from discreet.arrays import CellIndex, FloatArray, IntArray, PositionArray, quotient
from discreet.confidential import without_values
from discreet.derived.key_figure import KeyFigure
from discreet.errors import MicrodataError, Problem, TableError, raise_all
from discreet.files import texts_of
from discreet.microdata import parse_filter
from discreet.tables import (
    COMPLETE_LIMIT,
    CellNote,
    CellStatus,
    Dimension,
    Figure,
    Note,
    ProtectedTable,
    Provenance,
    Spanning,
    figure_dimension,
    to_polars,
)
from discreet.tabulation import tabulate

if TYPE_CHECKING:
    import polars as pl

    from discreet.tables import Table

#: What `Provenance.method` says of tables of estimates.
METHOD = "sample-estimate"

#: Names of columns that are made on the way begin like this.
_OWN = "\x00"
_UNIT = f"{_OWN}unit"
_LANGUAGES = ("en", "de")


@dataclass(frozen=True, kw_only=True)
class SampleDesign:
    """Design of a sample, for the estimation of variances.

    With replicate weights, the variance of an estimate is `factor` times the sum of the squared
    differences of the replicates from it. Without, it is that of sampling units drawn in
    strata: in a stratum of n units, (1 − fraction) · n / (n − 1) times the sum of squared
    differences of their weighted totals from the mean. Shares are linearised.

    Args:
        weight: Column of weights.
        replicates: Columns of replicate weights.
        factor: What the squared differences are multiplied by: (R − 1) / R for a jackknife of R
            replicates, 1 / R for balanced replicates.
        strata: Column of strata; one stratum if None.
        units: Column of the units drawn first (a block of dwellings); records if None.
        fraction: Column of the share of its stratum's units that was drawn; 0 if None.

    >>> SampleDesign(weight="w", strata="stratum", units="block").columns
    ('w', 'stratum', 'block')
    """

    weight: str
    replicates: Sequence[str] = ()
    factor: float | None = None
    strata: str | None = None
    units: str | None = None
    fraction: str | None = None

    def __post_init__(self) -> None:
        problems = []
        stratified = any((self.strata, self.units, self.fraction))
        if self.replicates and stratified:
            message = "replicate weights and strata exclude each other"
            problems.append(Problem(message, "replicates", "remove one of the two"))
        if bool(self.replicates) != (self.factor is not None):
            hint = "(R - 1) / R for a jackknife, 1 / R for balanced replicates"
            problems.append(Problem("replicate weights need a factor", "factor", hint))
        elif self.factor is not None and not 0 < self.factor < float("inf"):
            problems.append(Problem("the factor must be above 0", "factor"))
        if isinstance(self.replicates, str) or len(self.replicates) == 1:
            problems.append(Problem("expected a list of several columns", "replicates"))
        raise_all(TableError, problems, code="sample-design", where="design")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it needs."""
        named = (self.weight, *self.replicates, self.strata, self.units, self.fraction)
        return tuple(dict.fromkeys(column for column in named if column is not None))


@dataclass(frozen=True, kw_only=True)
class PrecisionClasses:
    """Classes of precision by relative standard error.

    Args:
        bounds: Class → its largest relative standard error, the most precise first.
        worst: The class of all others.
        bracketed: Classes whose figures stand in parentheses.
        withheld: Classes whose figures are not shown.
        min_records: Figures that fewer records stand behind are not shown either.

    >>> PrecisionClasses().text("en")
    'A up to 2 %, B up to 5 %, C up to 10 %, D up to 15 %, E above'
    """

    bounds: Mapping[str, float] = field(
        default_factory=lambda: {"A": 0.02, "B": 0.05, "C": 0.1, "D": 0.15}
    )
    worst: str = "E"
    bracketed: Sequence[str] = ("D",)
    withheld: Sequence[str] = ("E",)
    min_records: int = 5

    def __post_init__(self) -> None:
        limits = list(self.bounds.values())
        problems = []
        rising = all(a < b for a, b in pairwise(limits))
        if not limits or not rising or not all(0 < limit < 1 for limit in limits):
            message = "the bounds must be increasing shares above 0"
            problems.append(Problem(message, "bounds", "{ A = 0.02, B = 0.05 }"))
        if self.worst in self.bounds:
            problems.append(Problem("the worst class must not have a bound", "worst"))
        for name in ("bracketed", "withheld"):
            wrong = [item for item in getattr(self, name) if item not in self.names]
            if wrong:
                problems.append(Problem(f"unknown class {wrong[0]!r}", name))
        if set(self.bracketed) & set(self.withheld):
            problems.append(Problem("a class can be bracketed or withheld, not both", "withheld"))
        if not isinstance(self.min_records, int) or self.min_records < 1:
            problems.append(Problem("must be a whole number of at least 1", "min_records"))
        raise_all(TableError, problems, code="precision-classes", where="classes")

    @property
    def names(self) -> tuple[str, ...]:
        """The classes, the most precise first."""
        return (*self.bounds, self.worst)

    def of(self, error: FloatArray) -> IntArray:
        """The number of the class of each relative standard error."""
        limits = np.array(list(self.bounds.values()))
        return np.searchsorted(limits, np.where(np.isnan(error), np.inf, error), side="left")

    def text(self, language: str) -> str:
        """The classes with their bounds."""
        words = texts_of("discreet.derived", "precision", language)
        bounds = [
            words["up to"].format(name, f"{100 * bound:g}".replace(".", words["decimal mark"]))
            for name, bound in self.bounds.items()
        ]
        return ", ".join([*bounds, words["above"].format(self.worst)])

    def note(self, number: int) -> Note:
        """The note on figures of a precision class."""
        name = self.names[number]
        return Note(
            f"precision-{name}",
            {
                item: texts_of("discreet.derived", "precision", item)["class"].format(name)
                for item in _LANGUAGES
            },
        )


@without_values
def estimate_sample(
    records: Any,
    by: Sequence[Spanning],
    design: SampleDesign,
    *,
    figures: Sequence[KeyFigure] = (),
    filters: Mapping[str, str] | None = None,
    classes: PrecisionClasses | None = None,
    round_to: int = 10,
    where: str = "",
    name: str = "table",
    digests: Mapping[str, str] | None = None,
) -> ProtectedTable:
    """Estimate figures of a population from a sample.

    Args:
        records: The records of the sample, all of them.
        by: The spanning variables.
        design: How the sample was drawn.
        figures: Counts, sums and shares; the weighted count if there are none. Shares are made of
            rounded figures, by `part` and `whole` or `over`.
        filters: Name of a counted figure → which records it counts.
        classes: Classes of precision.
        round_to: Counts and sums become multiples of this.
        where: Which records all figures are about.
        name: Name of the table.
        digests: name → keyed digest, added to the provenance.

    >>> import polars as pl
    >>> sample = pl.DataFrame({"sex": ["m", "w"] * 400, "w": [100.0] * 800})
    >>> safe = estimate_sample(sample, ["sex"], SampleDesign(weight="w"))
    >>> safe.get("Total"), safe.get("m")
    (80000, 40000)
    >>> safe.cell_notes[1].note.text()
    'Precision class B.'
    """
    wanted = list(figures) or [KeyFigure(name="count", kind="count")]
    _check(wanted, round_to)
    frame = to_polars(records)
    if not frame.height:
        raise MicrodataError("the sample has no records", code="no-data", where="records")
    sample = _Sample(frame, tuple(by), design, wanted, dict(filters or {}), where, name)
    return _Published(sample, classes or PrecisionClasses(), round_to).table(digests or {})


def _check(figures: Sequence[KeyFigure], round_to: int) -> None:
    known = {item.name for item in figures}
    problems = []
    for figure in figures:
        if figure.kind not in ("count", "sum", "share"):
            message = f"samples support counts, sums and shares, not {figure.kind}"
            problems.append(Problem(message, figure.name))
        problems += [
            Problem(f"no key figure given {part!r}", figure.name)
            for part in (figure.part, figure.whole)
            if part and part not in known
        ]
    if isinstance(round_to, bool) or not isinstance(round_to, int) or round_to < 1:
        problems.append(Problem("must be a whole number of at least 1", "round_to"))
    raise_all(TableError, problems, code="sample-figures", where="figures")


class _Sample:
    """Estimates and their variances, cell by cell. CONFIDENTIAL."""

    def __init__(
        self,
        frame: pl.DataFrame,
        by: Sequence[Spanning],
        design: SampleDesign,
        figures: Sequence[KeyFigure],
        filters: Mapping[str, str],
        where: str,
        name: str,
    ) -> None:
        self.frame, self.by, self.design, self.name = frame, list(by), design, name
        self.figures = figures
        self.counted = [figure for figure in figures if figure.kind != "share"]
        self.where = where
        self._check_columns(filters)
        self._prepare(filters)

    def _check_columns(self, filters: Mapping[str, str]) -> None:
        """Raise for columns that are missing, or hold no weights."""
        import polars as pl

        values = [entry.of or entry.name for entry in self.counted if entry.kind == "sum"]
        wanted = [*self.design.columns, *values]
        for text in (self.where, *filters.values()):
            wanted += sorted(parse_filter(text).columns) if text else []
        missing = [entry for entry in dict.fromkeys(wanted) if entry not in self.frame.columns]
        problems = [Problem(f"column {entry!r} not found", entry) for entry in missing]
        weights = [self.design.weight, *self.design.replicates]
        for item in [*weights, *values]:
            if item in missing:
                continue
            column = self.frame[item]
            if not column.dtype.is_numeric() or (
                item in weights
                and int((~column.cast(pl.Float64).is_finite()).fill_null(True).sum())
            ):
                problems.append(Problem("every record needs a number", item))
            elif item == self.design.weight and bool((column < 0).any()):
                problems.append(Problem("weights must not be negative", item))
        raise_all(MicrodataError, problems, code="sample-columns", where=self.name)

    def _prepare(self, filters: Mapping[str, str]) -> None:
        """Columns of contributions: indicator, weighted value, and its replicates."""
        import narwhals as nw
        import polars as pl

        design = self.design
        frame = nw.from_native(self.frame)
        for item in self.counted:
            texts = [text for text in (self.where, filters.get(item.name, "")) if text]
            passing = nw.lit(True)
            for text in texts:
                passing = passing & parse_filter(text).to_narwhals(frame.schema)
            frame = frame.with_columns(passing.fill_null(False).alias(_column(item, "in")))
        native: pl.DataFrame = frame.to_native()
        columns: list[pl.Expr] = []
        for item in self.counted:
            inside = pl.col(_column(item, "in"))
            value = pl.lit(1.0)
            if item.kind == "sum":
                value = pl.col(item.of or item.name).cast(pl.Float64)
                inside = inside & value.is_not_null()
                value = value.fill_null(0.0)
            weights = {"w": design.weight} | {f"w{r}": c for r, c in enumerate(design.replicates)}
            columns.append(inside.cast(pl.Float64).alias(_column(item, "n")))
            columns += [
                pl.when(inside)
                .then(pl.col(column).cast(pl.Float64) * value)
                .otherwise(0.0)
                .alias(_column(item, key))
                for key, column in weights.items()
            ]
        self.frame = native.with_columns(columns)

    @cached_property
    def table(self) -> Table:
        """Sums of all contributions, in every cell with records."""
        keys = ["n", "w", *(f"w{r}" for r in range(len(self.design.replicates)))]
        return tabulate(
            self.frame,
            self.by,
            values=[_column(item, key) for item in self.counted for key in keys],
            name=self.name,
        )

    @property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The spanning variables."""
        return self.table.dimensions

    def sums(self, figure: KeyFigure, key: str) -> FloatArray:
        """A sum of contributions in every cell."""
        return np.asarray(self.table.sums[_column(figure, key)], dtype=np.float64)

    def parts(self, figure: KeyFigure) -> tuple[KeyFigure, KeyFigure, PositionArray]:
        """The counted figures that a share is made of, and where its whole stands."""
        counted = {item.name: item for item in self.counted}
        part, whole = counted[figure.part], counted[figure.whole or figure.part]
        at = np.arange(len(self.table.count))
        if figure.over:
            names = [dimension.name for dimension in self.dimensions]
            index = [
                np.zeros_like(part) if name in figure.over else part
                for name, part in zip(names, self.table.index, strict=True)
            ]
            lengths = (len(at), len(at))
            at = CellIndex.of(self.dimensions).find(self.table.index, index, lengths)
        return part, whole, at.astype(np.int32)

    def variance(self, figure: KeyFigure) -> FloatArray:
        """The variance of a figure in every cell."""
        if self.design.replicates:
            return self._replicated(figure)
        if figure.kind != "share":
            return self._stratified(self._units(figure).rename({"z": "total"}))
        return self._stratified(self._linearised(figure))

    def _replicated(self, figure: KeyFigure) -> FloatArray:
        assert self.design.factor is not None
        squares: FloatArray = np.zeros(len(self.table.count))
        if figure.kind != "share":
            whole = self.sums(figure, "w")
            for r in range(len(self.design.replicates)):
                squares += (self.sums(figure, f"w{r}") - whole) ** 2
            return squares * self.design.factor
        part, base, at = self.parts(figure)
        share = quotient(self.sums(part, "w"), self.sums(base, "w")[at])
        for r in range(len(self.design.replicates)):
            below = self.sums(base, f"w{r}")[at]
            replicate = np.divide(
                self.sums(part, f"w{r}"), below, out=np.full(len(at), np.nan), where=below != 0
            )
            squares += (replicate - share) ** 2
        return squares * self.design.factor

    # -- strata and units ------------------------------------------------------------

    @cached_property
    def _drawn(self) -> pl.DataFrame:
        """Each unit once: stratum, number of units in it, what its variance is multiplied by."""
        import polars as pl

        design = self.design
        stratum = pl.col(design.strata) if design.strata else pl.lit(0)
        fraction = pl.col(design.fraction).cast(pl.Float64) if design.fraction else pl.lit(0.0)
        drawn = self._numbered.select(
            pl.col(_UNIT), stratum.alias("stratum"), fraction.alias("fraction")
        ).unique(maintain_order=True)
        if drawn[_UNIT].n_unique() < drawn.height:
            message = "a unit is in two strata, or has two sampling fractions"
            raise MicrodataError(message, code="sample-design", where=design.units or "fraction")
        if bool((~drawn["fraction"].is_between(0, 1)).fill_null(True).any()):
            message = "sampling fractions must be from 0 to 1"
            raise MicrodataError(message, code="sample-design", where=design.fraction or "")
        drawn = drawn.with_columns(pl.len().over("stratum").alias("units"))
        alone = drawn.filter((pl.col("units") == 1) & (pl.col("fraction") < 1))
        if alone.height:
            raise MicrodataError(
                f"{alone.height:,} strata have a single unit: their variance is unknown",
                code="sample-design",
                where=design.strata or self.name,
                hint="merge them with similar strata, or set fraction = 1 for complete strata",
            )
        return drawn

    @cached_property
    def _numbered(self) -> pl.DataFrame:
        """The records with the number of their unit."""
        import polars as pl

        if self.design.units is None:
            return self.frame.with_row_index(_UNIT).with_columns(pl.col(_UNIT).cast(pl.Int64))
        named = [item for item in (self.design.strata, self.design.units) if item is not None]
        rank = pl.struct(named).rank("dense").cast(pl.Int64)
        return self.frame.with_columns(rank.alias(_UNIT))

    @cached_property
    def _by_unit(self) -> Table:
        """The sums of contributions of every unit in every cell."""
        trees: list[Spanning] = [list(dimension.classifications) for dimension in self.dimensions]
        named = self._numbered.rename({_UNIT: "sampling unit"})
        return tabulate(
            named, [*trees, "sampling unit"], values=[_column(item, "w") for item in self.counted]
        )

    def _units(self, figure: KeyFigure) -> pl.DataFrame:
        """Rows of cell, unit and its weighted total, in a fixed order."""
        import polars as pl

        table = self._by_unit
        rows = table.index[-1] > 0
        index = [part[rows] for part in table.index[:-1]]
        lengths = (len(self.table.count), int(rows.sum()))
        cells = CellIndex.of(self.dimensions).find(self.table.index, index, lengths)
        codes = np.array([-1, *map(int, table.dimensions[-1].codes[1:])], dtype=np.int64)
        return pl.DataFrame(
            {
                "cell": cells,
                _UNIT: codes[table.index[-1][rows]],
                "z": np.asarray(table.sums[_column(figure, "w")])[rows],
            }
        ).sort("cell", _UNIT)

    def _linearised(self, figure: KeyFigure) -> pl.DataFrame:
        """Rows of cell, unit, and what the unit contributes to the share, linearised."""
        import polars as pl

        part, base, at = self.parts(figure)
        below = self.sums(base, "w")[at]
        share = quotient(self.sums(part, "w"), below)
        cells = pl.DataFrame(
            {
                "cell": np.arange(len(at), dtype=np.int64),
                "whole": at.astype(np.int64),
                "share": share,
                "below": below,
            }
        ).filter(pl.col("below") > 0)
        of_whole = self._units(base).rename({"cell": "whole", "z": "base"})
        rows = cells.select("cell", "whole").join(of_whole, on="whole").drop("whole")
        rows = rows.join(self._units(part), on=["cell", _UNIT], how="full", coalesce=True)
        rows = rows.join(cells.select("cell", "share", "below"), on="cell")
        total = (pl.col("z").fill_null(0) - pl.col("share") * pl.col("base").fill_null(0)) / pl.col(
            "below"
        )
        return rows.select("cell", _UNIT, total.alias("total")).sort("cell", _UNIT)

    def _stratified(self, rows: pl.DataFrame) -> FloatArray:
        """The variance of sums over units, of units that were drawn in strata."""
        import polars as pl

        n, total = pl.col("units"), pl.col("total")
        scale = (1 - pl.col("fraction")) * n / pl.when(n > 1).then(n - 1).otherwise(1)
        strata = (
            rows.join(self._drawn, on=_UNIT, maintain_order="left")
            .group_by("cell", "stratum", maintain_order=True)
            .agg(
                (total**2).sum().alias("squares"),
                total.sum().alias("sum"),
                n.first(),
                pl.col("fraction").first(),
            )
        )
        spread = (pl.col("squares") - pl.col("sum") ** 2 / n).clip(lower_bound=0.0)
        frame = strata.with_columns((scale * spread).alias("variance"))
        variance: FloatArray = np.zeros(len(self.table.count))
        np.add.at(variance, frame["cell"].to_numpy(), frame["variance"].to_numpy())
        return variance


def _column(figure: KeyFigure, key: str) -> str:
    return f"{_OWN}{figure.name}{_OWN}{key}"


class _Published:
    """What is shown of estimates."""

    def __init__(self, sample: _Sample, classes: PrecisionClasses, round_to: int) -> None:
        self.sample, self.classes, self.round_to = sample, classes, round_to
        self.shown = [figure for figure in sample.figures if not figure.hidden]
        sizes = CellIndex.of(sample.dimensions)
        if sizes.size * len(self.shown) > COMPLETE_LIMIT:
            raise TableError(
                f"a table of estimates can have at most {COMPLETE_LIMIT:,} cells",
                code="too-large",
                where=sample.name,
                hint="use fewer variables or levels; withheld cells are listed one by one",
            )

    def table(self, digests: Mapping[str, str]) -> ProtectedTable:
        """The protected table."""
        sample = self.sample
        several = len(self.shown) > 1
        figures = [self._described(item) for item in self.shown]
        dimensions = (*sample.dimensions, *([figure_dimension(figures)] if several else []))
        grid = CellIndex.of(dimensions)
        index = tuple(grid.every()) if dimensions else ()
        value: FloatArray = np.zeros(grid.size)
        status = np.full(grid.size, CellStatus.imprecise, dtype=np.int8)
        notes: list[CellNote] = []
        said = [self.classes.note(number) for number in range(len(self.classes.names))]
        for number, figure in enumerate(self.shown):
            own = [np.full(len(sample.table.count), number, dtype=np.int32)] if several else []
            places = grid.numbers([*sample.table.index, *own], len(sample.table.count))
            value[places], status[places], kinds = self._cells(figure)
            codes = [dimension.codes for dimension in dimensions]
            cells = [*sample.table.index, *own]
            for cell in np.flatnonzero(kinds >= 0).tolist():  # the class of each that is shown
                names = tuple(of[part[cell]] for of, part in zip(codes, cells, strict=True))
                notes.append(CellNote(names, said[int(kinds[cell])]))
        remark = {
            item: texts_of("discreet.derived", "precision", item)["statement"].format(
                self.round_to, self.classes.text(item)
            )
            for item in _LANGUAGES
        }
        whole = bool(np.all(value == np.round(value))) and all(f.decimals == 0 for f in figures)
        return ProtectedTable(
            dimensions=dimensions,
            index=index,
            value=value.astype(np.int64) if whole else value,
            status=status,
            provenance=Provenance(version=__version__, method=METHOD, digests=dict(digests)),
            name=sample.name,
            figures=tuple(figures) if several or figures[0].kind != "count" else (),
            notes=(Note(METHOD, remark),),
            cell_notes=tuple(notes),
        )

    def _described(self, figure: KeyFigure) -> Figure:
        decimals = (
            0 if figure.kind != "share" else 1 if figure.decimals is None else figure.decimals
        )
        return Figure(
            name=figure.name,
            kind=figure.kind,
            titles=figure.titles,
            unit=figure.units,
            decimals=decimals,
        )

    def _rounded(self, figure: KeyFigure) -> FloatArray:
        """Estimates of a counted figure, as multiples; halves go away from zero."""
        plain = self.sample.sums(figure, "w")
        steps = np.floor(np.abs(plain) / self.round_to + 0.5)
        return np.asarray(np.sign(plain) * steps * self.round_to, dtype=np.float64)

    def _cells(self, figure: KeyFigure) -> tuple[FloatArray, Any, IntArray]:
        """Values, states and numbers of classes of a figure; -1 for what is not shown."""
        sample, classes = self.sample, self.classes
        if figure.kind == "share":
            part, whole, at = sample.parts(figure)
            exact = quotient(sample.sums(part, "w"), sample.sums(whole, "w")[at])
            shown = quotient(self._rounded(part), self._rounded(whole)[at])
            decimals = self._described(figure).decimals
            value = np.round(100 * np.clip(shown, 0, 1), decimals)
            records = np.minimum(sample.sums(part, "n"), sample.sums(whole, "n")[at])
        else:
            exact, value = sample.sums(figure, "w"), self._rounded(figure)
            records = sample.sums(figure, "n")
        deviation = np.sqrt(sample.variance(figure))
        error = np.divide(
            deviation, np.abs(exact), out=np.full(len(exact), np.inf), where=exact != 0
        )
        kinds = classes.of(error)
        names = np.array(classes.names)[kinds]
        status = np.full(len(exact), CellStatus.published, dtype=np.int8)
        status[np.isin(names, list(classes.bracketed))] = CellStatus.bracketed
        few = (records < classes.min_records) | (value == 0)
        status[np.isin(names, list(classes.withheld)) | few] = CellStatus.imprecise
        kinds = np.where(status == CellStatus.imprecise, -1, kinds)
        return np.where(status == CellStatus.imprecise, 0, value), status, kinds
