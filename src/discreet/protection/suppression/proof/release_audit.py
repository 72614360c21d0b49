"""Audits of what is published already: tables with blanks from anywhere, and several releases.

`Blanks` of published cells, whoever hid some of them, need no true value; of releases that anyone
can lay side by side it is said which hidden cells of one the others show or let work out
(CONFIDENTIAL).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.disclosure import Knowledge, VariableCode, zeros_of
from discreet.protection.suppression.problem.demands import (
    Demands,
    Earlier,
    earlier_with_empty_cells,
    hides_empty_cells,
)
from discreet.protection.suppression.problem.linked_tables import COUNTS, build_problem
from discreet.protection.suppression.proof.audit import Audit, audit_problem, told_reasons
from discreet.protection.suppression.proof.joint_cubes import linked_with_earlier
from discreet.tables import ProtectedTable


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
