"""`audit`: what an attacker can still find out from tables with hidden cells. CONFIDENTIAL.

In: tables as they are published and, if at hand, the true ones with their sensitive cells.
Out: an `Audit` – which sensitive cells are not protected, which can be computed exactly,
intervals if asked for, what respondents can find out, and by how many percent of the truth
the largest contributions of a cell are overestimated at best.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from discreet.arrays import BoolArray, CellIndex, FloatArray, IntArray
from discreet.confidential import without_values
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.demands import (
    Demands,
    Earlier,
    hidden_in,
    occupied,
)
from discreet.protection.suppression.problem.empty_cells import (
    earlier_with_empty_cells,
    hides_empty_cells,
    with_empty_cells,
    zeros_of,
)
from discreet.protection.suppression.problem.equal_cells import VariableCode
from discreet.protection.suppression.problem.linked_tables import (
    COUNTS,
    TableCells,
    build_problem,
)
from discreet.protection.suppression.problem.parameters import Knowledge
from discreet.protection.suppression.problem.related_values import (
    RelatedValues,
    ValueCells,
    stated_relations,
    unpublished_values,
)
from discreet.protection.suppression.problem.system import (
    CellState,
    Confidential,
    SuppressionProblem,
)
from discreet.protection.suppression.problem.table_relations import units_of
from discreet.protection.suppression.proof.attacker import attack_intervals
from discreet.protection.suppression.proof.certificate import Certificate, certify
from discreet.protection.suppression.proof.insiders import (
    UNKNOWN_CONTRIBUTORS,
    insiders_of,
)
from discreet.protection.suppression.proof.singletons import (
    RespondentAudit,
    audit_respondents,
)
from discreet.protection.suppression.proof.whole_numbers import (
    held_in_whole_numbers,
    untested_notes,
)
from discreet.tables import (
    CellStatus,
    Contributions,
    ProtectedTable,
    Table,
    ValueRelation,
    single_figure,
)

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Estimates(Confidential):
    """Best estimates of contributions by other contributors of the same cell (confidential)."""

    cells: IntArray  # numbers of the problem cells that have at least two contributors
    #: By how many percent those next in size, together, overestimate the largest contribution
    of_largest: FloatArray
    #: By how many percent the largest contributor overestimates the second; infinite where the
    #: second contributes 0
    of_second: FloatArray

    @property
    def closest(self) -> float | None:
        """The smallest of all these percentages: the p that a p% rule keeps; None if empty."""
        both = np.concatenate([self.of_largest, self.of_second])
        return float(both.min()) if both.size else None


def _estimates(
    audited: Audit, members: TableCells, rows: Sequence[_Audited], most: int
) -> Estimates | None:
    """What contributors of sensitive cells can say of each other, where that is known.

    A contributor takes the highest possible value of the cell and subtracts what he knows:
    his own contribution, and those of his coalition of `most`. None if the tables do not hold
    the contributions needed: `most` + 1 unweighted ones.
    """
    value, tables = rows[0].value, [row.table for row in rows]
    if (
        not most
        or len({row.value for row in rows}) > 1
        or value is None
        or not all(value in table.contributions for table in tables)
    ):
        return None
    problem, units = audited.problem, 10.0**audited.problem.decimals
    _, high = attack_intervals(problem, audited.hidden, audited.sensitive)
    largest, second = np.full(len(problem), np.inf), np.full(len(problem), np.inf)
    several = np.zeros(len(problem), dtype=np.bool_)
    for place, table in zip(members.cells, tables, strict=True):
        known = table.contributions[value]
        if known.k <= most or known.top_weight is not None:
            return None
        mine = (place >= 0) & (known.count > 1)
        mine[mine] = audited.sensitive[place[mine]]
        first, other = _percent(known, mine, high[place[mine]] / units, most)
        np.minimum.at(largest, place[mine], first)
        np.minimum.at(second, place[mine], other)
        several[place[mine]] = True
    cells = np.flatnonzero(several)
    return Estimates(cells=cells, of_largest=largest[cells], of_second=second[cells])


def _percent(
    known: Contributions, mine: BoolArray, high: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    """By how many percent the largest and the second contribution are overestimated."""
    top = np.abs(np.nan_to_num(known.top[mine]))
    size = np.maximum(high, 0.0)
    by_next = size - top[:, 1 : 1 + most].sum(axis=1) - top[:, 0]
    by_first = size - top[:, 0] - top[:, 1]
    percents = []
    for beyond, truth in ((by_next, top[:, 0]), (by_first, top[:, 1])):
        share = np.divide(beyond, truth, out=np.full(len(truth), np.inf), where=truth > 0)
        percents.append(100.0 * share)
    return percents[0], percents[1]


_SHOWN = 20


class AuditOptions(TypedDict, total=False):
    """What `audit` can be told; see there."""

    value: str | None
    decimals: int
    knowledge: Knowledge | None
    same: Mapping[VariableCode, VariableCode] | None
    relations: Sequence[str | ValueRelation]
    repair: bool
    zero_cells: Literal["fixed", "partners"]
    intervals: bool
    coalition: int | None
    earlier: Sequence[Earlier]
    rounded: int | None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Audit:
    """What tables with hidden cells still tell (confidential).

    Args:
        problem: All their cells as one system.
        hidden: Which of these are hidden.
        sensitive: Which of these must be protected.
        certificate: A verdict for each sensitive cell.
        seconds: How long the audit took; not part of the digest.
        low: Lowest value of each hidden cell that an attacker finds possible, in the unit
            of the value; None unless asked for.
        high: The highest.
        respondents: What contributors can find out about cells of others; None if they were
            left out of account.
        estimates: How closely contributors of a cell can estimate each other; None unless
            asked for, and for tables without the contributions.
        notes: What users should know, in words.
        counted: Numbers of cells in the tables: "cells", "hidden", "sensitive", "secondaries";
            those of the problem, where equal cells are one, if None.
    """

    problem: SuppressionProblem
    hidden: BoolArray
    sensitive: BoolArray
    certificate: Certificate
    seconds: float = 0.0
    low: FloatArray | None = None
    high: FloatArray | None = None
    respondents: RespondentAudit | None = None
    estimates: Estimates | None = None
    notes: tuple[str, ...] = ()
    counted: Mapping[str, int] | None = None

    @property
    def safe(self) -> bool:
        """Whether every sensitive cell is proven to be protected, from contributors too."""
        inside = self.respondents is None or self.respondents.safe
        return inside and not len(self.certificate.unprotected)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Names of the sensitive cells that are not protected, or not hidden at all."""
        return tuple(self.problem.name(int(at)) for at in self.certificate.unprotected)

    @property
    def exact(self) -> tuple[str, ...]:
        """Names of those among them that anyone can compute exactly."""
        return tuple(self.problem.name(int(at)) for at in self.certificate.exact)

    def intervals(self) -> pl.DataFrame:
        """The hidden cells, each with its true value and its interval. CONFIDENTIAL."""
        import polars as pl

        if self.low is None or self.high is None:
            raise SuppressionError(
                "the audit has no intervals", code="intervals", hint="audit(…, intervals=True)"
            )
        cells = np.flatnonzero(self.hidden)
        units = 10.0**self.problem.decimals
        return pl.DataFrame(
            {
                "cell": [self.problem.name(int(at)) for at in cells],
                "sensitive": self.sensitive[cells],
                "value": self.problem.value[cells] / units,
                "low": self.low,
                "high": self.high,
            }
        )

    def digest(self) -> str:
        """SHA-256 over the problem, the hidden cells and the verdicts. CONFIDENTIAL."""
        digest = hashlib.sha256(b"discreet suppression audit 1")
        digest.update(self.problem.digest().encode())
        for mask in (self.hidden, self.sensitive):
            digest.update(np.packbits(mask).tobytes())
        cells = self.certificate.unprotected
        digest.update(np.ascontiguousarray(cells, dtype="<i8").tobytes())
        return digest.hexdigest()

    def described(self) -> dict[str, Any]:
        """The verdicts as plain values, for JSON; no true values."""
        counted = self.counted or {
            "cells": len(self.problem),
            "hidden": int(self.hidden.sum()),
            "sensitive": int(self.sensitive.sum()),
            "secondaries": int((self.hidden & ~self.sensitive).sum()),
        }
        fields: dict[str, Any] = {
            "table": self.problem.title,
            **counted,
            "cost": int(self.problem.cost[self.hidden & ~self.sensitive].sum()),
            "unprotected": len(self.certificate.unprotected),
            "exact": len(self.certificate.exact),
            "unheld_in_whole_numbers": self.certificate.untested,
            "unprotected_cells": list(self.unprotected),
            "safe": self.safe,
            "seconds": round(self.seconds, 3),
            "proof": self.digest(),
        }
        if self.respondents is not None:
            fields["respondents"] = self.respondents.described()
        if self.estimates is not None:
            fields["closest_estimate_percent"] = self.estimates.closest
        return fields

    def text(self) -> str:
        """The verdicts in words; no true values."""
        numbers = self.described()
        lines = [
            f"{numbers['hidden']:,} of {numbers['cells']:,} cells are hidden, "
            f"{numbers['sensitive']:,} are sensitive.",
            f"Unprotected: {numbers['unprotected']:,}, "
            f"of these exactly known: {numbers['exact']:,}.",
        ]
        lines += [f"  {name}" for name in self.unprotected[:_SHOWN]]
        more = len(self.unprotected) - _SHOWN
        lines += [f"  and {more:,} more"] if more > 0 else []
        if self.respondents is not None:
            lines += self.respondents.lines()
        if self.estimates is not None and self.estimates.closest is not None:
            lines.append(
                f"Contributions are overestimated by {self.estimates.closest:.1f} % or more."
            )
        lines.append(f"Proof {numbers['proof'][:16]}, {numbers['seconds']:.1f} seconds.")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def __repr__(self) -> str:
        return f"<Audit (confidential): {'safe' if self.safe else 'NOT safe'}>"


