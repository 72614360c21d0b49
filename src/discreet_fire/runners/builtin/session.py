"""What a running do-file can see and change, and what is about a few persons. CONFIDENTIAL.

In: data, masks over records, expressions with what they used. Out: `Session`, with the log; whether
something is about a few, depends on them, or copies one's value to others; marks at the variables
that hold such values; whether an output differs from an earlier one by a few: what both have in
common can be taken away, and what is left is theirs; safe results of `discreet_fire.statistics`,
and whom each is about for the ledger. Whom a record is about goes with it unseen, so that changing
or dropping the variable changes no check. Values of records are in the data alone: there are no
stored results.
"""

from __future__ import annotations

import ast
import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from discreet.arrays import BoolArray, IntArray
from discreet.errors import DiscreetError, OutputCheckError
from discreet_fire import statistics
from discreet_fire.catalogue import StatisticRow, statistic_rows
from discreet_fire.linked_tables import OutputRecords, kinds_left, tables_of
from discreet_fire.runners.builtin.data import FIRST_RECORD, OWN, DataSet, DataVariable, read_data
from discreet_fire.runners.builtin.expressions import (
    ASKING,
    Scope,
    evaluate,
    expression_tree,
    is_gap,
    truth,
    whole_column,
)
from discreet_fire.runners.builtin.syntax import MISSING, CommandCall, DoError
from discreet_fire.runners.protocol import WITHHELD, ShownOutput, StatisticShown, Witness
from discreet_fire.statistics import (
    OTHER,
    Check,
    CheckVerdict,
    SafeLimits,
    SafeResult,
    counts_to_hide,
    number_text,
    refused_line,
)
from discreet_fire.texts import place_of


@dataclass(frozen=True, repr=False)
class LastModel:
    """The last regression (confidential): what `utest` asks for."""

    terms: tuple[str, ...]  # the outcome first
    names: tuple[str, ...]  # its variables
    sample: BoolArray
    units: IntArray  # those of the data that it was fitted to
    plain: bool  # whether it has the usual standard errors


@dataclass(repr=False)
class UnitHistory:
    """Whom records are about, and what was asked and shown about them (confidential)."""

    owners: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # of each record
    #: Of each file the first of its records, and how many there are
    files: dict[Path, tuple[int, int]] = field(default_factory=dict)
    persons: dict[Any, int] = field(default_factory=dict)  # the number of each value of the entity
    key: bytes = b""  # of all microdata that were read: it blurs how near a bound may come
    trims: set[str] = field(default_factory=set)  # conditions that took away what a few have
    values: list[Any] = field(default_factory=list)  # of outputs: marks of a variable, by record
    sets: list[Any] = field(default_factory=list)  # of outputs: which records there were
    close: int = 0  # so many outputs were about sets that differ from earlier ones by a few


