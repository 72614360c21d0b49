"""Suppression as an operation, and the audit of hidden cells.

In: a table, what is sensitive in it (CONFIDENTIAL), and settings. Out: a protected table; a study
with the reason of each hidden cell and the interval that anyone can compute (CONFIDENTIAL); or a
report on cells hidden elsewhere, without true values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from discreet.confidential import without_values
from discreet.operations.operation import (
    HiddenSource,
    Operation,
    SensitiveSource,
)
from discreet.operations.study import HiddenCell, Study, StudyRemark, gap_remarks, texts
from discreet.protection.suppression import AuditSettings, SuppressionSettings

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.tables import ProtectedTable

_PACKAGE = "discreet.protection.suppression"
#: Seconds that a search takes while somebody waits.
_SECONDS = 8.0


def _options(source: SensitiveSource, settings: SuppressionSettings) -> dict[str, Any]:
    """What `suppress` and `Suppression.of` are told of how cells are hidden."""
    return {
        **settings.model_dump(exclude_none=True),
        "decimals": source.decimals,
        "titles": source.titles,
    }


@without_values
def _suppressed(
    source: SensitiveSource, settings: SuppressionSettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.suppression import suppress

    return suppress(source.table, source.primary, **_options(source, settings))


@without_values
def _studied(
    source: SensitiveSource, settings: SuppressionSettings, secret: Secret | None
) -> Study:
    import numpy as np

    from discreet.protection.suppression import Suppression, audit
    from discreet.publication import number_text
    from discreet.rules import Reason

    table, primary = source.table, source.primary
    done = Suppression.of((table, primary), **_options(source, settings))
    safe, pattern = done.tables[0], done.pattern
    known: dict[str, Any] = {"intervals": True, "decimals": source.decimals}
    audited = audit(safe, table, primary, insiders=settings.judged_aim, **known)
    bounds = {name: (low, high) for name, _, _, low, high in audited.intervals().iter_rows()}
    place = done.members.cells[0]
    codes = [dimension.codes for dimension in table.dimensions]
    hidden = []
    for at in np.flatnonzero((place >= 0) & pattern.hidden[place]).tolist():
        low, high = bounds[done.problem.name(int(place[at]))]
        sensitive = bool(primary.sensitive[at])
        hidden.append(
            HiddenCell(
                codes=tuple(own[part[at]] for own, part in zip(codes, table.index, strict=True)),
                primary=sensitive,
                reason=dict(Reason(int(primary.reason[at])).texts) if sensitive else {},
                low=low,
                high=high,
            )
        )
    # Costs that are values are counted in the unit of the last decimal.
    by_value = settings.cost == "value" and source.value is not None
    unit = 10.0**-done.problem.decimals if by_value else 1.0
    primaries = sum(item.primary for item in hidden)
    counted: Mapping[str, int | None] = {
        "primary": primaries,
        "secondary": len(hidden) - primaries,
        "total_cost": round(pattern.cost * unit),
        "bound": None if pattern.bound is None else round(pattern.bound * unit),
    }
    interior = np.ones(len(table), dtype=np.bool_)
    for dimension, part in zip(table.dimensions, table.index, strict=True):
        interior &= dimension.is_leaf[part]

    def measures(language: str) -> Sequence[tuple[str, str]]:
        label = SUPPRESSION.words("told", language)
        return [
            (label[name], "–" if each is None else number_text(each, 0, language))
            for name, each in counted.items()
        ]

    inner = int(interior.sum())
    verdict = audited.judgement
    if verdict.opened:
        remarks = [StudyRemark(manner="problem", text=texts(_PACKAGE, "unsafe"))]
    else:
        name = "proven" if verdict.safe else "proven_in_part"
        proof = texts(_PACKAGE, name, cells=inner, totals=len(table) - inner)
        remarks = [StudyRemark(manner="good" if verdict.safe else "care", text=proof)]
    remarks += gap_remarks(verdict)
    if source.computed:
        text = texts(_PACKAGE, "computed", number=source.computed)
        remarks.append(StudyRemark(manner="care", text=text))
    nearness = {
        language: f"{said} {pattern.nearness(language)}."
        for language, said in texts(_PACKAGE, "nearness").items()
    }
    remarks.append(StudyRemark(manner="quiet", text=nearness))
    if not pattern.complete:
        remarks.append(StudyRemark(manner="care", text=texts(_PACKAGE, "stopped")))
    facts = {
        **verdict.described(),
        "primaries": counted["primary"],
        "secondaries": counted["secondary"],
        "cost": counted["total_cost"],
        "bound": counted["bound"],
        "complete": pattern.complete,
        "computed_totals": source.computed,
        "hidden": [
            {
                "codes": list(item.codes),
                "primary": item.primary,
                "reason": dict(item.reason),
                "low": item.low if np.isfinite(item.low) else None,
                "high": item.high if np.isfinite(item.high) else None,
            }
            for item in hidden
        ],
    }
    return Study(
        table=safe,
        verdict=verdict,
        facts=facts,
        remarks=remarks,
        measures=measures,
        hidden=hidden,
        notes=tuple(dict.fromkeys((*done.notes, *pattern.notes, *audited.notes))),
    )


@without_values
def _audited(
    source: HiddenSource, settings: AuditSettings, secret: Secret | None
) -> Mapping[str, Any]:
    from discreet.protection.suppression import audit

    options: dict[str, Any] = {"intervals": settings.bounds, "decimals": source.decimals}
    options["insiders"] = settings.suppression.judged_aim
    if settings.coalition is not None:
        options["coalition"] = settings.coalition
    if settings.suppression.zero_cells == "partners":
        options["zero_cells"] = "partners"
    done = audit(source.published, source.table, source.primary, **options)
    # How long it took, and what hiding costs, are the sum of hidden values and of no use here.
    report = {key: each for key, each in done.described().items() if key not in ("cost", "seconds")}
    notes = list(done.notes)
    if source.computed:
        notes.append(
            f"{source.computed:,} missing totals were computed and are treated as published"
        )
    report |= {"table": source.table.name, "notes": notes}
    if settings.bounds:
        report["bounds"] = done.intervals().drop("value").to_dicts()
    return report


SUPPRESSION = Operation(
    name="suppression",
    package=_PACKAGE,
    settings=SuppressionSettings,
    section="suppression",
    takes=SensitiveSource,
    run=_suppressed,
    study=_studied,
    waits=lambda settings: 0,
    # What is found until then is proven, too.
    hurried=lambda settings: settings.model_copy(update={"time_limit": _SECONDS}),
    begin=SuppressionSettings(),
    address="suppress",
    calls=("suppress_table_cells", "study_suppressed_cells"),
    job="suppress",
    page="suppression",
)
AUDIT = Operation(
    name="audit",
    package=_PACKAGE,
    settings=AuditSettings,
    section="",
    takes=HiddenSource,
    run=_audited,
    at_once=0,
    waits=lambda settings: 0,
    begin=AuditSettings(),
    address="audit",
    calls=("audit_table_cells",),
    job="audit",
)