@without_values
def audit(
    safe: ProtectedTable | Sequence[ProtectedTable],
    tables: Table | Sequence[Table],
    primary: Any = None,
    **options: Unpack[AuditOptions],
) -> Audit:
    """Find out what an attacker can still learn from tables with hidden cells.

    It does not matter who hid the cells: this package, another tool, or nobody.

    Args:
        safe: The table as published, or several; of several values, or with several.
        tables: The true table of each.
        primary: What `discreet.primary` found, or a mask of sensitive cells; for several
            tables a list with one entry each, for a table of several values a list in the
            place of its entry. Without, every hidden cell counts as sensitive, and must
            not be known exactly.
        options: ``value``, ``decimals``, ``knowledge``, ``same``, ``repair`` as for
            `build_problem`; ``zero_cells``: "partners" if zeros may be hidden too (known where
            some are); ``relations``, ``earlier`` as for `suppress`; ``intervals``: work out
            exactly between which values each hidden cell can lie; ``coalition``: what
            this many contributors can learn together who know their own values. Unless told
            otherwise, what each can alone, for values whose sensitive cells are given; 0:
            nothing of the kind; ``rounded``: shown figures are rounded to multiples of this,
            by `discreet.protection.rounding.round_shown`: readers know them that far only.
            What contributors learn is worked out as if they stood there unrounded.

    >>> import polars as pl
    >>> from discreet import suppress
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> found = audit(suppress(table, table.count < 3, method="fast"), table, table.count < 3)
    >>> found.safe, found.unprotected
    (True, ())
    """
    began = time.monotonic()
    chosen = _checked(options)
    with_intervals, coalition = chosen.pop("intervals", False), chosen.pop("coalition", None)
    rounded, earlier = chosen.pop("rounded", None), chosen.get("earlier", ())
    listed = _listed(safe, tables, primary)
    chosen["reasons"] = told_reasons([*listed[0], *(item.hidden for item in earlier)])
    rows, problem, members = _problem(*_by_figure(*listed), chosen)
    blank = members.gathered(tuple(row.blank for row in rows), len(problem))
    shown = members.gathered(tuple(~row.blank for row in rows), len(problem))
    earlier = chosen.get("earlier", ())
    hidden = _with_earlier(blank & ~shown, problem, members, earlier)
    if rounded is not None:
        _check_rounded(rows, problem, members, rounded, earlier)
    audit_pattern = _audit_pattern(problem, hidden, rounded, with_intervals)
    respondents, notes = _respondents(audit_pattern, members, rows, coalition, earlier)
    if (both := int((blank & shown).sum())) > 0:
        notes.append(f"{both:,} hidden cells are published elsewhere, or equal one")
    return replace(
        audit_pattern,
        seconds=time.monotonic() - began,
        respondents=respondents,
        estimates=_estimates(audit_pattern, members, rows, coalition or 0),
        notes=(*members.notes, *audit_pattern.notes, *notes),
        counted=_counted(audit_pattern, members, rows),
    )