@dataclass(repr=False)
class Session:
    """A run (confidential): the rules, whom a record belongs to, the data, results."""

    folder: Path
    limits: SafeLimits
    entity: str | None = None
    tell: Callable[[str], None] = lambda line: None
    witness: Witness | None = None
    given: Mapping[str, Path] = field(default_factory=dict)  # data files by their names
    data: DataSet = field(default_factory=DataSet)
    model: LastModel | None = None
    fitted: list[SafeResult] = field(default_factory=list)  # later models are compared with them
    history: UnitHistory = field(default_factory=UnitHistory)
    outputs: list[ShownOutput] = field(default_factory=list)
    quiet: bool = False  # whether it runs quietly
    line: int = 0
    program: str = ""  # the file that runs, if the program calls it
    touched: bool = False  # whether the command rests on single values of the data
    few: bool = False  # whether a comparison in the command holds for a few only
    plain: bool = True  # whether it may be said that the condition chose nobody
    copied: frozenset[str] = frozenset()  # variables with copied values that the command reads

    def __repr__(self) -> str:
        return "<Session (confidential)>"

    # --- what is shown ---------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write public text to the log, unless the program runs quietly."""
        if not self.quiet:
            for line in text.split("\n"):
                self.tell(line)

    def show(self, result: SafeResult) -> None:
        """Show a safe result and remember it with its checks."""
        if not self.quiet:
            self.outputs.append(ShownOutput(self.line, result.command, result, self.program))
            if result.shown:
                self.write(result.shown)

    def withhold(self, command: str, rule: str, reason: str) -> None:
        """Say that something is not shown, and remember it."""
        check = Check(rule=rule, verdict=CheckVerdict.fail, reason=reason)
        self.show(SafeResult(command=command, shown=WITHHELD, checks=[check]))

    def refuse(self, command: str, reason: str) -> None:
        """Say that a command is never run, also where the program runs quietly."""
        self.tell(f"{refused_line(self.limits.language)}: {command}")
        check = Check(rule="refused", verdict=CheckVerdict.fail, reason=reason)
        result = SafeResult(command=command, shown="", checks=[check])
        self.outputs.append(ShownOutput(self.line, command, result, self.program))

    # --- data --------------------------------------------------------------------------

    def file(self, name: str) -> DataSet:
        """The microdata of a file: given to the run, or in the folder of the program."""
        text = name.strip().strip('"').replace("\\", "/")
        text += "" if Path(text).suffix else ".dta"
        path = self.given.get(text.rsplit("/", 1)[-1]) or self.inside(text)
        return self.numbered(read_data(path), path.resolve())

    def inside(self, name: str) -> Path:
        """A file in the folder of the program; an error if it is not there."""
        outside = "files outside the folder of the program are not opened"
        DoError.when("://" in name or name.startswith(("~", "//")) or "\0" in name, outside, 603)
        path = (self.folder.resolve() / name).resolve()
        DoError.when(not path.is_relative_to(self.folder.resolve()), outside, 603)
        return path

    def numbered(self, data: DataSet, path: Path) -> DataSet:
        """Number the records of microdata; those of a file that was read before keep theirs."""
        history = self.history
        start = len(history.owners)
        first, rows = history.files.get(path, (start, data.rows))
        first = first if rows == data.rows else start
        history.files.setdefault(path, (first, data.rows))
        data.records = np.arange(first, first + data.rows, dtype=np.int64)
        data.units = data.records + FIRST_RECORD
        entity = data.variables.get(self.entity or "")
        data.named = entity is not None
        if entity is not None:
            data.units = self._persons(entity)
        history.owners = np.concatenate(
            [history.owners[:first], data.whose, history.owners[first + data.rows :]]
        )
        history.key = hashlib.sha256(history.key + _digest(data)).digest()
        return data

    def _persons(self, entity: DataVariable) -> IntArray:
        """The number of whom each record is about, the same in all data; -1 where it is missing."""
        values = entity.values.astype(str) if entity.is_text else entity.values
        kinds, codes = np.unique(values, return_inverse=True)
        persons = self.history.persons
        numbers = [persons.setdefault(one, len(persons)) for one in kinds.tolist()]
        units = np.array(numbers, dtype=np.int64).reshape(-1)[codes]
        return np.where(entity.missing, -1, units)

    def named_units(self, rows: Any) -> list[Any] | None:
        """Whom some records are about, by the values of the entity; None if nothing says so."""
        if not self.data.named:
            return None
        names = list(self.history.persons)
        return [names[one] if one >= 0 else None for one in self.data.units[rows].tolist()]


def _digest(data: DataSet) -> bytes:
    """A digest of all numbers, the same in any order of the records."""
    sums = []
    for one in data.variables.values():
        if not one.is_text:
            bits = np.ascontiguousarray(one.values, dtype=np.float64).view(np.uint64)
            mixed = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            sums.append(int((mixed ^ (mixed >> np.uint64(32))).sum(dtype=np.uint64)))
    return repr(sums).encode()


#: So many conditions of one run may take away what a few have.
_TRIMS = 3
#: Bytes that may be kept of earlier outputs.
_ROOM = 400_000_000
#: So many sets of records that differ from earlier ones by a few may be used in one run.
_SETS = 5
#: Ways to shake a number; each is seen by other expressions.
_ALTERATIONS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x + 1.0 + np.abs(x),
    lambda x: -x - 3.3,
    lambda x: 1.0013 * x + 0.37,
)


# --- how many persons or firms --------------------------------------------------------------


def counted_sources(data: DataSet, source: IntArray) -> IntArray:
    """Whose each value is; whom its record is about where it is nobody else's."""
    return np.where(source == OWN, data.units, source)


