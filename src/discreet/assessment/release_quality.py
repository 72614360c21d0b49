"""`QualityLog` and `Overall`: what protection did to the tables of a release. CONFIDENTIAL.

In: true and protected tables, one after another. Out: whole numbers per table, whatever the
order of the tables and however often the work was interrupted, that can be added up over a
release; sealed, so that they can rest in a folder where others may look. Sums by size class, table
part and kind of figure; and `QualityStatement`s, public: bounds that hold for all tables together.
Three things keep parameters in: steps of 5 points (halves for the mean deviation); no bound that
says "never" or "always", as "none changed by 4 or more" would name the maximum noise; and nothing
about fewer than 1,000 cells.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from discreet.arrays import IntArray
from discreet.assessment.figure_pairs import (
    DEVIATION_CLASSES,
    SIZE_CLASSES,
    TOTAL,
    CountStatistics,
    Noise,
    Pairs,
    PartGrid,
    count_statistics,
    deviations,
    finest_level,
    key_figure_pairs,
    states,
    total_differences,
    twins,
)
from discreet.assessment.probabilities import exact_sum
from discreet.assessment.words import number, words_of
from discreet.confidential import Confidential
from discreet.derived import KeyFigure
from discreet.errors import PublicationError, TableError
from discreet.protection.parts import PartDecisions
from discreet.tables import CellStatus, GateReport, Ingredient, ProtectedTable, Table

Shown = Literal["complete", "thinned", "blocked"]


@dataclass(frozen=True, slots=True)
class PartQuality:
    """One table part. Public."""

    levels: tuple[str, ...]  # level of each variable in words
    depth: int  # number of variables that are not at their total
    cells: int  # number of cells of the complete grid, per figure
    suppressed: bool  # whether it is suppressed as a whole


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TableQuality(Confidential):
    """Tallies about one table (confidential)."""

    variables: Mapping[str, str]  # name of each spanning variable → its finest level
    #: The table parts there are, numbered in this order; `None` where the table lacks one
    parts: tuple[PartQuality | None, ...]
    figures: Mapping[str, str]  # name → kind of each figure
    states: IntArray  # rows (figure, part, status, stored cells)
    counts: CountStatistics  # the noise of its counts
    #: Name of a figure that is no count → rows (part, class, cells)
    deviations: Mapping[str, IntArray]
    sums: IntArray  # rows (variable, totals compared, that differ, sum of |difference|, largest)
    reasons: Mapping[str, int]  # reason for which parts were suppressed → number of parts
    twins: tuple[int, int]  # pairs of inner cells with the same count, and with the same noise too
    #: Name of a figure of values → how near it comes to single contributions
    gates: Mapping[str, GateReport] = field(default_factory=dict)

    @property
    def shown(self) -> Shown:
        """Whether all cells are published, some, or none."""
        hidden = self.cells_in(CellStatus.suppressed)
        if not hidden:
            return "complete"
        return "blocked" if hidden >= self.grid_cells else "thinned"

    @property
    def grid_cells(self) -> int:
        """Number of cells of all parts and figures."""
        one = sum(part.cells for part in self.parts if part is not None)
        return one * max(1, len(self.figures))

    def cells_in(self, status: CellStatus) -> int:
        """Number of cells in a state; zeros and inapplicable cells only where stored."""
        rows = self.states[self.states[:, 2] == status]
        cells = int(rows[:, 3].sum())
        if status == status.suppressed:  # those of suppressed parts are not stored
            hidden = sum(part.cells for part in self.parts if part is not None and part.suppressed)
            cells += hidden * max(1, len(self.figures))
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it."""
        return {
            "variables": dict(self.variables),
            "parts": [
                None if p is None else [list(p.levels), p.depth, p.cells, p.suppressed]
                for p in self.parts
            ],
            "figures": dict(self.figures),
            "states": self.states.tolist(),
            "noise": self.counts.noise.tolist(),
            "others": self.counts.others.tolist(),
            "zeros_changed": self.counts.zeros_changed,
            "deviations": {name: rows.tolist() for name, rows in self.deviations.items()},
            "sums": self.sums.tolist(),
            "reasons": dict(self.reasons),
            "twins": list(self.twins),
            "gates": {name: asdict(gate) for name, gate in self.gates.items()},
        }

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> TableQuality:
        """The tallies that were written by `to_dict`."""
        return cls(
            variables=dict(entry["variables"]),
            parts=tuple(
                None if p is None else PartQuality(tuple(p[0]), *p[1:]) for p in entry["parts"]
            ),
            figures=dict(entry["figures"]),
            states=_rows(entry["states"], 4),
            counts=CountStatistics(
                noise=_rows(entry["noise"], 4),
                others=_rows(entry["others"], 6),
                zeros_changed=int(entry["zeros_changed"]),
            ),
            deviations={name: _rows(rows, 3) for name, rows in entry["deviations"].items()},
            sums=_rows(entry["sums"], 5),
            reasons=dict(entry["reasons"]),
            twins=(int(entry["twins"][0]), int(entry["twins"][1])),
            gates={name: GateReport(**gate) for name, gate in entry.get("gates", {}).items()},
        )


