"""Rounding as an operation: counts become multiples of a base; and additivity afterwards.

In: a table of counts (CONFIDENTIAL), settings, and a seed where figures are drawn (SECRET). Out: a
protected table; a study of what rounding costs, and which counts anyone can still work out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from discreet.confidential import without_values
from discreet.errors import DiscreetError, Problem, TableError, raise_all
from discreet.operations.operation import (
    AT_ONCE,
    CountSource,
    Keys,
    Operation,
    ProtectedSource,
)
from discreet.operations.study import MethodReport, Study, StudyRemark, compared_study, texts
from discreet.protection.rounding import AdditivitySettings, RoundingSettings

if TYPE_CHECKING:
    from discreet.disclosure import DisclosureVerdict
    from discreet.microdata import Secret
    from discreet.tables import ProtectedTable

_PACKAGE = "discreet.protection.rounding"
#: What rounding never does.
_NEVER = ("hidden", "official", "zeros_changed")


@without_values
def _rounded(
    source: CountSource, settings: RoundingSettings, seed: Secret | None
) -> ProtectedTable:
    from discreet.protection.rounding import Rounding, round_linked

    how = Rounding(**settings.model_dump(), seed=seed)
    return round_linked([source.table], how, titles=source.titles)[0]


class _RoundingVerdict(NamedTuple):
    """What an audit of rounded counts comes to."""

    audit: Mapping[str, Any] | None  # for programs; None if it was not possible
    counts: int | None  # how many counts were examined
    verdict: DisclosureVerdict

    @property
    def unexamined(self) -> str:
        """Why it was not possible."""
        return self.verdict.gaps[0].about if self.audit is None else ""


def _audited(
    source: CountSource, settings: RoundingSettings, seed: Secret | None, safe: ProtectedTable
) -> _RoundingVerdict:
    from discreet.disclosure import DisclosureVerdict, Gap
    from discreet.protection.rounding import Rounding, audit_rounding

    how = Rounding(**settings.model_dump(), seed=seed)
    try:
        audit = audit_rounding([safe], [source.table], how)
    except DiscreetError as error:  # totals of cells made elsewhere need not be sums
        gap = Gap("estimates", error.what)
        return _RoundingVerdict(None, None, DisclosureVerdict.of((), [gap]))
    return _RoundingVerdict(audit.described(), int(audit.sensitive.sum()), audit.judgement)


@without_values
def _reported(
    source: CountSource, settings: RoundingSettings, seed: Secret | None, safe: ProtectedTable
) -> MethodReport:
    audited = _audited(source, settings, seed, safe)
    facts: dict[str, Any] = {"audit": audited.audit}
    facts |= {"not_audited": audited.unexamined} if audited.unexamined else {}
    return MethodReport(
        facts=facts, remarks=_remarks(source, settings, audited, drawn=seed is not None)
    )


@without_values
def _studied(source: CountSource, settings: RoundingSettings, seed: Secret | None) -> Study:
    import numpy as np

    from discreet.assessment import published_at
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
    audited = _audited(source, settings, seed, safe)
    study = compared_study(
        table,
        safe,
        facts={
            "sums": sums,
            "sums_missed": missed,
            "audited": audited.counts,
            "can_be_worked_out": list(audited.verdict.opened),
            "not_audited": audited.unexamined,
            **audited.verdict.described(),
        },
        remarks=_remarks(source, settings, audited, drawn=seed is not None),
        leave_out=_NEVER,
    )

    def measures(language: str) -> Sequence[tuple[str, str]]:
        label = ROUNDING.words("told", language)
        true = table.count if table.weight is None else table.weight
        largest = number_text(float(np.abs(value - true)[filled].max(initial=0)), 0, language)
        kept = label["no_sums"]
        if sums is not None:
            kept = " ".join(
                (number_text(missed, 0, language), label["of"], number_text(sums, 0, language))
            )
        rows = [(label["sums"], kept), (label["largest"], largest)]
        return [*rows, *study.measures(language)]

    return replace(
        study,
        verdict=audited.verdict,
        audit=audited.audit,
        measures=measures,
    )


def _remarks(
    source: CountSource, settings: RoundingSettings, audited: _RoundingVerdict, *, drawn: bool
) -> list[StudyRemark]:
    if audited.counts is None:
        reason = {"en": audited.unexamined, "de": audited.unexamined}
        if source.table.weight is not None:
            reason = dict(texts(_PACKAGE, "estimates"))
        intro = texts(_PACKAGE, "not_audited")
        whole = {language: f"{intro[language]} {reason[language]}" for language in intro}
        remarks = [StudyRemark(manner="care", text=whole)]
    elif names := audited.verdict.opened:
        text = texts(_PACKAGE, "told", told=len(names), audited=audited.counts)
        hint = texts(_PACKAGE, "told_hint")
        remarks = [StudyRemark(manner="problem", text=text, names=names, hint=hint)]
    else:
        text = texts(_PACKAGE, "uncertain", audited=audited.counts)
        remarks = [StudyRemark(manner="good", text=text)]
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
    report=_reported,
    # All figures that are rounded together take their time.
    waits=lambda settings: AT_ONCE if settings.additive else sys.maxsize,
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


@without_values
def _added_up(
    source: ProtectedSource, settings: AdditivitySettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.rounding import make_additive

    return make_additive(_given(source, settings))


def _given(source: ProtectedSource, settings: AdditivitySettings) -> ProtectedTable:
    """The table as it was protected, with the totals that stay."""
    import numpy as np

    from discreet.tables import CellStatus

    table = source.table
    by = [dimension.name for dimension in table.dimensions]
    problems = [
        Problem(
            f"{name!r} is not a spanning variable of the table", "official", f"by: {', '.join(by)}"
        )
        for name in settings.official
        if name not in by
    ]
    raise_all(TableError, problems, code="by", where="official")
    status = np.full(len(table), CellStatus.published, dtype=np.int8)
    for name in settings.official:
        others = [part for variable, part in zip(by, table.index, strict=True) if variable != name]
        status[np.all([part == 0 for part in others], axis=0)] = CellStatus.official
    return replace(source.protected("additivity"), status=status)


def _cost(
    source: ProtectedSource,
    settings: AdditivitySettings,
    secret: Secret | None,
    safe: ProtectedTable,
) -> MethodReport:
    from discreet.protection.rounding import AdditivityCost

    cost = AdditivityCost.of([_given(source, settings)], [safe])
    text = (
        f"{cost.changed:,} of {cost.cells:,} values changed, by {cost.mean:.2f} on average and "
        f"{cost.largest:.0f} at most. On average, {cost.exposure:.1f} independent values "
        "estimate each one."
    )
    remark = StudyRemark(manner="quiet", text=cost.note(alone=True).texts)
    facts = asdict(cost)
    facts["exposure"] = cost.exposure if math.isfinite(cost.exposure) else None
    return MethodReport(text=text, facts=facts, remarks=(remark,))


@without_values
def _added_up_study(
    source: ProtectedSource, settings: AdditivitySettings, secret: Secret | None
) -> Study:
    safe = _added_up(source, settings, secret)
    report = _cost(source, settings, secret, safe)
    study = compared_study(source.table, safe, facts=report.facts, remarks=report.remarks)
    return replace(study, truth=None)


ADDITIVITY = Operation(
    name="additivity",
    package=_PACKAGE,
    settings=AdditivitySettings,
    section="additivity",
    takes=ProtectedSource,
    run=_added_up,
    study=_added_up_study,
    report=_cost,
    waits=lambda settings: AT_ONCE,
    begin=AdditivitySettings(),
    command="make-additive",
    example="discreet make-additive table.csv --by region,sex --value value --out additive.csv",
    address="protect/additivity",
    calls=("make_table_additive", "study_additive_cells"),
    job="make-additive",
    page="additivity",
)