def read_sources(session: Session) -> list[IntArray]:
    """Whose the copied values are that the command reads, once for each way they came."""
    data, sources = session.data, list[IntArray]()
    for name in sorted(session.copied & data.variables.keys()):
        for one in data.variables[name].sources:
            if not any(one is other or np.array_equal(one, other) for other in sources):
                sources.append(one)
    return [counted_sources(data, one) for one in sources]


def distinct(units: Any) -> int:
    """Number of different entities, without -1.

    >>> distinct(np.array([3, -1, 3, 4]))
    2
    """
    return int((np.unique(units) >= 0).sum())


def cases(session: Session, mask: Any, data: DataSet | None = None) -> int:
    """Number of persons or firms behind records.

    Copied values that the command reads are about those whose they are.
    """
    rows = np.flatnonzero(mask)
    sources = read_sources(session) if data is None else []
    units = (session.data if data is None else data).units
    return min(distinct(one[rows]) for one in (units, *sources))


def few(session: Session, mask: Any, data: DataSet | None = None) -> bool:
    """Whether some records are chosen, of a few persons or firms only."""
    chosen = np.asarray(mask, dtype=np.bool_)
    return bool(chosen.any()) and cases(session, chosen, data) < session.limits.minimum


def cases_by_value(values: pl.Series, units: IntArray) -> pl.DataFrame:
    """Number of persons or firms with each value: columns `value` and `cases`."""
    table = pl.DataFrame({"value": values, "unit": pl.Series(units, dtype=pl.Int64)})
    known = pl.col("unit").filter(pl.col("unit") >= 0)
    return table.group_by("value").agg(known.n_unique().alias("cases"))


def failure(
    session: Session, rows: Any, message: str, rc: int, data: DataSet | None = None
) -> DoError:
    """An error that records cause; redacted where they are of a few."""
    return DoError(message, rc, redacted=few(session, rows, data))


# --- before and after a command ---------------------------------------------------------------


def begin(session: Session, text: str, by: Iterable[str], *, whole: bool) -> None:
    """Begin with a command: which copied values its text, or the whole of the data, reads."""
    data = session.data
    session.touched = session.few = False
    session.plain = True
    copied = {name for name, one in data.variables.items() if one.sources}
    session.copied = frozenset(copied if whole else copied & _words(data, text) if copied else ())
    session.touched |= any(data.variables[name].single for name in by)


def _words(data: DataSet, text: str) -> set[str]:
    """The variables that a text may name; all of them if it names none."""
    matches: set[str] = set()
    for word in re.findall(r"[\w*?~\u00a1-\uffff]+", text):
        if any(sign in word for sign in "*?~"):
            matches |= {name for name in data.variables if fnmatchcase(name, word)}
        elif word == "_all" or f"{word}-" in text.replace(" ", ""):
            matches |= data.variables.keys()
        else:
            matches |= {name for name in data.variables if name.startswith(word)}
    return matches or set(data.variables)


def settle(session: Session, before: Mapping[str, DataVariable], *, touched: bool = False) -> None:
    """Mark the variables that a command made or changed: which hold copies or single values.

    What was made of copied values is as much a copy as they are.
    """
    data = session.data
    read = [data.variables[one] for one in sorted(session.copied & data.variables.keys())]
    sources = {id(source): source for one in read for source in one.sources}
    for name, one in list(data.variables.items()):
        if one is before.get(name):
            continue
        kept = {id(source): source for source in one.sources} | ({} if one.free else sources)
        single = one.single or touched or (not one.free and _alike(session, one))
        data.variables[name] = replace(
            one, sources=tuple(kept.values()), single=single, derived=True
        )
    note_few_sources(session)


def note_few_sources(session: Session) -> None:
    """Mark variables whose copied values come from too few."""
    data, least = session.data, session.limits.minimum
    for name, one in list(data.variables.items()):
        known = np.flatnonzero(~one.missing)
        sources = (distinct(counted_sources(data, source)[known]) for source in one.sources)
        if not one.single and len(known) and min(sources, default=least) < least:
            data.variables[name] = replace(one, single=True)


def _alike(session: Session, variable: DataVariable) -> bool:
    """Whether all but a few have the same value, or all the same answer of yes and no."""
    values = variable.values
    if not len(values):
        return False
    plain = values.astype(str) if variable.is_text else values
    kinds, count = np.unique(plain, return_counts=True)
    same = np.asarray(values == kinds[int(np.argmax(count))], dtype=np.bool_)
    if same.all():
        return not variable.is_text and (values[0] in (0.0, 1.0) or bool(values[0] >= MISSING))
    return few(session, ~same)