def _rows(listed: Any, width: int) -> IntArray:
    return np.array(listed, dtype=np.int64).reshape(-1, width)


def table_quality(
    table: Table | None,
    protected: ProtectedTable,
    ingredients: Mapping[str, Ingredient],
    figures: Sequence[KeyFigure],
    reasons: Mapping[str, int],
    counts: CountStatistics,
) -> TableQuality:
    """Assess one table, on top of tallies of cells that are hidden."""
    grid = PartGrid.of(protected.spanning)
    hidden, unknown = grid.suppressed(protected), grid.unknown(protected)
    off = {}
    plain = not protected.figures or (
        not protected.several_figures and protected.figures[0].kind == "count"
    )
    # Per figure, originals beside what is published.
    if figures:
        known = key_figure_pairs(ingredients, figures, protected, grid)
    elif ingredients:
        known = {
            name: Pairs.of_ingredient(item, protected, grid) for name, item in ingredients.items()
        }
    elif table is not None and plain:
        known = {"count": Pairs.of_table(table, protected, grid)}
    else:
        raise TableError(
            "figures other than counts are assessed through their ingredients",
            code="quality",
            where=protected.name,
            hint='give ingredients={"name": ingredient}',
        )
    for name, pairs in known.items():
        if pairs.whole:
            counts += count_statistics(pairs)
        else:
            off[name] = deviations(pairs)
    every = zip(grid.names(), grid.broken_down(), grid.sizes(), hidden, unknown, strict=True)
    return TableQuality(
        variables={d.name: finest_level(d) for d in grid.dimensions},
        parts=tuple(
            None if absent else PartQuality(names, depth, cells, bool(secret))
            for names, depth, cells, secret, absent in every
        ),
        figures={figure.name: figure.kind for figure in protected.figures} or {"count": "count"},
        states=states(protected, grid),
        counts=counts,
        deviations=off,
        sums=total_differences(protected, grid),
        reasons=dict(sorted(reasons.items())),
        twins=(0, 0) if table is None or figures or ingredients else twins(table, known["count"]),
        gates={
            name: ingredient.gate
            for name, ingredient in sorted(ingredients.items())
            if ingredient.gate is not None and ingredient.gate.cells
        },
    )


_CONTEXT = b"discreet quality log 1"
_FORMAT = "discreet-quality-log"
_VERSION = 2
_KEY_BYTES = 64
_SHORTEST_KEY = 16

#: Room for what is sealed, for each table part of each figure and besides.
_ROOM_PER_PART, _ROOM = 512, 4096


