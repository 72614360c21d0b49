"""What the releases of several periods tell together, and what a revision changes.

In: the protected tables of a run, and the folders of the earlier releases that its programme names.
Out: `PeriodChecks`: how often an attack on all of them succeeds, for the office only, and the list
of the cells that a revision changes, which readers see anyway; `release_changes` makes it of two
finished releases.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from discreet.errors import DiscreetError, Problem, PublicationError, raise_all
from discreet.protection.registry import protection
from discreet.release.inputs import Inputs
from discreet.release.run.data_checks import RevisionCheck
from discreet.release.state.memory import (
    EarlierTable,
    read_release,
    remembered_tables,
    table_statement,
    universe_of,
)
from discreet.tables import ProtectedTable

if TYPE_CHECKING:
    from discreet.assessment import PeriodReport


@dataclass(frozen=True, kw_only=True)
class PeriodChecks:
    """Results of the checks over the periods of a release."""

    attacked: PeriodReport | None = None  # the attack on all periods. SECRET
    changes: ReleaseChanges | None = None  # what a revision changes
    revision: RevisionCheck | None = None  # by how many units cells of a revision differ
    warnings: tuple[str, ...] = ()

    def sentences(self, language: str) -> Iterator[str]:
        """The figures of the attack and of the revision, for the office."""
        if not (self.attacked or self.changes or self.revision):
            return
        from discreet.release.report.sections import words

        if self.attacked is not None:
            rates, about = self.attacked.rates(), words(language)
            names = [self.attacked.pairs[0].first, *(pair.second for pair in self.attacked.pairs)]
            periods = ", ".join(dict.fromkeys(names))
            yield about["periods attacked"].format(periods, rates["proven"], rates["told"])
            if rates["average"] is not None:
                yield about["periods averaged"].format(100 * rates["average"])
        if self.changes is not None:
            changed = sum(cells.height for cells in self.changes.changed.values())
            stayed = sum(self.changes.stayed.values())
            yield words(language)["revision"].format(stayed, changed)
        if self.revision is not None:
            yield words(language)["revision units"].format(self.revision.few)


def period_checks(
    inputs: Inputs, tables: Mapping[str, ProtectedTable], revision: RevisionCheck | None
) -> PeriodChecks:
    """Attack the figures of all periods together, and list what a revision changes.

    Raises:
        PublicationError: If the attack finds more than [attacks] allows, or if a revision changes
            cells whose records did not change.
    """
    programme, period = inputs.programme, inputs.programme.document.period
    assert period is not None  # as `carry_out` has found
    warnings = []
    earlier = [
        [*read_release(programme.file(folder), number)]
        for number, folder in enumerate(period.earlier)
    ]
    attacked = None
    try:
        attacked = _attacked(inputs, tables, earlier)
        reason = "they share no tables with noise"
    except DiscreetError as error:
        reason = error.what
    if attacked is None:
        warnings.append(f"no attack was carried out on all periods: {reason}")
    stated = programme.document.attacks
    limits = {} if stated is None else stated.period_limits
    over = [] if attacked is None else attacked.exceeded(limits)
    if limits and attacked is None:
        over = ["the periods were not attacked"]
    many, where = "attacks on all periods exceed {} limits of [attacks]", str(programme.path)
    problems = [Problem(line, "attacks") for line in over]
    raise_all(PublicationError, problems, code="attacks", many=many, where=where)
    if not period.revision:
        return PeriodChecks(attacked=attacked, warnings=tuple(warnings))
    before = [items for items in earlier if items[0].about.get("period") == period.name][-1]
    changes = table_changes({item.table.name: item.table for item in before}, tables)
    if revision is None:
        warnings.append(
            "by how many units cells of the revision differ was not examined; add first to [period]"
        )
    else:
        _check_stayed(inputs, changes, revision)
    return PeriodChecks(
        attacked=attacked, changes=changes, revision=revision, warnings=tuple(warnings)
    )


def _attacked(
    inputs: Inputs, tables: Mapping[str, ProtectedTable], earlier: list[list[EarlierTable]]
) -> PeriodReport | None:
    """The attack on all tables with noise; None where there are none."""
    from discreet.assessment import attacked_periods

    programme, period = inputs.programme, inputs.programme.document.period
    assert period is not None
    every = [[(item.protect, item.about, item.table) for item in items] for items in earlier]
    every.append(
        [
            (programme.method(name).name, table_statement(programme, name), table)
            for name, table in tables.items()
        ]
    )
    periods = [items[0][1]["period"] for items in every]
    universes: dict[str, dict[str, list[ProtectedTable]]] = {}
    for at, items in enumerate(every):
        number = periods[: at + 1].count(periods[at])
        label = periods[at] if number == 1 else f"{periods[at]} ({number})"
        for protect, about, table in items:
            if protection(protect).attacked == "table":
                own = universes.setdefault(universe_of(about), {})
                own.setdefault(label, []).append(table)
    shared = {name: own for name, own in universes.items() if label in own and len(own) > 1}
    if not shared or inputs.parameters is None:
        return None
    # A revision keeps its keys, whatever later periods do: then the figures tell.
    option = None if period.revision and period.keys != "same" else period.keys
    averaged = programme.document.attacks is not None
    ptable = inputs.parameters.perturbation_table
    report = attacked_periods(shared, ptable, option, averaged=averaged)
    return replace(report, pairs=[replace(pair, examples=()) for pair in report.pairs])


def _check_stayed(inputs: Inputs, changes: ReleaseChanges, revision: RevisionCheck) -> None:
    """Refuse a revision whose counts change where no record did: it has other keys or noise."""
    problems = []
    for check in revision.tables:
        entry, cells = inputs.programme.tables[check.table], changes.changed.get(check.table)
        plain = inputs.programme.method(check.table).attacked == "table" and not (
            entry.figures or entry.value or entry.weight or entry.additive
        )
        if not plain or cells is None:
            continue
        by = cells.columns[:-4]
        moved = cells.filter(pl.col("first") != pl.col("revised"))
        if moved.height and by and not check.units.is_empty():
            moved = moved.join(check.units, on=by, how="anti")
        elif check.changed:
            continue
        if moved.height:
            message = f"{moved.height:,} cells changed, but not their records"
            hint = "use the keys, parameters and classifications of the first publication"
            problems.append(Problem(message, check.table, hint))
    many = "{} tables changed where their records did not"
    raise_all(PublicationError, problems, code="revision", many=many, where="period")


@dataclass(frozen=True, kw_only=True)
class ReleaseChanges:
    """The cells that a revision changes."""

    stayed: Mapping[str, int]  # table → number of cells with the same value and status
    changed: Mapping[str, pl.DataFrame]  # table → its changed cells, with both values
    single: Sequence[str]  # tables of one release only, or with other spanning variables

    def text(self) -> str:
        """Numbers of cells by table."""
        lines = [
            f"{name}: {len(cells):,} cells changed, {self.stayed[name]:,} stayed."
            for name, cells in self.changed.items()
        ]
        if self.single:
            lines.append(f"Not compared, in one release only: {', '.join(self.single)}.")
        return "\n".join(lines)

    def described(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        tables = {
            name: {"stayed": self.stayed[name], "changed": cells.to_dicts()}
            for name, cells in self.changed.items()
        }
        return {"tables": tables, "single": list(self.single)}

    def listed(self) -> pl.DataFrame:
        """All changed cells: table, codes of the cell, values and status in both releases."""
        rows = []
        for name, cells in self.changed.items():
            spanning = cells.columns[: cells.width - 4]
            codes = [f"{variable}=" + pl.col(variable).cast(pl.String) for variable in spanning]
            cell = pl.concat_str(codes, separator=", ") if codes else pl.lit("Total")
            values = pl.col("first", "revised").cast(pl.Float64)
            kinds = pl.col("first_status", "revised_status")
            rows.append(
                cells.select(pl.lit(name).alias("table"), cell.alias("cell"), values, kinds)
            )
        return pl.concat(rows) if rows else pl.DataFrame()


def release_changes(
    first: str | os.PathLike[str], revised: str | os.PathLike[str]
) -> ReleaseChanges:
    """Compare the published cells of a revision with those of the first release.

    Args:
        first: The folder of the first release.
        revised: The folder of the corrected one.

    Raises:
        PublicationError: If a folder is no release, or changed since it was signed.
    """
    before, after = (
        {name: kept.table for name, kept in remembered_tables(Path(folder)).items()}
        for folder in (first, revised)
    )
    return table_changes(before, after)


def table_changes(
    before: Mapping[str, ProtectedTable], after: Mapping[str, ProtectedTable]
) -> ReleaseChanges:
    """Compare the cells of tables with those of the same names."""
    stayed: dict[str, int] = {}
    changed: dict[str, pl.DataFrame] = {}
    single = [*(set(before) ^ set(after))]
    for name in sorted(set(before) & set(after)):
        cells, others = _cells(before[name], "first"), _cells(after[name], "revised")
        by = cells.columns[:-2]
        if by != others.columns[:-2]:
            single.append(name)
            continue
        if not by:
            both = pl.concat([cells, others], how="horizontal")
        else:
            both = cells.join(others, on=by, how="full", coalesce=True, maintain_order="left_right")
        both = both.select(*by, "first", "revised", "first_status", "revised_status")
        same = pl.col("first").eq_missing(pl.col("revised"))
        same &= pl.col("first_status").eq_missing(pl.col("revised_status"))
        changed[name] = both.filter(~same)
        stayed[name] = both.height - changed[name].height
    return ReleaseChanges(stayed=stayed, changed=changed, single=sorted(single))


def _cells(table: ProtectedTable, which: str) -> pl.DataFrame:
    """The listed cells of a table: codes, value, status."""
    frame = table.to_polars(complete=False)
    by = [name for name in frame.columns if name not in ("value", "status", "symbol")]
    value, status = pl.col("value").alias(which), pl.col("status").alias(f"{which}_status")
    return frame.select(pl.col(by).cast(pl.String), value, status)