# --- expressions and conditions ------------------------------------------------------------


def judge(session: Session, scope: Scope) -> bool:
    """Judge what an expression used: whether a comparison holds for a few, or for all but a few.

    `touched` is set where it read single values.
    """
    holds_for_few = holds_for_most = False
    for holds, gaps in scope.comparisons:
        holds_for_few |= few(session, holds)
        holds_for_most |= few(session, ~holds)
        if np.ndim(gaps) and (holds.all() or not holds.any()):
            holds_for_few |= _near(session, gaps)
    session.few |= holds_for_few
    session.touched |= scope.single
    return holds_for_few or holds_for_most


def _near(session: Session, gaps: Any) -> bool:
    """Whether a bound that all are below, or none reaches, lies near what one of few has.

    How near is near hangs on the data, so that trying bounds one after the other does not
    find the largest or smallest value.
    """
    known = gaps[np.isfinite(gaps)]
    if not known.size:
        return False
    spread, nearest = float(known.std()), float(known.min())
    size = math.frexp(spread)[1]
    key = session.history.key + size.to_bytes(4, "little", signed=True)
    blur = 0.5 + int.from_bytes(hashlib.sha256(key).digest()[:6], "little") / 2**48
    return nearest <= spread * blur and few(session, gaps == nearest)


def depends_on_few(
    session: Session,
    expression: str,
    scope: Scope,
    value: Any,
    mask: BoolArray | None = None,
    *,
    condition: bool = False,
) -> bool:
    """Whether some variable matters for a few only in the value that an expression gave.

    However it is written – a comparison, a product with 0 and 1, a table of one's own – a value
    that only one person's data can change is about that person: so the data are changed, one
    variable after the other, and it is seen whose values change. The mask has the records for
    which it is used; a `condition` says where it holds.
    """
    if not isinstance(value, np.ndarray):
        return False
    rows = session.data.rows
    for name in sorted(scope.columns):
        changed = np.zeros(rows, dtype=np.bool_)
        for values in _altered(session.data.variables[name]):
            elsewhere = Scope(session.data, {**scope.others, name: values})
            try:
                other: Any = whole_column(evaluate(expression, elsewhere), rows)
            except DoError:
                return True
            changed |= np.asarray((other != 0 if condition else other) != value, dtype=np.bool_)
        if few(session, changed if mask is None else changed & mask):
            return True
    return False


def _altered(variable: DataVariable) -> Iterator[Any]:
    """The values of a variable, all changed, in ways that different expressions see."""
    if variable.is_text:
        column = np.empty(len(variable.values), dtype=object)
        column[:] = [f"~{text[::-1]}{text}" if text else "" for text in variable.values]
        yield column
        return
    known = variable.values < MISSING
    for alter in _ALTERATIONS:
        yield np.where(known, alter(np.where(known, variable.values, 0.0)), variable.values)


def trimmed(session: Session, condition: str, mask: BoolArray, *, holds_for_few: bool) -> None:
    """Note that a condition takes away what a few have, or nearly does.

    That may be done some times, as outliers are. Who tries one bound after the other does it
    too often: which records there are then rests on single values.
    """
    if not session.plain and (holds_for_few or few(session, mask)):
        session.history.trims.add(condition)
        session.touched |= len(session.history.trims) > _TRIMS


def _asks(node: ast.AST) -> bool:
    """Whether a condition asks by a function, such as `inlist()`, or for a text: no bound says how
    close it is.
    """
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id[1:] in ASKING
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq):
        texts = (getattr(one, "value", None) for one in (node.left, *node.comparators))
        if any(isinstance(one, str) for one in texts):
            return True
    return not isinstance(node, ast.Subscript) and any(map(_asks, ast.iter_child_nodes(node)))