class QualityLog:
    """Tallies about the tables of a release (confidential).

    Args:
        tables: Name of table → what is known of it.

    >>> import polars as pl
    >>> from discreet.protection.noise import PerturbationTable, perturb
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [5, 3, 2], "key": [0.8, 0.5, 0.9]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    >>> ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    >>> log = QualityLog()
    >>> log.add("T1", table, perturb(table, ptable))
    >>> log
    <QualityLog (confidential): 1 tables>
    >>> QualityLog.opened(log.sealed(b"0" * 32), b"0" * 32).to_dict() == log.to_dict()
    True
    """

    def __init__(self, tables: Mapping[str, TableQuality] | None = None) -> None:
        self._tables = dict(tables or {})

    @property
    def tables(self) -> Mapping[str, TableQuality]:
        """Quality of each table, by name."""
        return MappingProxyType(dict(sorted(self._tables.items())))

    def add(
        self,
        name: str,
        table: Table | None,
        protected: ProtectedTable,
        *,
        ingredients: Mapping[str, Ingredient] | None = None,
        figures: Sequence[KeyFigure] = (),
        decisions: PartDecisions | None = None,
        hidden: Iterable[CountStatistics] = (),
    ) -> None:
        """Assess a table and keep the tallies, nothing else.

        Args:
            name: Name of the table; each is added once.
            table: The true table; None where ingredients say it all.
            protected: The table as it is published.
            ingredients: Name → what the table was made of, with originals, where it has
                figures other than plain counts.
            figures: The key figures it was derived with; without them, the ingredients
                are taken for the figures.
            decisions: The decisions about its parts, for the reasons they name.
            hidden: Tallies of suppressed cells that `table` lacks, by `without_parts`.
        """
        if name in self._tables:
            raise _twice(name)
        reasons = Counter(
            code
            for part in (decisions.parts if decisions is not None else ())
            if part.action == "suppressed"
            for code in {reason.code for reason in part.reasons}
        )
        counts, used = sum(hidden, CountStatistics.none()), ingredients or {}
        self._tables[name] = table_quality(table, protected, used, figures, reasons, counts)

    def merge(self, other: QualityLog) -> QualityLog:
        """A log with the tables of both.

        >>> QualityLog().merge(QualityLog())
        <QualityLog (confidential): 0 tables>
        """
        twice = sorted(set(self._tables) & set(other._tables))
        if twice:
            raise _twice(twice[0])
        return QualityLog({**self._tables, **other._tables})

    def only(self, *names: str) -> QualityLog:
        """A log with some of the tables."""
        missing = [name for name in names if name not in self._tables]
        if missing:
            message = "table not found in the log"
            raise TableError(message, code="quality", where=", ".join(missing))
        return QualityLog({name: self._tables[name] for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON takes it, in whole numbers and names. CONFIDENTIAL."""
        tables = {name: table.to_dict() for name, table in self.tables.items()}
        return {"format": _FORMAT, "version": _VERSION, "tables": tables}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> QualityLog:
        """The log that was written by `to_dict`."""
        try:
            if entry["format"] != _FORMAT or entry["version"] != _VERSION:
                raise _unreadable()
            tables = entry["tables"].items()
            return cls({name: TableQuality.from_dict(table) for name, table in tables})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise _unreadable() from None

    def sealed(self, key: bytes) -> bytes:
        """The log, encrypted. The same log and key give the same bytes.

        Equal bytes tell that nothing has changed, and nothing else: the nonce is made of
        the content, so none is ever used for two contents. The length depends on what is
        public, for that of the content grows with the maximum noise.

        Args:
            key: At least 16 secret bytes, such as the key of the release.
        """
        text = json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"))
        packed = zlib.compress(text.encode(), 6)
        # A number of bytes that the tallies fit, made of shapes only.
        places = sum(len(table.parts) * len(table.figures) for table in self._tables.values())
        room = _ROOM + _ROOM_PER_PART * places
        full = -(-len(packed) // room) * room
        return bytes(_cipher(key).encrypt(packed.ljust(full, b"\0"), [_CONTEXT]))

    @classmethod
    def opened(cls, sealed: bytes, key: bytes) -> QualityLog:
        """The log that was sealed with this key."""
        from cryptography.exceptions import InvalidTag

        try:
            padded = _cipher(key).decrypt(sealed, [_CONTEXT])
            text = zlib.decompressobj().decompress(padded)
        except (InvalidTag, ValueError, zlib.error):
            raise _unreadable() from None
        return cls.from_dict(json.loads(text))

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<QualityLog (confidential): {len(self)} tables>"


def _cipher(key: bytes) -> Any:
    """AES-SIV, which stays safe without random nonces, under a key made for this use only."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        raise PublicationError(
            f"the key of a quality log needs at least {_SHORTEST_KEY} bytes", code="quality-key"
        )
    derived = HKDF(algorithm=SHA256(), length=_KEY_BYTES, salt=None, info=_CONTEXT).derive(key)
    return AESSIV(derived)


def _twice(name: str) -> TableError:
    message, hint = "this table was assessed before", "add each table once"
    return TableError(message, code="quality", where=name, hint=hint)


def _unreadable() -> PublicationError:
    return PublicationError(
        "not the statistics of this release, or damaged",
        code="quality-log",
        hint="run the programme again for all tables",
    )


#: States in which a cell shows a number other than zero.
_NUMBERS = (CellStatus.published, CellStatus.bracketed, CellStatus.official)


#: The size class from which counts are large.
_LARGE = SIZE_CLASSES.index(10)
#: From so many cells, or pairs, on an alarm is given …
_FEWEST = 30
#: … where this share of them has the same noise.
_ALIKE = 0.9


class Overall:
    """All tables of a release together (confidential)."""

    def __init__(self, log: QualityLog) -> None:
        self.tables = log.tables

    # -- counts ------------------------------------------------------------------

    @cached_property
    def _noise_rows(self) -> IntArray:
        """Rows (depth, size class, noise, cells) over all tables."""
        return _with_depth((table, table.counts.noise) for table in self.tables.values())

    @cached_property
    def _other_rows(self) -> IntArray:
        """Rows (depth, size class, suppressed, official, to zero, relative)."""
        return _with_depth((table, table.counts.others) for table in self.tables.values())

    def noise(self, *, size_class: int | None = None, depth: int | None = None) -> Noise:
        """The noise of all counts, or of some."""
        parts = []
        for rows in (self._noise_rows, self._other_rows):
            keep = np.ones(len(rows), dtype=np.bool_)
            for column, wanted in ((0, depth), (1, size_class)):
                keep &= True if wanted is None else rows[:, column] == wanted
            parts.append(rows[keep])
        return Noise.of(*parts)

    @property
    def depths(self) -> list[int]:
        """Numbers of variables that are not at their total, as far as they occur."""
        return [int(depth) for depth in np.unique(self._noise_rows[:, 0])]

    @property
    def size_classes(self) -> range:
        """The numbers of the size classes."""
        return range(len(SIZE_CLASSES))

    def set_aside(self) -> dict[str, int]:
        """Numbers of cells with records that are not assessed, and changes from and to zero."""
        sums = [exact_sum(self._other_rows[:, at]) for at in (2, 3, 4)]
        numbers = dict(zip(("suppressed", "official", "changed_to_zero"), sums, strict=True))
        zeros = sum(table.counts.zeros_changed for table in self.tables.values())
        return {**numbers, "zeros_changed": zeros}

    def alarms(self) -> list[str]:
        """Signs of wrong record keys: "constant", "count-alone"."""
        large = Counter[int]()
        for size_class in self.size_classes[_LARGE:]:
            large.update(self.noise(size_class=size_class).cells)
        if large.total() >= _FEWEST and max(large.values()) >= _ALIKE * large.total():
            return ["constant"]
        pairs, alike = (sum(table.twins[at] for table in self.tables.values()) for at in (0, 1))
        return ["count-alone"] if pairs >= _FEWEST and alike >= _ALIKE * pairs else []

    # -- figures -----------------------------------------------------------------

    def deviations(self) -> dict[str, list[int]]:
        """Kind of figure → number of cells per class of relative deviation."""
        deviations: dict[str, list[int]] = {}
        for table in self.tables.values():
            for name, rows in table.deviations.items():
                kind = table.figures.get(name, name)
                cells = deviations.setdefault(kind, [0] * (len(DEVIATION_CLASSES) + 1))
                for _, at, size in rows.tolist():
                    cells[at] += size
        return dict(sorted(deviations.items()))

    def brackets(self) -> dict[str, tuple[int, int]]:
        """Kind of figure → cells in brackets, and cells that show a number. Public."""
        brackets: dict[str, list[int]] = {}
        for table in self.tables.values():
            kinds = list(table.figures.values())
            for figure, _, status, cells in table.states.tolist():
                pair = brackets.setdefault(kinds[figure], [0, 0])
                pair[0] += cells * (status == CellStatus.bracketed)
                pair[1] += cells * (status in _NUMBERS)
        return {kind: (pair[0], pair[1]) for kind, pair in sorted(brackets.items()) if pair[1]}

    # -- tables ------------------------------------------------------------------

    @property
    def grid_cells(self) -> int:
        """Number of cells of all tables. Public."""
        return sum(table.grid_cells for table in self.tables.values())

    @property
    def suppressed_cells(self) -> int:
        """Number of suppressed cells, single ones and those of parts. Public."""
        return sum(table.cells_in(CellStatus.suppressed) for table in self.tables.values())

    def shown(self) -> dict[Shown, int]:
        """Number of tables that are shown completely, in part or not at all. Public."""
        counts = Counter(table.shown for table in self.tables.values())
        states: tuple[Shown, ...] = ("complete", "thinned", "blocked")
        return {state: counts[state] for state in states}

    def shown_by_level(self) -> dict[tuple[str, str], dict[Shown, int]]:
        """Numbers of shown tables by variable and its finest level. Public."""
        counts: dict[tuple[str, str], dict[Shown, int]] = {}
        for table in self.tables.values():
            for variable, level in table.variables.items():
                if level != TOTAL:
                    none: dict[Shown, int] = {"complete": 0, "thinned": 0, "blocked": 0}
                    counts.setdefault((variable, level), none)[table.shown] += 1
        return dict(sorted(counts.items()))

    def reasons(self) -> dict[str, int]:
        """Reason → number of parts suppressed for it."""
        reasons = sum((Counter(table.reasons) for table in self.tables.values()), Counter[str]())
        return dict(sorted(reasons.items()))

    def sums(self) -> tuple[int, int, int, int]:
        """Totals compared with their parts, that differ, sum of |difference|, largest. Public."""
        rows = [row for table in self.tables.values() for row in table.sums.tolist()]
        compared, differing, absolute = (sum(row[at] for row in rows) for at in (1, 2, 3))
        return compared, differing, absolute, max((row[4] for row in rows), default=0)

    def __repr__(self) -> str:
        return f"<Overall (confidential): {len(self.tables)} tables>"


def _with_depth(tables: Iterable[tuple[TableQuality, IntArray]]) -> IntArray:
    """Rows of all tables, the number of the part replaced by that of its broken-down variables."""
    pieces = []
    for table, rows in tables:
        depth = np.array([0 if p is None else p.depth for p in table.parts], dtype=np.int64)
        piece = rows.copy()
        piece[:, 0] = depth[rows[:, 0]]
        pieces.append(piece)
    return np.concatenate(pieces) if pieces else np.zeros((0, 6), dtype=np.int64)


#: Statements are made about at least so many cells.
SUPPORT = 1_000

_STEP = 5

Bound = Literal["below", "at least", "at most"]


@dataclass(frozen=True, slots=True)
class QualityStatement:
    """One statement about a whole release. Public."""

    code: str  # stable name
    bound: Bound  # how the value bounds the true figure
    value: float  # the bound
    unit: str = ""  # "%" or nothing, for units counted

    def text(self, language: str = "en") -> str:
        """The statement in words.

        >>> QualityStatement("at-most-1", "at least", 65, "%").text("en")
        'At least 65 % of counts are unchanged or changed by 1.'
        """
        return words_of("statements", language)[self.code].format(number(self.value, language))

    def described(self) -> dict[str, Any]:
        """The statement as JSON takes it."""
        texts = {language: self.text(language) for language in ("en", "de")}
        return {**asdict(self), "text": texts}


def statements(overall: Overall) -> list[QualityStatement]:
    """The statements that can be made about a release.

    A statement that would say nothing ("at least 0 %") is left out.
    """
    listed = []
    noise = overall.noise()
    total = noise.total
    if total >= SUPPORT:
        well = 100 * noise.within(1) // total
        shares: dict[str, tuple[Bound, int]] = {
            "at-most-1": ("at least", min(well // _STEP * _STEP, 100 - _STEP)),  # never all
            "at-least-3": ("at most", _at_most(noise.beyond(3), total)),
            "at-least-4": ("at most", _at_most(noise.beyond(4), total)),
        }
        deviation = (2 * noise.absolute // total + 1) / 2
        listed.append(QualityStatement("mean-absolute-deviation", "below", deviation))
        listed += [
            QualityStatement(code, bound, share, "%")
            for code, (bound, share) in shares.items()
            if 0 < share < 100
        ]
    pairs = overall.brackets().values()
    bracketed, shown = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    share = _at_most(bracketed, shown) if shown else 100
    if bracketed and shown >= SUPPORT and share < 100:
        listed.append(QualityStatement("bracketed", "at most", share, "%"))
    compared, _, _, largest = overall.sums()
    if compared >= SUPPORT:
        listed.append(QualityStatement("sums", "at most", _rounded_up(largest)))
    return listed


def _at_most(part: int, whole: int) -> int:
    """The share in per cent, rounded up; never "none"."""
    return max(-(-(100 // _STEP) * part // whole) * _STEP, _STEP)


def _rounded_up(value: int) -> int:
    """The next of 10, 20, 50, 100, 200, 500, …

    >>> [_rounded_up(value) for value in (0, 11, 50, 51, 250)]
    [10, 20, 50, 100, 500]
    """
    power = 10
    while True:
        for step in (1, 2, 5):
            if value <= step * power:
                return step * power
        power *= 10
