"""The data in memory of a run: variables with types, labels and formats. CONFIDENTIAL.

In: columns; for two data sets made one, those in memory ("master"), others ("using") and
pairs of row numbers, −1 where one side has no row. Out: `DataSet`, which keeps its variables in
order, finds them by abbreviation, wildcard and range, and gives them to polars and back; its
groups under `by` and `bysort`; one data set of two, with the types and labels of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import CellIndex, FloatArray, IntArray, TextArray
from discreet_fire.runners.builtin.language.errors import DoError, present, required
from discreet_fire.runners.builtin.language.scope import ByGroups
from discreet_fire.runners.builtin.language.values import (
    MISSING,
    NUMBER_TYPES,
    STR_MAX,
    WHOLE,
    text_column,
    text_width,
    with_nulls,
)

NAME = re.compile(r"[A-Za-z_\u00a1-\uffff][A-Za-z0-9_\u00a1-\uffff]{0,31}\Z")
_RESERVED = frozenset(
    ("_all", "_b", "_coef", "_cons", "_n", "_N", "_pi", "_pred", "_rc", "_skip", "byte", "double",
     "float", "if", "in", "int", "long", "using", "with")
)  # fmt: skip


#: Instead of a source: it is the observation's own value; or a figure of many.
OWN, MANY = -2, -3


@dataclass(frozen=True, repr=False, eq=False)
class DataVariable:
    """One variable (confidential): numbers (missing ones as large numbers) or texts.

    Its kind is byte, int, long, float, double, str# or strL; an empty layout is the default one.
    Where values were copied from other observations, `sources` say whose each is, once for each
    way they came.
    """

    values: FloatArray | TextArray
    kind: str = "float"
    layout: str = ""
    label: str = ""
    value_label: str = ""
    sources: tuple[IntArray, ...] = ()

    def __post_init__(self) -> None:
        assert all(len(one) == len(self.values) for one in self.sources)

    @property
    def is_text(self) -> bool:
        """Whether it holds texts."""
        return self.kind.startswith("str")

    @property
    def format(self) -> str:
        """Its display format."""
        if self.layout:
            return self.layout
        if self.is_text:
            return f"%{max(9, int(self.kind[3:] or 9) if self.kind != 'strL' else 9)}s"
        widths = {"byte": "%8.0g", "int": "%8.0g", "long": "%12.0g", "double": "%10.0g"}
        return widths.get(self.kind, "%9.0g")

    def nothing(self, rows: int) -> FloatArray | TextArray:
        """Missing values of its kind."""
        if self.is_text:
            return text_column([""] * rows)
        return np.full(rows, MISSING)

    def taken(self, rows: Any) -> DataVariable:
        """The same with some observations, or in another order."""
        sources = tuple(one[rows] for one in self.sources)
        return replace(self, values=self.values[rows], sources=sources)

    def __repr__(self) -> str:
        return f"<Variable {self.kind} (confidential)>"


#: So many values have room.
_ROOM = 2_000_000_000


def check_room(rows: float, columns: int = 1) -> None:
    """Raise an error if so many observations have no room."""
    DoError.when(rows * (columns + 1) > _ROOM, "too many observations for the memory", code=909)


@dataclass
class DataSet:
    """Variables of one length, in order (confidential); of each value label the text for each
    number.

    The panel is set with its time variable, or empty; `unchanged` are the variables as they were
    last read or saved. What is `hidden` no command sees, and goes with the observations: whom they
    are about, which were in the sample of a model.
    """

    variables: dict[str, DataVariable] = field(default_factory=dict)
    rows: int = 0
    value_labels: dict[str, dict[float, str]] = field(default_factory=dict)
    sorted_by: tuple[str, ...] = ()
    panel: tuple[str, str] = ("", "")
    label: str = ""
    unchanged: tuple[DataVariable, ...] = ()
    hidden: dict[str, DataVariable] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<DataSet (confidential): {len(self.variables)} variables>"

    def settle(self) -> None:
        """Remember that the data is as it was read or saved."""
        self.unchanged = tuple(self.variables.values())

    @property
    def changed(self) -> bool:
        """Whether it changed since it was read or saved."""
        return tuple(self.variables.values()) != self.unchanged

    def copy(self) -> DataSet:
        """The same, to be kept while this one changes."""
        labels = {name: dict(texts) for name, texts in self.value_labels.items()}
        variables, hidden = dict(self.variables), dict(self.hidden)
        return replace(self, variables=variables, value_labels=labels, hidden=hidden)

    def find(self, name: str) -> str | None:
        """The full name of a variable, from its name or a unique abbreviation."""
        if name in self.variables:
            return name
        matches = [known for known in self.variables if known.startswith(name)] if name else []
        DoError.when(len(matches) > 1, f"{name} ambiguous abbreviation", code=111)
        return matches[0] if matches else None

    def named(self, name: str) -> DataVariable:
        """A variable by name or unique abbreviation."""
        return self.variables[self.full(name)]

    def full(self, name: str) -> str:
        """The full name; an error if there is none."""
        return present(self.find(name), f"variable {name} not found", code=111)

    def listed(self, text: str) -> list[str]:
        """The variables of a list: names, `*`, `?`, `~`, ranges `a-b` and `_all`."""
        words = re.sub(r"\s*-\s*", "-", text.strip()).split()
        return [name for word in words for name in self._matching(word)]

    def _matching(self, word: str) -> Iterable[str]:
        names = list(self.variables)
        if word == "_all":
            return names
        if any(sign in word for sign in "*?~"):
            matches = [name for name in names if fnmatchcase(name, word.replace("~", "*"))]
            DoError.when(not matches, f"no variables match {word}", code=111)
            return matches
        if "-" in word:
            first, _, last = word.partition("-")
            start, end = names.index(self.full(first)), names.index(self.full(last))
            DoError.when(start > end, f"variables out of order: {word}", code=111)
            return names[start : end + 1]
        return [self.full(word)]

    def check_new(self, name: str) -> None:
        """Raise an error if a name cannot be a new variable."""
        self.check_name(name)
        DoError.when(name in self.variables, f"variable {name} already defined", code=110)

    @staticmethod
    def check_name(name: str) -> None:
        """Raise an error if a name is no legal name of a variable."""
        if not NAME.match(name) or name in _RESERVED or re.match(r"str\d+\Z", name):
            raise DoError(f"{name} invalid name", code=198)

    def put(self, name: str, variable: DataVariable) -> None:
        """Set a variable; what is sorted by it is sorted no more."""
        if not self.variables and not self.rows:
            self.rows = len(variable.values)
        if name in self.sorted_by:
            self.sorted_by = self.sorted_by[: self.sorted_by.index(name)]
        self.variables[name] = variable

    def drop(self, names: Sequence[str]) -> None:
        """Remove variables."""
        for name in names:
            self.variables.pop(name, None)
            if name in self.sorted_by:
                self.sorted_by = self.sorted_by[: self.sorted_by.index(name)]
            if name in self.panel:
                self.panel = ("", "")
        if not self.variables:
            self.rows = 0

    def take(self, rows: Any, keep_order: bool = True) -> None:
        """Keep some observations (mask or row numbers), in the order given."""
        self.variables = {name: one.taken(rows) for name, one in self.variables.items()}
        whole = {name: one for name, one in self.hidden.items() if len(one.values) == self.rows}
        self.hidden = {name: one.taken(rows) for name, one in whole.items()}
        at = np.asarray(rows)
        self.rows = int(at.sum()) if at.dtype == np.bool_ else len(at)
        if not keep_order:
            self.sorted_by = ()

    def grow(self, more: int) -> None:
        """Add observations with missing values at the end."""
        check_room(self.rows + more, len(self.variables))
        for table in (self.variables, self.hidden):
            for name, one in table.items():
                values = np.concatenate([one.values, one.nothing(more)])
                own = np.full(more, OWN, dtype=np.int64)
                sources = tuple(np.concatenate([source, own]) for source in one.sources)
                table[name] = replace(one, values=values, sources=sources)
        self.rows += more
        if more:
            self.sorted_by = ()

    def order_of(self, names: Sequence[str]) -> IntArray:
        """Row numbers in the order of variables; equal ones stay in their order.

        Texts are in the order of their bytes, missing numbers after all others.
        """
        rows = np.arange(self.rows, dtype=np.int64)
        for name in reversed(names):
            values = sortable(self.variables[name].values[rows])
            rows = rows[np.argsort(values, kind="stable")]
        return rows

    def starts_of(self, names: Sequence[str]) -> IntArray:
        """Where runs of equal values start, and the number of observations."""
        changed = np.zeros(self.rows, dtype=np.bool_)
        changed[:1] = True
        for name in names:
            values = self.variables[name].values
            changed[1:] |= values[1:] != values[:-1]
        return np.concatenate([np.flatnonzero(changed), [self.rows]]).astype(np.int64)

    def frame(self, names: Sequence[str] | None = None, rows: Any = None) -> pl.DataFrame:
        """Variables for polars; every missing number is null, empty texts stay."""
        columns = {}
        for name in self.variables if names is None else names:
            variable = self.variables[name]
            values = variable.values if rows is None else variable.values[rows]
            if variable.is_text:
                columns[name] = pl.Series(name, list(values), dtype=pl.String)
            else:
                known = with_nulls(np.asarray(values, dtype=np.float64))
                numbers = pl.Series(name, known, nan_to_null=True, dtype=pl.Float64)
                columns[name] = numbers.cast(pl.Int64) if variable.kind in WHOLE else numbers
        return pl.DataFrame(columns)

    @classmethod
    def of(cls, frame: pl.DataFrame) -> DataSet:
        """From a polars frame: nulls are `.`, or empty for texts."""
        columns = {column.name: variable_of(column) for column in frame.get_columns()}
        return cls(columns, frame.height)


def sortable(values: FloatArray | TextArray) -> FloatArray:
    """Numbers in the order of the values; texts are in that of their bytes."""
    if values.dtype != object:
        return np.asarray(values, dtype=np.float64)
    encoded = np.array([text.encode() for text in values], dtype=object)
    return np.unique(encoded, return_inverse=True)[1].astype(np.float64)


def text_kind(texts: Iterable[str]) -> str:
    """The storage type that holds texts.

    >>> text_kind(["a", "für"])
    'str4'
    """
    width = max((len(text.encode()) for text in texts), default=1)
    return f"str{max(width, 1)}" if width <= STR_MAX else "strL"


def text_variable(texts: Iterable[str]) -> DataVariable:
    """A variable of texts, in the smallest storage type."""
    column = text_column(texts)
    return DataVariable(column, text_kind(column))


_KINDS: dict[Any, str] = {pl.Int8: "int", pl.UInt8: "int", pl.Int16: "long", pl.UInt16: "long"}


def variable_of(column: pl.Series) -> DataVariable:
    """A column of polars as a variable.

    >>> variable_of(pl.Series("x", [1, None])).values
    array([1.00000000e+000, 8.98846567e+307])
    """
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return text_variable(column.cast(pl.String).fill_null("").to_list())
    if column.dtype == pl.Date:
        days = column.cast(pl.Int32).cast(pl.Float64) + 3653.0
        return DataVariable(_floats(days), "long", "%td")
    if column.dtype == pl.Boolean:
        return DataVariable(_floats(column.cast(pl.Float64)), "byte")
    if not column.dtype.is_numeric():
        raise DoError(f"variable {column.name} is of a type that cannot be used", code=109)
    kind = "float" if column.dtype == pl.Float32 else "double"
    return DataVariable(_floats(column.cast(pl.Float64)), _KINDS.get(column.dtype, kind))


def _floats(column: pl.Series) -> FloatArray:
    filled = column.fill_null(MISSING).fill_nan(MISSING).to_numpy()
    return np.array(filled, dtype=np.float64)


def wider(first: str, second: str) -> str:
    """The storage type that holds values of two types.

    >>> wider("byte", "long"), wider("long", "float"), wider("str3", "str10")
    ('long', 'double', 'str10')
    """
    if first.startswith("str"):
        if "strL" in (first, second):
            return "strL"
        return max(first, second, key=lambda kind: text_width(kind) or 0)
    if {first, second} == {"long", "float"}:
        return "double"
    return max(first, second, key=NUMBER_TYPES.index)


def missing_values(variable: DataVariable) -> Any:
    """Where a variable is missing: `.` to `.z`, or an empty text."""
    return variable.values == "" if variable.is_text else variable.values >= MISSING


def keys_of(master: DataSet, using: DataSet, names: Sequence[str]) -> tuple[Any, Any]:
    """For the rows of both, one number per combination of values, in their order."""
    codes: list[Any] = []
    for name in names:
        if name not in using.variables:
            raise DoError(f"variable {name} not found in using data", code=111)
        one, other = master.variables[name], using.variables[name]
        if one.is_text != other.is_text:
            raise DoError(f"key variable {name} is of different types", code=106)
        values = sortable(np.concatenate([one.values, other.values]))
        codes.append(np.unique(values, return_inverse=True)[1])
    grid = CellIndex(tuple(int(part.max(initial=0)) + 1 for part in codes))
    numbers, _ = grid.joined(codes, master.rows + using.rows)
    keys = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    return keys[: master.rows], keys[master.rows :]


def combined(
    master: DataSet,
    using: DataSet,
    pairs: tuple[Any, Any],
    *,
    keys: Sequence[str] = (),
    names: Sequence[str] | None = None,
    force: bool = False,
    labels: bool = True,
) -> DataSet:
    """Both data sets, row by row: where both have a variable, the master's values count.

    `pairs` are rows of the master and of the other data, −1 where there is none; both agree on
    `keys`. Of the other data `names` are taken, all unless given, and value labels if `labels`.
    `force` lets a variable pass that is text in one and numeric in the other.
    """
    rows, others = (np.asarray(one, dtype=np.int64) for one in pairs)
    wanted = [*keys, *(using.variables if names is None else names)]
    result = DataSet(rows=len(rows), label=master.label, panel=master.panel)
    for name, variable in master.variables.items():
        other = using.variables.get(name) if name in wanted else None
        if other is not None and other.is_text != variable.is_text:
            DoError.when(not force, f"variable {name} is of different types", code=106)
            other = None
        result.variables[name] = _joined(variable, other, rows, others)
    for name in wanted:
        if name not in master.variables:
            result.variables[name] = _joined(using.variables[name], None, others, rows)
    for name, kept in master.hidden.items():
        result.hidden[name] = _joined(kept, using.hidden.get(name), rows, others)
    for name, kept in using.hidden.items():
        if name not in master.hidden:
            result.hidden[name] = _joined(kept, None, others, rows)
    result.value_labels = {**(using.value_labels if labels else {}), **master.value_labels}
    return result


def _at(variable: DataVariable, rows: Any) -> Any:
    if not len(variable.values):
        return variable.nothing(len(rows))
    return variable.values[np.maximum(rows, 0)]


def _joined(
    variable: DataVariable, other: DataVariable | None, rows: Any, others: Any
) -> DataVariable:
    inside, kind = rows >= 0, variable.kind
    values: Any = np.where(inside, _at(variable, rows), variable.nothing(len(rows)))
    if other is not None:
        taken = ~inside & (others >= 0)
        values = np.where(taken, _at(other, others), values)
        kind = wider(kind, other.kind) if taken.any() else kind
    column = values.astype(object) if variable.is_text else np.asarray(values, dtype=np.float64)
    return replace(variable, values=column, kind=kind, sources=())


_BY = re.compile(r"(?P<by>[^(),]*)(?:\((?P<also>[^)]*)\))?\s*(?:,(?P<options>.*))?\Z", re.DOTALL)


def grouped(data: DataSet, prefix: str, text: str) -> tuple[tuple[str, ...], ByGroups]:
    """The variables of a `by` prefix, by which the data are sorted, and the groups they make."""
    match = required(_BY.match(text.strip()))
    required(match["by"].strip())
    names = tuple(data.listed(match["by"]))
    also = tuple(data.listed(match["also"])) if match["also"] else ()
    options = (match["options"] or "").split()
    DoError.when(not set(options) <= {"sort", "s"}, "invalid option of by", code=198)
    wanted = names + also
    if prefix == "bysort" or options:
        sort(data, wanted)
    elif data.sorted_by[: len(wanted)] != wanted:
        raise DoError("not sorted", code=5)
    return names, ByGroups(data.starts_of(names))


def sort(data: DataSet, names: tuple[str, ...]) -> None:
    """Sort the data; equal observations stay in their order."""
    if data.sorted_by[: len(names)] != names:
        data.take(data.order_of(names))
        data.sorted_by = names