def _with_earlier(
    hidden: BoolArray, problem: SuppressionProblem, members: TableCells, earlier: Sequence[Earlier]
) -> BoolArray:
    """What is hidden beside what was published before: what was shown then is known."""
    if not earlier:
        return hidden
    every = tuple(np.ones(len(cells), dtype=np.bool_) for cells in members.cells)
    beside = ~members.gathered(every, len(problem))
    hidden = hidden | (problem.hidden & beside)
    for release, cells in zip(earlier, members.before, strict=True):
        shown = Demands.before(release, 1).fixed & (cells >= 0)
        hidden[cells[shown]] = False
    return hidden


def _respondents(
    audited: Audit,
    members: TableCells,
    rows: Sequence[_Audited],
    coalition: int | None,
    earlier: Sequence[Earlier],
) -> tuple[RespondentAudit | None, list[str]]:
    """What contributors find out, if that is asked for or can be told; and notes on it."""
    valued = [row.judged and row.value is not None for row in rows]
    if coalition == 0 or (coalition is None and not any(valued)):
        return None, []
    values = [row.value for row in rows]
    guarded = [bool(coalition) or own for own in valued]
    insiders = insiders_of(
        audited.problem, members, [(row.table, row.asked) for row in rows], values, guarded, earlier
    )
    if insiders is None and coalition is None:
        return None, [UNKNOWN_CONTRIBUTORS]
    alone = tuple(row.table.contributors(row.value) for row in rows)
    respondents = members.numbers(alone, len(audited.problem))
    both = audit_respondents(
        audited.problem, audited.hidden, respondents, most=coalition or 1, insiders=insiders
    )
    return both, []


