"""Rounding as an operation: counts of one table become multiples of a base.

In: a table of counts (CONFIDENTIAL), settings, and a seed where figures are drawn (SECRET). Out: a
protected table; a study of what rounding costs, and which counts anyone can still work out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.confidential import without_values
from discreet.errors import DiscreetError
from discreet.operations.operation import CountSource, Keys, Operation
from discreet.operations.study import Study, StudyRemark, texts
from discreet.protection.rounding import RoundingSettings

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.tables import ProtectedTable

_PACKAGE = "discreet.protection.rounding"
_AT_ONCE = 500
#: What rounding never does.
_NEVER = ("hidden", "official", "zeros_changed")


@without_values
def _rounded(
    source: CountSource, settings: RoundingSettings, seed: Secret | None
) -> ProtectedTable:
    from discreet.protection.rounding import Rounding, round_linked

    how = Rounding(**settings.model_dump(), seed=seed)
    return round_linked([source.table], how, titles=source.titles)[0]


@without_values
def _studied(source: CountSource, settings: RoundingSettings, seed: Secret | None) -> Study:
    import numpy as np

    from discreet.assessment import TableComparison, published_at
    from discreet.protection.rounding import Rounding, audit_rounding
    from discreet.protection.suppression import table_relations
    from discreet.publication import number_text

    table, safe = source.table, _rounded(source, settings, seed)
    sums: int | None = None
    missed = 0
    # Cells without records stand in no relation, and are published as zero.
    filled = np.flatnonzero(table.count > 0)
    relations = table_relations(table, table.count > 0)[0]
    value = published_at(safe, table.index, len(table))[0]
    if not relations.residuals(table.count[filled]).any():
        sums = len(relations)
        missed = int(np.count_nonzero(relations.residuals(value[filled].astype(np.int64))))
    audit: Mapping[str, Any] | None = None
    audited: int | None = None
    told: Sequence[str] = ()
    unexamined = ""
    try:
        found = audit_rounding([safe], [table], Rounding(**settings.model_dump(), seed=seed))
        audit, audited = found.described(), int(found.sensitive.sum())
        told = found.unprotected
    except DiscreetError as error:  # totals of cells made elsewhere need not be sums
        unexamined = error.what
    compared = TableComparison(table, safe)

    def measures(language: str) -> Sequence[tuple[str, str]]:
        label = ROUNDING.words("told", language)
        true = table.count if table.weight is None else table.weight
        largest = number_text(float(np.abs(value - true)[filled].max(initial=0)), 0, language)
        kept = label["no_sums"]
        if sums is not None:
            kept = " ".join(
                (number_text(missed, 0, language), label["of"], number_text(sums, 0, language))
            )
        figure = compared.figures[0]
        rows = [(label["sums"], kept), (label["largest"], largest)]
        return [*rows, *compared.told(figure, language, _NEVER)]

    facts: dict[str, Any] = {
        "measures": {name: float(each) for name, each in compared.measures().items()},
        "sums": sums,
        "sums_missed": missed,
        "audited": audited,
        "can_be_worked_out": list(told),
        "not_audited": unexamined,
    }
    return Study(
        table=safe,
        truth=table,
        safe=None if audited is None else not told,
        unexamined=unexamined,
        audit=audit,
        facts=facts,
        remarks=_remarks(source, settings, audited, told, unexamined, drawn=seed is not None),
        measures=measures,
        hidden=None,
        notes=(),
    )


def _remarks(
    source: CountSource,
    settings: RoundingSettings,
    audited: int | None,
    told: Sequence[str],
    unexamined: str,
    *,
    drawn: bool,
) -> list[StudyRemark]:
    if audited is None:
        reason = {"en": unexamined, "de": unexamined}
        if source.table.weight is not None:
            reason = dict(texts(_PACKAGE, "estimates"))
        said = texts(_PACKAGE, "not_audited")
        whole = {language: f"{said[language]} {reason[language]}" for language in said}
        remarks = [StudyRemark(manner="care", text=whole)]
    elif told:
        text = texts(_PACKAGE, "told", told=len(told), audited=audited)
        hint = texts(_PACKAGE, "told_hint")
        remarks = [StudyRemark(manner="problem", text=text, names=told, hint=hint)]
    else:
        remarks = [StudyRemark(manner="good", text=texts(_PACKAGE, "uncertain", audited=audited))]
    if settings.additive and not settings.unbiased:
        remarks.append(StudyRemark(manner="quiet", text=texts(_PACKAGE, "optimal")))
    if settings.method == "random":
        remarks.append(StudyRemark(manner="care", text=texts(_PACKAGE, "averaged")))
    if drawn:
        remarks.append(StudyRemark(manner="quiet", text=texts(_PACKAGE, "drawn")))
    return remarks


def _keys(settings: RoundingSettings) -> Keys:
    if settings.method == "keyed":
        return "needed"
    return "used" if settings.unbiased else "unused"


ROUNDING = Operation(
    name="rounding",
    package=_PACKAGE,
    settings=RoundingSettings,
    section="rounding",
    takes=CountSource,
    keys=_keys,
    draws=lambda settings, keys: settings.method == "random" or (settings.unbiased and not keys),
    run=_rounded,
    study=_studied,
    at_once=_AT_ONCE,
    # All figures that are rounded together take their time.
    waits=lambda settings: _AT_ONCE if settings.additive else sys.maxsize,
    hurried=lambda settings: settings,
    # Pasted tables seldom have keys.
    begin=RoundingSettings(method="controlled"),
    command="round",
    example="discreet round cells.csv --by region,sex --count n --base 5 --method controlled "
    "--out table.csv",
    address="protect/rounding",
    calls=("round_table_cells", "study_rounded_cells"),
    job="round",
    page="rounding",
)