def _is_plain(session: Session, node: ast.expr) -> bool:
    """Whether a condition asks for nothing but categories and missing values.

    That nobody meets it may then be said: it is no question about what one person has.
    """
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Name):
        variable = session.data.variables.get(session.data.find(node.id[1:]) or "")
        if variable is None or variable.derived:  # which values it has tells of the data
            return False
        counted = cases_by_value(pl.Series(variable.values.tolist()), session.data.units)
        return bool((counted["cases"] >= session.limits.minimum).all())
    parts: Sequence[ast.expr] = ()
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        parts = node.args if node.func.id[1:] in ASKING else ()
        if node.func.id[1:] in ("missing", "mi"):
            return True
    elif isinstance(node, ast.Compare):
        parts = (node.left, *node.comparators)
        if any(map(is_gap, parts)):
            return True
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.UnaryOp):
        parts = (node.operand,)
    return bool(parts) and all(_is_plain(session, one) for one in parts)


def selected(session: Session, call: CommandCall, scope: Scope | None = None) -> BoolArray:
    """The records for which `if` holds; judged is whether it asks what a few have."""
    condition = call.condition
    if condition is None:
        return np.ones(session.data.rows, dtype=np.bool_)
    scope = scope or Scope(session.data)
    holds = truth(condition, scope)
    judge(session, scope)
    session.few |= depends_on_few(session, condition, scope, holds, condition=True)
    least = session.limits.minimum
    if session.few or any(cases(session, one) < least for one in (holds, ~holds)):
        session.plain = _is_plain(session, expression_tree(condition))
    if not session.plain and (holds.all() or not holds.any()):
        session.few |= _asks(expression_tree(condition))
    return holds


# --- outputs against earlier ones ------------------------------------------------------------