def _counted(audited: Audit, members: TableCells, rows: Sequence[_Audited]) -> dict[str, int]:
    """Numbers of cells as they stand in the tables; whoever counts blanks finds the same."""
    shown = [(at, row.published) for at, row in enumerate(rows) if row.published is not None]
    hidden = sum(int((safe.status == CellStatus.suppressed).sum()) for _, safe in shown)
    both = audited.sensitive & audited.hidden
    secret = sum(int(members.hidden(both, at).sum()) for at, _ in shown)
    return {
        "cells": sum(int((members.cells[at] >= 0).sum()) for at, _ in shown),
        "hidden": hidden,
        "sensitive": sum(int(members.hidden(audited.sensitive, at).sum()) for at, _ in shown),
        "secondaries": hidden - secret,
    }


def told_reasons(
    published: Sequence[ProtectedTable | BoolArray],
) -> Literal["rule", "kind", "none"]:
    """What published tables tell of their hidden cells; masks tell nothing."""
    withheld = [item.withheld for item in published if isinstance(item, ProtectedTable)]
    kinds = {note.kind for item in withheld if item is not None for note in item.reasons}
    if not kinds:
        return "none"
    return "kind" if kinds <= {"primary", "secondary"} else "rule"


class _Audited(NamedTuple):
    """A published table of one value with its truth, its sensitive cells and its blanks."""

    published: ProtectedTable | None
    table: Table
    asked: Any
    blank: BoolArray
    value: str | None
    judged: bool


