"""Controlled tabular adjustment as an operation: figures move instead of being hidden.

In: a table and what is sensitive in it (CONFIDENTIAL), settings, and a secret where moves are drawn
(SECRET). Out: a protected table; a study of what it costs, and whether it stays open on which side
of each published figure the true one lies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.confidential import without_values
from discreet.operations.operation import AT_ONCE, Operation, SensitiveSource
from discreet.operations.study import (
    MethodReport,
    Study,
    StudyRemark,
    compared_study,
    gap_remarks,
    texts,
)
from discreet.protection.adjustment import AdjustmentSettings

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.protection.adjustment import Adjustment
    from discreet.tables import ProtectedTable

_PACKAGE = "discreet.protection.adjustment"


def _asked(source: SensitiveSource, secret: Secret | None) -> dict[str, Any]:
    return {
        "secret": secret,
        "value": source.value,
        "decimals": source.decimals,
        "titles": source.titles,
    }


@without_values
def _adjusted(
    source: SensitiveSource, settings: AdjustmentSettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.adjustment import adjust

    options = {**settings.model_dump(), **_asked(source, secret)}
    safe: ProtectedTable = adjust(source.table, source.primary, **options)
    return safe


def _numbers(done: Adjustment) -> dict[str, int]:
    """How many figures are sensitive, and how many others changed."""
    sensitive = len(done.problem.primary)
    return {"sensitive": sensitive, "changed": int((done.moves.change != 0).sum()) - sensitive}


@without_values
def _studied(source: SensitiveSource, settings: AdjustmentSettings, secret: Secret | None) -> Study:
    from discreet.protection.adjustment import Adjustment
    from discreet.publication import number_text

    done = Adjustment.of((source.table, source.primary), settings, **_asked(source, secret))
    audited, numbers, moves = done.audit, _numbers(done), done.moves
    verdict, audit = audited.judgement, numbers["sensitive"]
    gap = moves.cost / moves.bound - 1.0 if moves.bound > 0 else None
    if verdict.opened:
        text = texts(_PACKAGE, "known_side", told=len(verdict.opened), audited=audit)
        hint = texts(_PACKAGE, "known_hint")
        remark = StudyRemark(manner="problem", text=text, names=verdict.opened, hint=hint)
    else:
        remark = StudyRemark(manner="care", text=texts(_PACKAGE, "hidden_side", audited=audit))
    remarks = [remark, *gap_remarks(verdict)]
    if audited.guessed:
        remarks.append(StudyRemark(manner="care", text=texts(_PACKAGE, "guessed")))
    facts = {**numbers, **verdict.described(), "gap": gap, "complete": moves.complete}
    study = compared_study(
        source.table, done.tables[0], facts=facts, remarks=remarks, leave_out=("hidden",)
    )

    def measures(language: str) -> Sequence[tuple[str, str]]:
        label = ADJUSTMENT.words("told", language)
        rows = [(label[name], number_text(number, 0, language)) for name, number in numbers.items()]
        above = "–" if gap is None else f"{number_text(100.0 * gap, 1, language)} %"
        return [*rows, (label["gap"], above), *study.measures(language)]

    return replace(study, verdict=verdict, measures=measures)


@without_values
def _reported(
    source: SensitiveSource,
    settings: AdjustmentSettings,
    secret: Secret | None,
    safe: ProtectedTable,
) -> MethodReport:
    audit = int(source.primary.sensitive.sum())
    remarks = [StudyRemark(manner="quiet", text=texts(_PACKAGE, "hidden_side", audited=audit))]
    if not settings.spread:
        remarks.append(StudyRemark(manner="care", text=texts(_PACKAGE, "guessed")))
    facts: Mapping[str, Any] = {"sensitive": audit}
    return MethodReport(text=remarks[0].text["en"], facts=facts, remarks=remarks)


ADJUSTMENT = Operation(
    name="adjustment",
    package=_PACKAGE,
    settings=AdjustmentSettings,
    section="adjustment",
    takes=SensitiveSource,
    draws=lambda settings, keys: settings.spread > 0,
    run=_adjusted,
    study=_studied,
    report=_reported,
    waits=lambda settings: AT_ONCE,
    begin=AdjustmentSettings(),
    command="adjust",
    example="discreet adjust firms.csv --by region,branch --value turnover --rule p=10 "
    "--secret secret.key --out table.csv",
    address="protect/adjustment",
    calls=("adjust_table_cells", "study_adjusted_cells"),
    job="adjust",
    page="adjustment",
)