def conflicts_with_earlier(session: Session, mask: BoolArray, names: Sequence[str]) -> bool:
    """Whether an output differs from an earlier one by a few; if not, it is remembered."""
    history, data = session.history, session.data

    def placed(marks: Any) -> Any:
        column = np.zeros(len(history.owners), dtype=np.uint32)
        column[data.records[mask]] = marks
        return column

    everyone = placed(1)
    known = [data.variables[name] for name in dict.fromkeys(names) if name in data.variables]
    marks = [placed(_marks(one.values[mask], text=one.is_text)) for one in known]
    if any(_close(session, one, earlier) for one in marks for earlier in history.values):
        return True
    new = all(_apart(everyone, earlier).size for earlier in history.sets)
    if new and any(_close(session, everyone, earlier) for earlier in history.sets):
        history.close += 1
        if history.close > _SETS:
            return True
    for kept, fresh in ((history.values, marks), (history.sets, [everyone])):
        kept += [one for one in fresh if all(_apart(one, earlier).size for earlier in kept)]
        del kept[: -max(_ROOM // max(everyone.nbytes, 1), 20)]
    return False


def _marks(values: Any, *, text: bool) -> Any:
    """A number from 1 for each value that is not missing, the same for equal ones."""
    if text:
        hashed = pl.Series(values.tolist(), dtype=pl.String).hash(seed=0).to_numpy()
        known = values != ""
    else:
        bits = (np.ascontiguousarray(values, dtype=np.float64) + 0.0).view(np.uint64)
        hashed = (bits ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        known = values < MISSING
    short = (hashed >> np.uint64(32)).astype(np.uint32) | np.uint32(1)
    return np.where(np.asarray(known, dtype=np.bool_), short, np.uint32(0))


def _close(session: Session, one: Any, other: Any) -> bool:
    """Whether two differ in the records of a few, but of some."""
    apart, least = _apart(one, other), session.limits.minimum
    return bool(apart.size) and distinct(session.history.owners[apart]) < least


def _apart(one: Any, other: Any) -> Any:
    """In which records two differ; where one is shorter, the marks of the other count."""
    size = min(len(one), len(other))
    longer = one if len(one) > size else other
    first = np.flatnonzero(one[:size] != other[:size])
    return np.concatenate([first, size + np.flatnonzero(longer[size:])])


# --- the records of a call, and a statistic of them ---------------------------------------------

#: Columns of the frame that no variable can be called.
_ENTITY, INSIDE, _ROW = "who is it", "counted", "row"
#: How columns begin that say whose a copied value is.
_SOURCE = "whose is it "
#: A variable of more values is looked at by the safe commands themselves.
_FEW_VALUES = 5
#: Errors of safe commands that are about the output, not about the program.
_WITHHELD = frozenset(("group", "table-size", "edges", "entity", "copies"))
_CODES = {"not-numeric": 109, "column-type": 109, "no-observations": 2000}
_CODES |= {"factor-values": 452, "missing-column": 111}
#: Errors of safe commands that the program alone causes; any other may tell of one value.
_OF_PROGRAM = frozenset(
    ("column-type", "columns", "limits", "missing-column", "model", "not-numeric", "statistic",
     "table", "tabulate", "terms", "xtdescribe")
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class ChosenRecords:
    """The chosen records (confidential), with some variables."""

    names: tuple[str, ...]
    frame: pl.DataFrame  # their variables, and a column of whom they are about
    mask: BoolArray  # which of the data they are
    entity: str | None  # the column of whom they are about
    groups: tuple[str, ...]  # variables that span the output
    missing: bool  # whether missing values are a group of their own

    @property
    def counted(self) -> BoolArray:
        """Records behind an output; for a count all records, with a mask."""
        mask = self.mask.copy()
        if INSIDE in self.frame.columns:
            mask[mask] = (self.frame[INSIDE] == 1).to_numpy()
        return mask


def choose(
    session: Session,
    call: CommandCall,
    names: Iterable[str],
    *,
    groups: Sequence[str] = (),
    mask: BoolArray | None = None,
) -> ChosenRecords:
    """The records that a call is about, or those of a mask; value labels stand for the values of
    `groups`.
    """
    data, rows = session.data, selected(session, call) if mask is None else mask
    names = tuple(dict.fromkeys(names))
    frame = data.frame(names, rows)
    if not names:
        frame = pl.DataFrame({_ROW: np.ones(int(rows.sum()), dtype=np.int64)})
    for name in groups:
        frame = frame.with_columns(_group_labels(session, name, frame[name], rows))
    columns = {f"{_SOURCE}{at}": one for at, one in enumerate(read_sources(session))}
    if data.named or len(np.unique(data.records)) < data.rows:
        columns[_ENTITY] = data.units
    for name, units in columns.items():
        whom = pl.Series(name, units[rows])
        frame = frame.with_columns(whom.set(whom < 0, None))
    entity = _ENTITY if _ENTITY in columns else None
    return ChosenRecords(names, frame, rows, entity, tuple(groups), "missing" in call.options)


def _group_labels(session: Session, name: str, column: pl.Series, rows: BoolArray) -> pl.Series:
    """A grouping variable as it is shown: with value labels; values of few cases put together
    where a condition chose them, or the program made the variable.
    """
    variable = session.data.variables[name]
    texts = session.data.value_labels.get(variable.value_label, {})
    values = column.drop_nulls().unique().sort().to_list()
    if texts and not variable.is_text and all(value == int(value) for value in values):
        labels = [texts.get(float(value)) or number_text(int(value)) for value in values]
        if len(set(labels)) < len(labels):
            labels = [f"{one} ({int(value)})" for one, value in zip(labels, values, strict=True)]
        if len(set(labels)) == len(labels):
            column = column.replace_strict(values, labels, return_dtype=pl.Enum(labels))
    if rows.all() and not variable.derived:
        return column
    return _rare_together(column, session.data.units[rows], session.limits)


def _rare_together(column: pl.Series, units: Any, limits: SafeLimits) -> pl.Series:
    """Put values of few cases together, and as many others that their number stays unknown."""
    values = column.drop_nulls().unique().sort()
    known = len(column) - column.null_count()
    if not len(values) or (len(values) > _FEW_VALUES and len(values) * limits.minimum > known):
        return column
    counted = cases_by_value(column, units)
    number = dict(zip(counted["value"].to_list(), counted["cases"].to_list(), strict=True))
    counts = [max(number[value], 1) for value in values.to_list()]
    rare = counts_to_hide(counts, frozenset(), 0, limits)[0]
    if not rare:
        return column
    names = [one if isinstance(one, str) else number_text(one) for one in values.to_list()]
    shown = [OTHER if at in rare else name for at, name in enumerate(names)]
    kinds = [name for name in shown if name != OTHER]
    return column.replace_strict(values, shown, default=None, return_dtype=pl.Enum([*kinds, OTHER]))


# --- working a statistic out, and showing it ---------------------------------------------------


def show_statistic(
    session: Session, name: str, chosen: ChosenRecords, *arguments: Any, **options: Any
) -> SafeResult | None:
    """Work out a safe statistic and show it; None if it is withheld.

    What is about a few, or about variables made from single values, is not even worked out:
    whether that fails would tell of them.
    """
    data, row = session.data, statistic_rows()[name]
    known = [data.variables[one] for one in chosen.names]
    rule = reason = ""
    if session.touched or data.doubted or any(one.single for one in known):
        rule, reason = "single-value", "it rests on single values of the data, such as a maximum"
    elif _too_few(session, row.sample, chosen.mask):
        rule, reason = "minimum", "too few cases, or all but a few"
    if rule:
        session.withhold(name, rule, reason)
        return None
    options = {"entity": chosen.entity, "limits": session.limits, **options}
    shown_as = options.pop("shown_as", "")
    statistic: Callable[..., SafeResult] = getattr(statistics, row.statistic)
    try:
        result = statistic(chosen.frame, *arguments, **options)
        for column in chosen.frame.columns:
            if column.startswith(_SOURCE):
                other = statistic(chosen.frame, *arguments, **{**options, "entity": column})
                if other.shown != result.shown:
                    message = "values in it are copies of those of too few cases"
                    raise OutputCheckError(message, code="copies")
    except DiscreetError as error:
        if error.code in _WITHHELD:
            session.withhold(name, error.code, error.what)
            return None
        nobody = error.code == "no-observations"
        if nobody and not (session.plain and data.rows):
            session.withhold(name, "minimum", "it is about too few cases")
            return None
        hidden = error.code not in _OF_PROGRAM and not nobody
        raise DoError(error.what, _CODES.get(error.code) or 198, redacted=hidden) from None
    if name == "regress":
        session.fitted.append(result)
    result = replace(result, command=shown_as or result.command)
    if conflicts_with_earlier(session, chosen.counted, chosen.names):
        session.withhold(name, "difference", "it differs from an earlier output by a few cases")
        return None
    for reason in _doubts(session, options["entity"]):
        check = Check(rule="entity", verdict=CheckVerdict.review, reason=reason)
        result = replace(result, checks=[*result.checks, check])
    session.show(result)
    if session.witness is not None:
        session.witness(_whom(session, row, result, chosen))
    return result


def _too_few(session: Session, sample: str, mask: BoolArray) -> bool:
    """Whether a condition chose too few cases, nobody included, or all but a few."""
    if session.few or sample == "counted":
        return session.few
    if (mask.all() or not session.plain) and cases(session, mask) < session.limits.minimum:
        return True
    return sample != "model" and bool(mask.any()) and few(session, ~mask)


def _doubts(session: Session, entity: str | None) -> Iterator[str]:
    """What an officer has to know of whom the cases are."""
    if session.entity is not None and not session.data.named:
        yield "the data have no entity; each observation counts as a case"
    if session.entity is not None and entity not in (None, _ENTITY, session.entity):
        yield "cases are counted as units of the panel, which are not those that are protected"


def _whom(
    session: Session, row: StatisticRow, result: SafeResult, chosen: ChosenRecords
) -> StatisticShown:
    """Whom an output is about, for a ledger; also of what runs quietly."""
    data, mask, inside = session.data, chosen.counted, chosen.frame
    if INSIDE in inside.columns:
        inside = inside.filter(pl.col(INSIDE) == 1)
    ours = cs.by_name(_ENTITY, INSIDE, _ROW, require_all=False) | cs.starts_with(_SOURCE)
    command = result.command.split(",")[0]
    records = OutputRecords(
        title=f"{place_of(session.program, session.line)}, {command}",
        labels=inside.select(~ours),
        numbers=data.records[mask],
        owners=data.units[mask],
        weights=None,
        digits=session.limits.digits,
    )
    words = command.replace("#", " ").split()
    return StatisticShown(
        line=session.line,
        file=session.program,
        command=command.rpartition(": ")[2].split()[0],
        universes=row.universes,
        units=session.named_units(mask),
        numbers=data.records[mask],
        first=next(iter(session.history.files.values()), (0, 0))[1],
        frame=data.frame(chosen.names, mask),
        groups=chosen.groups,
        categories=frozenset(word.partition(".")[2] for word in words if "." in word),
        missing=chosen.missing,
        tables=tables_of(row.groups, records, result.frame, result.stored),
        left=kinds_left(() if result.frame is None else result.frame.columns),
    )