def _by_figure(
    published: Sequence[ProtectedTable], true: Sequence[Table], primaries: Sequence[Any]
) -> tuple[list[ProtectedTable], list[Table], list[Any]]:
    """Tables of several values as one for each."""
    rows: list[tuple[ProtectedTable, Table, Any]] = []
    for safe, table, primary in zip(published, true, primaries, strict=True):
        if not safe.several_figures:
            rows.append((safe, table, primary))
            continue
        listed = [None] * len(safe.figures) if primary is None else primary
        if not isinstance(listed, list | tuple) or len(listed) != len(safe.figures):
            message = "a table of several values is audited with what was found for each of them"
            raise SuppressionError(message, code="value", where=safe.name, hint="[primary(…), …]")
        rows += [(single_figure(safe, at), table, one) for at, one in enumerate(listed)]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _checked(options: AuditOptions) -> dict[str, Any]:
    unknown = sorted(set(options) - AuditOptions.__optional_keys__)
    if unknown:
        raise SuppressionError(f"there is no option {unknown[0]!r}", code="option", where="audit")
    return dict(options)


def _problem(
    published: Sequence[ProtectedTable],
    true: Sequence[Table],
    primaries: Sequence[Any],
    chosen: dict[str, Any],
) -> tuple[list[_Audited], SuppressionProblem, TableCells]:
    """One problem of everything that is audited, and the tables in its order."""
    values = _values(published, true, primaries, chosen)
    relations = stated_relations(chosen.pop("relations", ()))
    if chosen.get("earlier") and (len(set(values)) > 1 or relations):
        message = "what was published before is audited with one value at a time"
        raise SuppressionError(message, code="earlier", where="audit")
    rows = _with_blanks(published, true, primaries, values, chosen)
    if len(set(values)) > 1 or relations:
        return _several_values(rows, relations, chosen)
    chosen["value"] = values[0]
    chosen["zero_cells"] = _zero_cells(rows, chosen)
    return rows, *build_problem([(row.table, row.asked) for row in rows], **chosen)


def _with_blanks(
    published: Sequence[ProtectedTable],
    true: Sequence[Table],
    primaries: Sequence[Any],
    values: Sequence[str | None],
    chosen: dict[str, Any],
) -> list[_Audited]:
    """The tables with what is hidden in them; of counts with empty cells, where some are."""
    rows = []
    earlier: Sequence[Earlier] = chosen.get("earlier", ())
    grown = {
        value
        for safe, table, value in zip(published, true, values, strict=True)
        if value in COUNTS and hides_empty_cells(table, safe)
    }
    if earlier and values[0] in COUNTS:
        if any(hides_empty_cells(item.table, item.hidden) for item in earlier):
            grown.add(values[0])
        chosen["earlier"] = [earlier_with_empty_cells(e) if grown else e for e in earlier]
    for safe, table, primary, value in zip(published, true, primaries, values, strict=True):
        whole, judged = with_empty_cells(table, primary) if value in grown else (table, primary)
        blank = hidden_in(whole, safe)
        if judged is None:  # what is hidden, and not empty, counts as sensitive
            judged = blank & occupied(whole)
        rows.append(_Audited(safe, whole, judged, blank, value, primary is not None))
    return rows


