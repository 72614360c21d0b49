"""The estimation sample of a model and its columns. CONFIDENTIAL.

In: columns of records; words as a researcher writes them (`age i.sex ib3.region#c.age`; `##` is
written out). Out: `Sample`: rows without missing values, as arrays, and what was left out; and
`ModelDesign`, which gives any rows of its columns without holding all of them at once, knows base
levels and empty cells, and names columns as Stata does.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.errors import OutputCheckError
from discreet_fire.statistics.grouped_values import EntityNumbers
from discreet_fire.statistics.records import coded

Weight = Literal["aweight", "fweight", "pweight"]
#: Columns with larger numbers are refused, since their squares could leave the range of floats; and
#: with smaller ones than one over it.
FARTHEST = 1e100


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SampleTrace:
    """Stored trace of a sample. CONFIDENTIAL: a digest of the entity of each row, or of all its
    values, and the columns that these are made of.
    """

    traces: npt.NDArray[np.uint64]
    traced: tuple[str, ...]

    def apart(self, other: SampleTrace) -> int:
        """Least number of cases that only one of the two has."""
        if self.traced != other.traced:
            return abs(len(self.traces) - len(other.traces))
        sign = np.repeat([1, -1], [len(self.traces), len(other.traces)])
        _, places = np.unique(np.concatenate([self.traces, other.traces]), return_inverse=True)
        return int(np.count_nonzero(np.bincount(places, sign)))


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Sample:
    """Rows that enter the estimation. CONFIDENTIAL.

    Numbers are variables taken as such, groups those taken as codes of levels, which are sorted.
    Entities and clusters are numbered from 0; without entities every row is a case. Of `left_out`
    cases at least one row was left out.
    """

    outcome: FloatArray
    numbers: Mapping[str, FloatArray]
    groups: Mapping[str, IntArray]
    levels: Mapping[str, tuple[Any, ...]]
    entities: IntArray | None
    weights: FloatArray | None
    clusters: IntArray | None
    left_out: int
    trace: SampleTrace

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def cases(self) -> int:
        """Entities, or rows if every row is a case."""
        return len(self) if self.entities is None else int(self.entities.max(initial=-1)) + 1

    def only(self, rows: BoolArray) -> Sample:
        """A part of the sample; levels that do not occur in it are gone."""
        places = {
            name: np.unique(codes[rows], return_inverse=True) for name, codes in self.groups.items()
        }
        return replace(
            self,
            outcome=self.outcome[rows],
            numbers={name: values[rows] for name, values in self.numbers.items()},
            groups={name: codes.astype(np.int64) for name, (_, codes) in places.items()},
            levels={
                name: tuple(self.levels[name][place] for place in kept)
                for name, (kept, _) in places.items()
            },
            entities=None if self.entities is None else EntityNumbers.of(self.entities[rows]).who,
            weights=None if self.weights is None else self.weights[rows],
            clusters=None if self.clusters is None else EntityNumbers.of(self.clusters[rows]).who,
            trace=replace(self.trace, traces=self.trace.traces[rows]),
        )

    @cached_property
    def numbering(self) -> EntityNumbers:
        """The entities, numbered."""
        assert self.entities is not None
        return EntityNumbers.of(self.entities)

    def cases_where(self, rows: BoolArray) -> int:
        """Cases with at least one of these rows."""
        if self.entities is None:
            return int(rows.sum())
        there = np.zeros(self.cases, dtype=np.bool_)
        there[self.entities[rows]] = True
        return int(there.sum())


def levels_of(series: pl.Series) -> tuple[tuple[Any, ...], IntArray]:
    """Levels in order, and codes from 0 for them."""
    kind = series.dtype
    if (not kind.is_integer() and kind.is_numeric()) or kind in (pl.Boolean, pl.UInt64, pl.Int128):
        whole = series.cast(pl.Float64)
        far = (whole.abs() > 2.0**53).any()
        if far or (whole != whole.round()).any():
            message = "factor variables may not contain values that are not whole numbers"
            message = "whole numbers are too large" if far else message
            hint = f"write c.{series.name} to take them as numbers"
            raise OutputCheckError(message, code="factor-values", where=series.name, hint=hint)
        series = whole.cast(pl.Int64)
    elif kind in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    elif not (kind.is_integer() or kind == pl.String):
        message = f"type {kind} cannot be a factor variable"
        raise OutputCheckError(message, code="column-type", where=series.name)
    if series.dtype != pl.String and (series < 0).any():
        message = "factor variables may not contain negative values"
        raise OutputCheckError(message, code="factor-values", where=series.name)
    levels, codes = coded(series, series.name)
    return tuple(levels), codes


_NAME = r"[^\W\d]\w*"
_FACTOR = re.compile(
    rf"(?:(?P<kind>c|i|i\(\s*(?P<some>\d+(?:\s+\d+)*)\s*\)|i(?P<one>\d+)"
    rf"|i?b(?P<base>\d+|n|\(\s*(?:first|last|freq|none)\s*\)))\.)?(?P<name>{_NAME})"
)
_WORD = re.compile(r"(?:\([^()]*\)|[^\s()])+")
#: Levels without an indicator of their own, by how they are written.
_Base = Literal["first", "last", "freq", "none"]
_BASES: dict[str, _Base] = {one: one for one in get_args(_Base)} | {"n": "none"}


@dataclass(frozen=True, kw_only=True)
class Factor:
    """One variable in a term."""

    name: str  # the variable
    levels: bool  # whether it stands for indicators of its levels (`i.`), else for its numbers
    #: Level without an indicator of its own: "first", "last", "freq", "none" or a number
    base: _Base | int = "first"
    only: tuple[int, ...] = ()  # indicators of these levels only (`i(2 3).x`); empty for all


@dataclass(frozen=True)
class Term:
    """A product of factors; `text` is how it is written."""

    factors: tuple[Factor, ...]

    @property
    def text(self) -> str:
        """The term with a prefix at each variable.

        >>> parse_terms(["sex#c.age"])[0].text
        'i.sex#c.age'
        """
        if len(self.factors) == 1 and not self.factors[0].levels:
            return self.factors[0].name
        return "#".join(f"{'i' if part.levels else 'c'}.{part.name}" for part in self.factors)

    @property
    def names(self) -> tuple[tuple[str, bool], ...]:
        """Variables and kinds in an order of their own, to compare terms with."""
        return tuple(sorted((part.name, part.levels) for part in self.factors))

    @property
    def only(self) -> list[tuple[str, tuple[int, ...]]]:
        """The levels that each variable is limited to."""
        return sorted((part.name, tuple(sorted(set(part.only)))) for part in self.factors)


def parse_terms(terms: str | Sequence[str]) -> tuple[Term, ...]:
    """Terms from one text, or one word each.

    >>> [term.text for term in parse_terms("age ib3.region##c.age")]
    ['age', 'i.region', 'i.region#c.age']
    """
    parts = [terms] if isinstance(terms, str) else list(terms)
    if not all(isinstance(part, str) for part in parts):
        raise _wrong("terms are texts", "", hint='for example ["age", "i.sex"]')
    by_names: dict[tuple[tuple[str, bool], ...], Term] = {}
    for part in parts:
        if re.sub(_WORD, "", part).strip():
            raise _wrong("the brackets do not match", part.strip())
        pairs = ((word, term) for word in _WORD.findall(part) for term in _written_out(word))
        for word, term in pairs:
            # A continuous variable is the same with and without its prefix.
            known = by_names.setdefault(term.names, term)
            if known.only != term.only:
                hint = "name all levels in one place: i(1 2 3).x"
                raise _wrong("the same term stands twice, with different levels", word, hint)
    return tuple(by_names.values())


def _written_out(word: str) -> list[Term]:
    pieces = re.split(r"#+", word)
    marks = set(re.findall(r"#+", word))
    if len(marks) > 1 or any(len(mark) > 2 for mark in marks) or "" in pieces:
        hint = "a#b is the product, a##b stands for a b a#b; write mixtures out"
        raise _wrong("this product is not understood", word, hint=hint)
    factors = [_factor(piece, word, product=len(pieces) > 1) for piece in pieces]
    if marks != {"##"}:
        return [Term(tuple(factors))]
    sizes = range(1, len(factors) + 1)
    return [Term(some) for size in sizes for some in itertools.combinations(factors, size)]


def _factor(piece: str, word: str, *, product: bool) -> Factor:
    match = _FACTOR.fullmatch(piece)
    if match is None:
        hint = "known: x, c.x, i.x, ib3.x, ib(last).x, ibn.x, i(1 2).x, i.x#c.z and i.x##c.z; "
        raise _wrong("this term is not understood", word, hint + "no time series operators")
    kind, name = match["kind"], match["name"]
    if kind == "c" or (kind is None and not product):
        return Factor(name=name, levels=False)
    base = (match["base"] or "first").strip("( )")
    only = tuple(int(level) for level in (match["some"] or match["one"] or "").split())
    if only:
        return Factor(name=name, levels=True, base="none", only=only)
    known = int(base) if base.isdigit() else _BASES[base]
    return Factor(name=name, levels=True, base=known)


def _wrong(message: str, where: str, hint: str = "") -> OutputCheckError:
    return OutputCheckError(message, code="terms", where=where, hint=hint)


Rows = slice | IntArray

#: Most columns of one model.
MOST_COLUMNS = 800


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Column:
    """One coefficient-to-be. CONFIDENTIAL.

    Its label is as in Stata (`2.sex#c.age`); its row of the table is below the name of the term.
    Numbers are multiplied; an indicator is of one of the cells. The shift is taken off all values,
    which the constant absorbs. "base" levels and "empty" cells have no coefficient.
    """

    label: str
    row: str
    term: int
    numbers: tuple[FloatArray, ...] = ()
    cells: IntArray | None = None
    cell: int = 0
    state: str = "estimated"
    shift: float = 0.0

    def values(self, rows: Rows) -> FloatArray:
        """The column for some rows, not shifted."""
        product: FloatArray | None = None
        if self.cells is not None:
            product = (self.cells[rows] == self.cell).astype(np.float64)
        for number in self.numbers:
            product = number[rows] if product is None else product * number[rows]
        assert product is not None
        return product


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Partition:
    """Rows put into cells by the levels of one term, and what these are called. CONFIDENTIAL."""

    text: str
    codes: IntArray
    cells: int
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ModelDesign:
    """All columns of a model in the order of the table, with base levels and empty cells.
    CONFIDENTIAL.

    Partitions are the cells of every term with levels, and of variables with two values.
    """

    terms: tuple[Term, ...]
    columns: tuple[Column, ...]
    constant: bool
    partitions: tuple[Partition, ...]
    size: int

    @cached_property
    def estimated(self) -> tuple[Column, ...]:
        """The columns that have coefficients."""
        return tuple(column for column in self.columns if column.state == "estimated")

    def block(self, rows: Rows) -> FloatArray:
        """The estimated columns for some rows, shifted; the constant is not among them."""
        number = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        block = np.empty((number, len(self.estimated)), order="F")
        for place, column in enumerate(self.estimated):
            np.subtract(column.values(rows), column.shift, out=block[:, place])
        return block

    @property
    def shifts(self) -> FloatArray:
        """Shift of each column."""
        return np.array([column.shift for column in self.estimated], dtype=np.float64)


def design_of(terms: Sequence[Term], sample: Sample, *, constant: bool) -> ModelDesign:
    """Spell the terms out for a sample."""
    known = {term.names for term in terms}
    columns: list[Column] = []
    partitions: list[Partition] = []
    of_two: list[Partition] = []
    for place, term in enumerate(terms):
        spelled, partition = _spelled(term, place, sample, known, constant)
        partitions += [] if partition is None else [partition]
        for column in spelled:
            if column.cells is None:
                values = column.values(slice(0, None))
                two = upper_of_two(values)
                if two is not None and not two.all():
                    labels = (f"{values.min():g}", f"{values.max():g}")
                    of_two.append(Partition(text=column.label, codes=two, cells=2, labels=labels))
                # Numbers far from 0 are taken relative to the middle of their range.
                low, high = float(values.min()), float(values.max())
                middle = float(math.floor((low + high) / 2.0))
                far = constant and low * high > 0.0 and abs(middle) > high - low
                column = replace(column, shift=middle if far else 0.0)
            columns.append(column)
        if len(columns) > MOST_COLUMNS:
            raise _too_many(term)
    return ModelDesign(
        terms=tuple(terms),
        columns=tuple(columns),
        constant=constant,
        partitions=(*partitions, *of_two),
        size=len(sample),
    )


def _too_many(term: Term) -> OutputCheckError:
    message = f"the model has more than {MOST_COLUMNS} columns"
    hint = "group the levels, or absorb them"
    return OutputCheckError(message, code="columns", where=term.text, hint=hint)


def _spelled(
    term: Term, place: int, sample: Sample, known: set[tuple[tuple[str, bool], ...]], constant: bool
) -> tuple[list[Column], Partition | None]:
    """The columns of one term, and its cells."""
    groups = [part for part in term.factors if part.levels]
    numbers = tuple(sample.numbers[part.name] for part in term.factors if not part.levels)
    if not groups:
        column = Column(label=term.text, row=term.text, term=place, numbers=numbers)
        return [column], None
    several = [sample.levels[part.name] for part in groups]
    sizes = list(map(len, several))
    if math.prod(sizes) > MOST_COLUMNS:
        raise _too_many(term)
    codes = CellIndex(tuple(sizes)).numbers([sample.groups[part.name] for part in groups])
    occupied = np.bincount(codes, minlength=math.prod(sizes)) > 0
    bases = [_base(part, sample) for part in groups]
    wanted = [
        {_place(level, part, own) for level in part.only} or set(range(len(own)))
        for part, own in zip(groups, several, strict=True)
    ]
    columns = []
    for cell, levels in enumerate(itertools.product(*map(range, sizes))):
        if not all(level in some for level, some in zip(levels, wanted, strict=True)):
            continue
        at_base = [
            part for part, level, base in zip(groups, levels, bases, strict=True) if level == base
        ]
        # A column at base levels may be a sum of columns of shorter terms of the model.
        redundant = bool(at_base) and len(term.factors) == 1
        for size in range(1, len(at_base) + 1):
            for left in itertools.combinations(at_base, size):
                rest = Term(tuple(part for part in term.factors if part not in left))
                redundant |= rest.names in known or (not rest.factors and constant)
        state = "base" if redundant else "estimated" if occupied[cell] else "empty"
        names = [own[level] for own, level in zip(several, levels, strict=True)]
        named = dict(zip(groups, names, strict=True))
        label = "#".join(
            f"{named[p]}.{p.name}" if p.levels else f"c.{p.name}" for p in term.factors
        )
        columns.append(
            Column(
                label=label,
                row=" ".join(str(name) for name in names),
                term=place,
                numbers=numbers,
                cells=codes,
                cell=cell,
                state=state,
            )
        )
    text = "#".join(f"i.{part.name}" for part in groups)
    labels = tuple(column.row for column in columns)
    if len(columns) < len(occupied):
        # Levels that were not asked for are one cell together.
        places = np.zeros(len(occupied), dtype=np.int64)
        places[[column.cell for column in columns]] = np.arange(1, len(columns) + 1)
        labels, codes = ("other levels", *labels), places[codes]
    return columns, Partition(text=text, codes=codes, cells=len(labels), labels=labels)


def _base(part: Factor, sample: Sample) -> int | None:
    levels = sample.levels[part.name]
    if part.base == "none":
        return None
    if part.base in ("first", "last"):
        return 0 if part.base == "first" else len(levels) - 1
    if part.base == "freq":
        return int(np.argmax(np.bincount(sample.groups[part.name])))
    return _place(part.base, part, levels)


def _place(level: Any, part: Factor, levels: tuple[Any, ...]) -> int:
    if level not in levels:
        message = "the level asked for is not in the estimation sample"
        raise OutputCheckError(message, code="factor-level", where=part.name)
    return levels.index(level)


def upper_of_two(values: FloatArray) -> IntArray | None:
    """Which of two values each is; None if there are more."""
    low, high = values.min(), values.max()
    upper = values == high
    return upper.astype(np.int64) if np.all(upper | (values == low)) else None
