"""`audit`: what an attacker can still find out from tables with hidden cells. CONFIDENTIAL.

An `Audit` says which sensitive cells are not protected, which can be computed exactly, intervals if
asked for, what respondents can find out, and by how many percent of the truth the largest
contributions of a cell are overestimated at best.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Unpack

import numpy as np

from discreet.arrays import BoolArray, FloatArray, IntArray
from discreet.confidential import without_values
from discreet.disclosure import (
    DisclosureVerdict,
    Gap,
    Insiders,
    Judged,
    Knowledge,
    KnownZeros,
    LinkedTable,
    TableCells,
    VariableCode,
    figures_shown,
    insiders_of,
    units_of,
    zeros_of,
)
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.linked_tables import COUNTS, build_problem
from discreet.protection.suppression.problem.related_values import (
    RelatedValues,
    SharedOptions,
    ValueCells,
    stated_relations,
    unpublished_values,
)
from discreet.protection.suppression.problem.system import (
    CellState,
    Demands,
    Earlier,
    SuppressionProblem,
    earlier_with_empty_cells,
    hidden_in,
    hides_empty_cells,
    levels_against,
    occupied,
    with_empty_cells,
)
from discreet.protection.suppression.proof.certificate import (
    Certificate,
    attack_intervals,
    certify,
    held_in_joint_cubes,
    held_in_whole_numbers,
    linked_with_earlier,
    opened_to_insiders,
    untested_gaps,
)
from discreet.protection.suppression.proof.contributors import RespondentAudit, audit_respondents
from discreet.protection.suppression.settings import InsiderAim, checked_settings, share_of
from discreet.tables import CellStatus, ProtectedTable, Table, single_figure

if TYPE_CHECKING:
    import polars as pl

_SHOWN = 20


class AuditOptions(SharedOptions, total=False):
    """Options of `audit`; see there."""

    zero_cells: KnownZeros
    intervals: bool
    coalition: int | None
    rounded: int | None


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Audit(Judged):
    """Audit of tables with hidden cells (confidential).

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
        closest_estimate: By how many percent contributors of a cell overestimate its largest one
            at best: the p that a p% rule keeps. Infinite where no cell has several; None unless
            asked for, and for tables without the contributions.
        notes: What users should know, in words.
        gaps: What was not examined, besides what certificate and respondents say of it.
        accept: Names of gaps that count no longer.
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
    closest_estimate: float | None = None
    notes: tuple[str, ...] = ()
    gaps: tuple[Gap, ...] = ()
    accept: tuple[str, ...] = ()
    counted: Mapping[str, int] | None = None

    @property
    def judgement(self) -> DisclosureVerdict:
        """The verdict: every sensitive cell must be proven to be protected."""
        cells, gaps = self.certificate.unprotected, [*untested_gaps(self.certificate), *self.gaps]
        if self.respondents is not None:
            cells = np.union1d(cells, self.respondents.weakened)
            gaps += self.respondents.gaps
        return DisclosureVerdict.of((self.problem.name(int(at)) for at in cells), gaps, self.accept)

    @property
    def unprotected(self) -> tuple[str, ...]:
        """Names of the sensitive cells that are not protected, or not hidden at all."""
        return tuple(self.problem.name(int(at)) for at in self.certificate.unprotected)

    @property
    def opened(self) -> tuple[str, ...]:
        """The same, of releases side by side."""
        return self.unprotected

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
            **self.judgement.described(),
            "seconds": round(self.seconds, 3),
            "proof": self.digest(),
        }
        if self.respondents is not None:
            fields["respondents"] = self.respondents.described()
        if (closest := self.closest_estimate) is not None:
            fields["closest_estimate_percent"] = closest if np.isfinite(closest) else None
        return fields

    def text(self) -> str:
        """The verdicts in words; no true values."""
        numbers = self.described()
        lines = [
            f"{numbers['hidden']:,} of {numbers['cells']:,} cells are suppressed, "
            f"{numbers['sensitive']:,} are sensitive.",
            f"Unprotected: {numbers['unprotected']:,}, "
            f"of these exactly known: {numbers['exact']:,}.",
        ]
        lines += [f"  {name}" for name in self.unprotected[:_SHOWN]]
        more = len(self.unprotected) - _SHOWN
        lines += [f"  and {more:,} more"] if more > 0 else []
        if self.respondents is not None:
            lines += self.respondents.lines()
        closest = self.closest_estimate
        if closest is not None and np.isfinite(closest):
            lines.append(f"Contributions are overestimated by {closest:.1f} % or more.")
        lines += self.judgement.lines()
        lines.append(f"Proof {numbers['proof'][:16]}, {numbers['seconds']:.1f} seconds.")
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])


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
            nothing of the kind; ``insiders``: how near they may come, as for `suppress`: "levels"
            unless stated – `respondents.holds` is the strongest aim that holds; ``rounded``:
            shown figures are rounded to multiples of this, by
            `discreet.protection.rounding.round_shown`: readers know them that far only. What
            contributors learn is worked out as if they stood there unrounded; ``accept``: names
            of gaps, such as "joint cube of age, area", that count no longer; ``records``: what
            the tables were counted from: cells are known whatever columns are called;
            ``related_within`` as for `suppress`.

    Returns:
        An `Audit`. Its `verdict` is "safe", "open" or "not examined"; `safe` is true for the
        first only, and `judgement` lists what was not examined.

    >>> import polars as pl
    >>> from discreet import suppress
    >>> cells = pl.DataFrame({"sex": ["Total", "m", "w", "d"], "n": [18, 9, 7, 2]})
    >>> table = Table.from_cells(cells, by=["sex"], count="n")
    >>> found = audit(suppress(table, table.count < 3, method="fast"), table, table.count < 3)
    >>> found.verdict, found.unprotected
    ('safe', ())
    """
    began = time.monotonic()
    unknown = sorted(set(options) - AuditOptions.__optional_keys__)
    if unknown:
        raise SuppressionError(f"unknown option {unknown[0]!r}", code="option", where="audit")
    chosen: dict[str, Any] = dict(options)
    with_intervals, coalition = chosen.pop("intervals", False), chosen.pop("coalition", None)
    aim = checked_settings({"insiders": chosen.pop("insiders", None)}, "audit").insiders
    rounded, accept = chosen.pop("rounded", None), tuple(chosen.pop("accept", ()))
    published: Any = safe if isinstance(safe, Sequence) else [safe]
    before = [item.hidden for item in chosen.get("earlier", ())]
    chosen["reasons"] = told_reasons([*published, *before])
    rows, problem, members = _problem(_audited(safe, tables, primary, chosen), chosen)
    blank = members.gathered([row.blank for row in rows], len(problem))
    shown = members.gathered([~row.blank for row in rows], len(problem))
    # What is hidden beside, before or never published; what was shown before is known.
    beside = ~members.gathered([cells >= 0 for cells in members.cells], len(problem))
    hidden = (blank & ~shown) | (problem.hidden & beside)
    earlier: Sequence[Earlier] = chosen.get("earlier", ())
    for release, cells in zip(earlier, members.before, strict=True):
        hidden[cells[Demands.before(release).fixed & (cells >= 0)]] = False
    known, free = problem, hidden
    if rounded is not None:
        _check_rounded(rows, problem, members, rounded, earlier)
        known = rounded_problem(problem, hidden, rounded)
        # Sensitive cells that are shown count as open.
        free = hidden | ((known.low < known.high) & (problem.state != CellState.primary))
    values = [row.value for row in rows]
    linked = linked_with_earlier(members, [row.table for row in rows], values, earlier)
    pattern = audit_problem(known, hidden, intervals=with_intervals, free=free, tables=linked)
    respondents, gaps = _respondents(pattern, members, rows, coalition, aim, earlier, linked)
    notes = [*members.notes]
    if (both := int((blank & shown).sum())) > 0:
        notes.append(f"{both:,} suppressed cells are published elsewhere, or equal a published one")
    return replace(
        pattern,
        seconds=time.monotonic() - began,
        respondents=respondents,
        closest_estimate=_closest_estimate(pattern, members, rows, coalition or 0),
        notes=tuple(notes),
        gaps=(*gaps, *pattern.gaps, *members.unexamined),
        accept=accept,
        counted=_counted(pattern, members, rows),
    )


def audit_problem(
    problem: SuppressionProblem,
    hidden: BoolArray,
    *,
    intervals: bool = False,
    free: BoolArray | None = None,
    tables: Sequence[LinkedTable] = (),
) -> Audit:
    """Audit a pattern over the cells of a problem, with exact intervals if asked for.

    Cells that are `free` readers do not know exactly, hidden or not.
    """
    unknown = hidden if free is None else free
    began = time.monotonic()
    low = high = None
    if intervals:
        units = 10.0**problem.decimals
        low, high = (part[hidden] / units for part in attack_intervals(problem, unknown, hidden))
    certificate = held_in_whole_numbers(problem, unknown, certify(problem, unknown))
    certificate, gaps = held_in_joint_cubes(problem, unknown, certificate, tables)
    return Audit(
        problem=problem,
        hidden=hidden,
        sensitive=problem.state == CellState.primary,
        certificate=certificate,
        seconds=time.monotonic() - began,
        low=low,
        high=high,
        gaps=gaps,
    )


def told_reasons(
    published: Sequence[ProtectedTable | BoolArray],
) -> Literal["rule", "kind", "none"]:
    """Reasons that published tables give for hidden cells; masks give none."""
    withheld = [item.withheld for item in published if isinstance(item, ProtectedTable)]
    kinds = {note.kind for item in withheld if item is not None for note in item.reasons}
    if not kinds:
        return "none"
    return "kind" if kinds <= {"primary", "secondary"} else "rule"


# -- tables ----------------------------------------------------------------------------


class _Audited(NamedTuple):
    """A published table of one value with its truth, its sensitive cells and its blanks."""

    published: ProtectedTable | None
    table: Table
    asked: Any
    blank: BoolArray
    value: str | None
    judged: bool


def _audited(safe: Any, tables: Any, primary: Any, chosen: dict[str, Any]) -> list[_Audited]:
    """Published tables with the true ones and what was found in them; one row for each value.

    The value is that stated, that judged, or what a table says itself. Tables of counts get their
    empty cells, where some are hidden.
    """
    published, true = (list(i) if isinstance(i, Sequence) else [i] for i in (safe, tables))
    primaries = (
        [primary] if isinstance(safe, ProtectedTable) else list(primary or [None] * len(published))
    )
    sound = all(isinstance(one, ProtectedTable) for one in published)
    sound &= all(isinstance(table, Table) for table in true)
    if not sound or not 0 < len(published) == len(true) == len(primaries):
        message = "an audit takes published tables and as many true ones"
        hint = "audit(safe, table, primary), or a list of each"
        raise SuppressionError(message, code="tables", hint=hint)
    rows: list[tuple[ProtectedTable, Table, Any]] = []
    for one, table, asked in zip(published, true, primaries, strict=True):
        if not one.several_figures:
            rows.append((one, table, asked))
            continue
        listed = [None] * len(one.figures) if asked is None else asked
        if not isinstance(listed, list | tuple) or len(listed) != len(one.figures):
            message = "a table of several values is audited with what was found for each of them"
            raise SuppressionError(message, code="value", where=one.name, hint="[primary(…), …]")
        rows += [(single_figure(one, at), table, own) for at, own in enumerate(listed)]
    judged = next((asked.value for _, _, asked in rows if hasattr(asked, "value")), None)
    values = []
    for one, table, asked in rows:
        named = one.figures[0].name if one.figures else judged
        own = named if not one.figures or named in table.sums else None
        values.append(chosen.get("value", getattr(asked, "value", own)))
    earlier: Sequence[Earlier] = chosen.get("earlier", ()) if values[0] in COUNTS else ()
    grown = {
        value
        for (one, table, _), value in zip(rows, values, strict=True)
        if value in COUNTS and hides_empty_cells(table, one)
    }
    grown |= {values[0] for item in earlier if hides_empty_cells(item.table, item.hidden)}
    if grown and earlier:
        chosen["earlier"] = [earlier_with_empty_cells(item) for item in earlier]
    audited = []
    for (one, table, asked), value in zip(rows, values, strict=True):
        whole, found = with_empty_cells(table, asked) if value in grown else (table, asked)
        blank = hidden_in(whole, one)
        if asked is None:  # what is hidden, and not empty, counts as sensitive
            found = blank & occupied(whole)
        audited.append(_Audited(one, whole, found, blank, value, asked is not None))
    return audited


def _problem(
    rows: list[_Audited], chosen: dict[str, Any]
) -> tuple[list[_Audited], SuppressionProblem, TableCells]:
    """One problem of everything that is audited, and the tables in its order."""
    relations = stated_relations(chosen.pop("relations", ()))
    near = {name: chosen.pop(name) for name in ("related_within",) if name in chosen}
    if len({row.value for row in rows}) == 1 and not relations:
        chosen |= {"value": rows[0].value, "zero_cells": _zero_cells(rows, chosen)}
        return rows, *build_problem([(row.table, row.asked) for row in rows], **chosen)
    if chosen.get("earlier"):
        message = "what was published before is audited with one value at a time"
        raise SuppressionError(message, code="earlier", where="audit")
    more = unpublished_values([(row.table, row.value) for row in rows], relations)
    every = rows + [
        _Audited(None, row.table, asked, asked.secondary, value, True)
        for row in rows
        for value, asked in more.pop(id(row.table), {}).items()
    ]
    parts, ordered = [], []
    for value in dict.fromkeys(row.value for row in every):
        own = [row for row in every if row.value == value]
        shown = next((row.published for row in own if row.published is not None), None)
        decimals = chosen.get("decimals", 0 if shown is None else shown.figure_decimals())
        options = {**chosen, "value": value, "decimals": 0 if value is None else decimals}
        options["zero_cells"] = _zero_cells(own, options)
        problem, members = build_problem([(row.table, row.asked) for row in own], **options)
        tables = tuple(row.table for row in own)
        parts.append(ValueCells(value=value, problem=problem, members=members, tables=tables))
        ordered += own
    same, records = chosen.get("same"), chosen.get("records")
    related = RelatedValues(parts, relations, same, records=records, **near)
    return ordered, *related.joined(list(related.values))


def _zero_cells(rows: Sequence[_Audited], chosen: Mapping[str, Any]) -> KnownZeros:
    """Whether readers must reckon with hidden zeros: some are, or the tables say so."""
    if chosen.get("zero_cells") == "partners" or any(row.published is None for row in rows):
        return "partners"
    for row in rows:
        units = units_of(row.table, row.value, chosen.get("decimals", 0))
        counted = row.value in COUNTS or occupied(row.table)
        if (row.blank & (units == 0) & counted).any():
            return "partners"
    return zeros_of([row.published for row in rows if row.published is not None])


def _counted(audited: Audit, members: TableCells, rows: Sequence[_Audited]) -> dict[str, int]:
    """Numbers of cells as they stand in the tables; whoever counts blanks finds the same."""
    numbers = dict.fromkeys(("cells", "hidden", "sensitive", "secondaries"), 0)
    for at, row in enumerate(rows):
        if row.published is not None:
            hidden = int((row.published.status == CellStatus.suppressed).sum())
            secret = int(members.hidden(audited.sensitive & audited.hidden, at).sum())
            numbers["cells"] += int((members.cells[at] >= 0).sum())
            numbers["hidden"] += hidden
            numbers["sensitive"] += int(members.hidden(audited.sensitive, at).sum())
            numbers["secondaries"] += hidden - secret
    return numbers


# -- contributors ----------------------------------------------------------------------


def _respondents(
    audited: Audit,
    members: TableCells,
    rows: Sequence[_Audited],
    coalition: int | None,
    aim: InsiderAim | None,
    earlier: Sequence[Earlier],
    linked: Sequence[LinkedTable],
) -> tuple[RespondentAudit | None, list[Gap]]:
    """What contributors find out, if that is asked for or can be told; and what is not known."""
    problem, hidden = audited.problem, audited.hidden
    wanted = bool(coalition) or aim is not None
    guarded = [wanted or (row.judged and row.value is not None) for row in rows]
    if coalition == 0 or aim == "off" or not any(guarded):
        return None, []
    values, sources = [row.value for row in rows], [(row.table, row.asked) for row in rows]
    insiders = insiders_of(
        problem.relations, problem.value, members, sources, values, guarded, earlier
    )
    if insiders is None and not wanted:
        return None, [Gap("contributors")]
    respondents = members.numbers([r.table.contributors(r.value) for r in rows], len(problem))
    if insiders is None:
        insiders = Insiders.each_apart(respondents)

    def against(share: float) -> RespondentAudit:
        levelled = levels_against(problem, share)
        return audit_respondents(
            levelled, hidden, respondents, most=coalition or 1, insiders=insiders
        )

    full, share = against(1.0), share_of(aim or "levels")
    both = replace(full, share=share)
    if share != 1 and not full.safe:
        both = replace(against(share), share=share, nearest=full.nearest)
    opened, gaps = opened_to_insiders(problem, hidden, insiders, linked, both.most)
    return replace(both, weakened=np.union1d(both.weakened, opened)), list(gaps)


def _closest_estimate(
    audited: Audit, members: TableCells, rows: Sequence[_Audited], most: int
) -> float | None:
    """By how many percent the largest contributions of sensitive cells are overestimated at best.

    The next contributors in size, a coalition of `most`, subtract what is theirs from the highest
    possible value of the cell; no others come nearer to any contribution. None if the tables do not
    hold the contributions needed: `most` + 1 unweighted ones.
    """
    value = rows[0].value
    if (
        not most
        or value is None
        or any(row.value != value or value not in row.table.contributions for row in rows)
    ):
        return None
    problem, closest = audited.problem, np.inf
    _, high = attack_intervals(problem, audited.hidden, audited.sensitive)
    size = np.maximum(high / 10.0**problem.decimals, 0.0)
    for place, row in zip(members.cells, rows, strict=True):
        known = row.table.contributions[value]
        if known.k <= most or known.top_weight is not None:
            return None
        mine = (place >= 0) & (known.count > 1)
        mine[mine] = audited.sensitive[place[mine]]
        top = np.abs(np.nan_to_num(known.top[mine]))
        beyond, largest = size[place[mine]] - top[:, : 1 + most].sum(axis=1), top[:, 0]
        share = np.divide(beyond, largest, out=np.full(len(top), np.inf), where=largest > 0)
        closest = min(closest, 100.0 * float(share.min(initial=np.inf)))
    return closest


# -- rounded figures -------------------------------------------------------------------


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
        cells = members.cells[at]
        _, shown = figures_shown(row.published, row.table, problem.decimals)
        seen = (cells >= 0) & ~row.blank
        wanted = rounded_values(problem.value[cells[seen]], rounded * 10**problem.decimals)
        if (shown[seen] != wanted).any():
            message = "the figures that are shown are not the true ones, rounded to this base"
            raise SuppressionError(message, code="rounded", where=row.published.name)


# -- several releases ------------------------------------------------------------------


def check_releases(
    releases: Sequence[Earlier],
    *,
    value: str | None = None,
    decimals: int = 0,
    knowledge: Knowledge | None = None,
    same: Mapping[VariableCode, VariableCode] | None = None,
    records: Any = None,
) -> Audit:
    """Say what tables that were protected apart tell together.

    Args:
        releases: Tables with what each of them hides, and its sensitive cells if known;
            without, every cell that one of them hides counts as sensitive. The newest comes
            last; values of others may have changed since.
        value: The value column that was published; None for counts.
        decimals: Digits that were published.
        knowledge: What attackers know beforehand.
        same: Codes that mean the same as a code of another variable.
        records: What all tables were counted from: cells that are the same records, or add up,
            are known whatever columns are called. Without, cells are known by name.

    Returns:
        An `Audit` of all their cells; hidden are those that no release shows.

    >>> import numpy as np
    >>> import polars as pl
    >>> from discreet import Table
    >>> def counts(**codes):
    ...     return Table.from_cells(pl.DataFrame(codes), by=[next(iter(codes))], count="n")
    >>> old = counts(region=["Total", "N", "S", "W"], n=[9, 2, 3, 4])
    >>> new = counts(region=["Total", "N", "S", "W"], n=[9, 2, 3, 4])
    >>> first = Earlier(table=old, hidden=np.array([False, True, True, False]))
    >>> second = Earlier(table=new, hidden=np.array([False, True, False, True]))
    >>> check_releases([first, second]).opened
    ('region=N', 'region=S', 'region=W')
    """
    if value in COUNTS and any(hides_empty_cells(each.table, each.hidden) for each in releases):
        releases = [earlier_with_empty_cells(release) for release in releases]
    known = [Demands.before(item, value) for item in releases]
    if all(release.primary is None for release in releases):  # what is hidden counts as sensitive
        releases = [
            replace(item, primary=own.secondary) for item, own in zip(releases, known, strict=True)
        ]
        known = [replace(own, sensitive=own.secondary) for own in known]
    *before, last = releases
    shown = [item.hidden for item in releases if isinstance(item.hidden, ProtectedTable)]
    problem, members = build_problem(
        [(last.table, known[-1])], value=value, decimals=decimals, cost="unity",
        knowledge=knowledge, zero_cells=zeros_of(shown), earlier=before, same=same,
        reasons=told_reasons(shown), records=records, strict=False,
    )  # fmt: skip
    hidden = ~members.gathered([own.fixed for own in (known[-1], *known[:-1])], len(problem))
    # Combinations of other data are others.
    linked = (
        [] if len(members.changed) else linked_with_earlier(members, [last.table], [value], before)
    )
    found = audit_problem(problem, hidden, tables=linked)
    return replace(found, gaps=(*members.unexamined, *found.gaps))