def _zero_cells(
    rows: Sequence[_Audited], chosen: Mapping[str, Any]
) -> Literal["fixed", "partners"]:
    """Whether readers must reckon with hidden zeros: some are, or the tables say so."""
    if chosen.get("zero_cells") == "partners" or any(row.published is None for row in rows):
        return "partners"
    for row in rows:
        units = units_of(row.table, row.value, chosen.get("decimals", 0))
        counted = row.value in COUNTS or occupied(row.table)
        if (row.blank & (units == 0) & counted).any():
            return "partners"
    return zeros_of([row.published for row in rows if row.published is not None])


def _values(
    published: Sequence[ProtectedTable],
    true: Sequence[Table],
    primaries: Sequence[Any],
    chosen: Mapping[str, Any],
) -> list[str | None]:
    """The value of each table: as stated, as judged, or as it says itself."""
    if "value" in chosen:
        return [chosen["value"]] * len(published)
    judged = [item.value for item in primaries if hasattr(item, "value")]
    values = []
    for safe, table, primary in zip(published, true, primaries, strict=True):
        own = _value_of(safe, table)
        unsaid = own if own is not None or safe.figures or not judged else judged[0]
        values.append(getattr(primary, "value", unsaid))
    return values


def _several_values(
    rows: Sequence[_Audited], relations: Sequence[ValueRelation], chosen: dict[str, Any]
) -> tuple[list[_Audited], SuppressionProblem, TableCells]:
    """One problem of all values, with what adds up; the rows in its order."""
    more = unpublished_values([(row.table, row.value) for row in rows], relations)
    every = list(rows)
    for row in rows:
        for value, primary in more.pop(id(row.table), {}).items():
            every.append(_Audited(None, row.table, primary, primary.secondary, value, True))
    parts, ordered = [], []
    for value in dict.fromkeys(row.value for row in every):
        own = [row for row in every if row.value == value]
        shown = [row.published for row in own if row.published is not None]
        decimals = chosen.get("decimals", shown[0].figure_decimals() if shown else 0)
        options = {**chosen, "value": value, "decimals": 0 if value is None else decimals}
        options["zero_cells"] = _zero_cells(own, options)
        problem, members = build_problem([(row.table, row.asked) for row in own], **options)
        tables = tuple(row.table for row in own)
        parts.append(ValueCells(value=value, problem=problem, members=members, tables=tables))
        ordered += own
    related = RelatedValues(parts, relations, chosen.get("same"))
    return ordered, *related.joined(list(related.values))


def rounded_values(value: IntArray, base: int) -> IntArray:
    """Values at the nearest multiples of a base, halves up.

    >>> rounded_values(np.array([4, 5, 15, -5]), 10).tolist()
    [0, 10, 20, 0]
    """
    return np.asarray(np.floor_divide(2 * value + base, 2 * base) * base, dtype=np.int64)


def rounded_problem(
    problem: SuppressionProblem, hidden: BoolArray, rounded: int
) -> SuppressionProblem:
    """The problem as it is for readers of rounded figures: what is shown lies in an interval.

    That a cell is empty stays known, and that others are not.
    """
    base = rounded * 10**problem.decimals
    figure, value = rounded_values(problem.value, base), problem.value
    least, most = figure - base // 2, figure + (base - 1) // 2
    if not (value < 0).any():
        least = np.maximum(least, 1)
    known = hidden | (value == 0)
    low, high = (np.where(hidden, part, value) for part in (problem.low, problem.high))
    return replace(problem, low=np.where(known, low, least), high=np.where(known, high, most))


def _audit_pattern(
    problem: SuppressionProblem, hidden: BoolArray, rounded: int | None, intervals: bool
) -> Audit:
    """The audit for readers of what is shown; sensitive cells that are shown count as open."""
    if rounded is None:
        return audit_problem(problem, hidden, intervals=intervals)
    known = rounded_problem(problem, hidden, rounded)
    free = hidden | ((known.low < known.high) & (problem.state != CellState.primary))
    return audit_problem(known, hidden, intervals=intervals, free=free)


