"""Whether geographies of a programme differ by few records: slivers.

In: the opened `Inputs` of a programme with a section [slivers]. Out: one error that says between
which geographies there are slivers, before anything is published; not where, nor how many records.
CONFIDENTIAL records are counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any

from discreet.errors import Problem
from discreet.microdata import KeyedBefore, distant_records
from discreet.record_batches import collected
from discreet.release.inputs import Inputs
from discreet.release.programme.file import raise_problems
from discreet.release.programme.variables import used_variables

if TYPE_CHECKING:
    import narwhals as nw

_RECORDS = "number of records"


def check_slivers(inputs: Inputs) -> None:
    """Raise an error if unions of areas differ by fewer records than the programme states."""
    if inputs.programme.document.slivers is not None:
        raise_problems(inputs.programme.place, list(_problems(inputs)))


def _problems(inputs: Inputs) -> Iterator[Problem]:
    from discreet.assessment import find_slivers

    programme = inputs.programme
    stated = programme.document.slivers
    assert stated is not None
    for (source, where), areas in _compared(inputs).items():
        if len(areas) < 2:
            continue
        if isinstance(distant_records(inputs.records[source]), KeyedBefore):
            message = "geographic differencing needs records, not a store or partial aggregates"
            hint = "run discreet find-slivers before building them; remove [slivers]"
            yield programme.problem(("slivers", "areas"), message, hint)
            continue
        counts = _counts(inputs, source, where, dict(areas))
        for pair in combinations(areas, 2):
            report = find_slivers(
                counts, *pair, least=stated.least, count=_RECORDS, effort=stated.effort
            )
            both = f"{' and '.join(pair)}{f', where {where}' if where else ''}"
            if report.slivers:
                message = (
                    f"{len(report.slivers):,} differences of areas with fewer than "
                    f"{stated.least} records"
                )
                hint = "to list them and merge areas, run: discreet find-slivers"
                yield programme.problem(("slivers", "least"), f"{message} between {both}", hint)
            if not report.complete and not stated.partly:
                message = (
                    f"not all unions of more than {report.searched} areas were examined: {both}"
                )
                hint = "raise effort, or accept it with partly = true"
                yield programme.problem(("slivers", "effort"), message, hint)


def _compared(inputs: Inputs) -> dict[tuple[str, str], dict[str, str]]:
    """Per source and filter the geographies of its tables, with their columns."""
    programme = inputs.programme
    stated = programme.document.slivers
    assert stated is not None
    found: dict[tuple[str, str], dict[str, str]] = {}
    for name, table in programme.tables.items():
        used = {*(table.by or []), *used_variables(programme, name)}
        areas = found.setdefault((programme.source_of(name).name, table.where or ""), {})
        for area in stated.areas:
            if area in used:
                columns = programme.columns_of(area) if area in programme.variables else []
                areas[area] = columns[-1][1] if columns else area
    return found


def _counts(inputs: Inputs, source: str, where: str, areas: dict[str, str]) -> Any:
    """How many records lie in each combination of areas."""
    import narwhals as nw

    from discreet.tabulation import Query

    records: nw.LazyFrame[Any] = inputs.records[source].lazy()
    condition = Query(by=[], where=where or None).condition(records.collect_schema())
    records = records if condition is None else records.filter(condition)
    parts = [nw.col(column).cast(nw.String).alias(area) for area, column in areas.items()]
    grouped = records.select(parts).group_by(list(areas), drop_null_keys=False)
    return collected(grouped.agg(nw.len().alias(_RECORDS)))