def _check_rounded(
    rows: Sequence[_Audited],
    problem: SuppressionProblem,
    members: TableCells,
    rounded: int,
    earlier: Sequence[Earlier],
) -> None:
    """Raise unless the figures that are shown are the true ones, rounded."""
    message = ""
    if type(rounded) is not int or rounded < 2:
        message = "figures are rounded to multiples of a whole number of at least 2"
    elif earlier or len({row.value for row in rows}) > 1:
        message = "rounded figures are audited one value at a time, without earlier tables"
    if message:
        raise SuppressionError(message, code="option", where="rounded")
    for at, row in enumerate(rows):
        if row.published is None:
            continue
        cells, shown = members.cells[at], _units_shown(row.published, row.table, problem.decimals)
        seen = (cells >= 0) & ~row.blank
        wanted = rounded_values(problem.value[cells[seen]], rounded * 10**problem.decimals)
        if (shown[seen] != wanted).any():
            message = "the figures that are shown are not the true ones, rounded to this base"
            raise SuppressionError(message, code="rounded", where=row.published.name)


def _units_shown(published: ProtectedTable, table: Table, decimals: int) -> IntArray:
    """The published figure of each cell of the true table, in units; 0 for none."""
    places: list[Any] = []
    for dimension in table.dimensions:
        at = [item.name for item in published.dimensions].index(dimension.name)
        codes = [dimension.index[code] for code in published.dimensions[at].codes]
        places.append(np.array(codes, dtype=np.int32)[published.index[at]])
    cells = CellIndex.of(table.dimensions)
    rows = cells.find(places, table.index, (published.stored, len(table)))
    units = np.rint(published.value * 10.0**decimals).astype(np.int64)
    return np.where(rows >= 0, units[np.maximum(rows, 0)], 0)


def audit_problem(
    problem: SuppressionProblem,
    hidden: BoolArray,
    *,
    intervals: bool = False,
    free: BoolArray | None = None,
) -> Audit:
    """Audit a pattern over the cells of a problem, with exact intervals if asked for."""
    open_cells = hidden if free is None else free
    began = time.monotonic()
    sensitive: BoolArray = problem.state == CellState.primary
    low = high = None
    if intervals:
        units = 10.0**problem.decimals
        whole = attack_intervals(problem, open_cells, hidden)
        low, high = (part[hidden] / units for part in whole)
    certificate = certify(problem, open_cells)
    certificate = held_in_whole_numbers(problem, open_cells, certificate)
    return Audit(
        problem=problem,
        hidden=hidden,
        sensitive=sensitive,
        certificate=certificate,
        notes=untested_notes(certificate),
        seconds=time.monotonic() - began,
        low=low,
        high=high,
    )


def _listed(
    safe: Any, tables: Any, primary: Any
) -> tuple[list[ProtectedTable], list[Table], list[Any]]:
    single = isinstance(safe, ProtectedTable)
    published = _several(safe, ProtectedTable)
    true = _several(tables, Table)
    primaries = [primary] if single else list(primary or [None] * len(published))
    if not published or len(true) != len(published) or len(primaries) != len(published):
        message = "an audit takes published tables and as many true ones"
        hint = "audit(safe, table, primary), or a list of each"
        raise SuppressionError(message, code="tables", hint=hint)
    return published, true, primaries


def _several(value: Any, kind: type[Any]) -> list[Any]:
    """One object or several of a kind as a list; nothing if they are of another kind."""
    listed = list(value) if isinstance(value, Sequence) else [value]
    return listed if all(isinstance(item, kind) for item in listed) else []


def _value_of(published: ProtectedTable, table: Table) -> str | None:
    """The value column that a published table shows, as it says itself."""
    named = published.figures[0].name if published.figures else None
    return named if named in table.sums else None
