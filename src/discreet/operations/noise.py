"""Noise as operations: by cell key, invariant, of units, and with subtables left out.

In: a table of counts with cell keys, or records (CONFIDENTIAL), and settings (SECRET). Out: a
protected table; a study of how far figures moved, or of what contributors can still work out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from discreet.confidential import without_values
from discreet.operations.operation import (
    CountSource,
    MagnitudeSource,
    Operation,
    UnitSource,
)
from discreet.operations.study import (
    Study,
    StudyRemark,
    compared_study,
    compared_with_truth,
    texts,
)
from discreet.protection.noise import (
    InvariantSettings,
    MagnitudeSettings,
    PerturbationSettings,
    UnitNoiseSettings,
)
from discreet.protection.parts import ThresholdSettings

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.protection.parts import PartDecisions
    from discreet.tables import ProtectedTable

_PACKAGE = "discreet.protection.noise"


class PartsSettings(PerturbationSettings, ThresholdSettings):
    """Which parts of a perturbed table are published."""


@without_values
def _perturbed(
    source: CountSource, settings: PerturbationSettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.noise import perturb

    return perturb(source.table, settings.table(), titles=source.titles, **settings.options())


@without_values
def _magnitudes(
    source: MagnitudeSource, settings: MagnitudeSettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.noise import MagnitudeNoise, perturb_magnitudes

    noise, titles = MagnitudeNoise.of_texts(settings), source.titles
    return perturb_magnitudes(
        source.table, noise, source.value, titles=titles, **settings.options()
    )


@without_values
def _magnitudes_study(
    source: MagnitudeSource, settings: MagnitudeSettings, secret: Secret | None
) -> Study:
    study = compared_study(source.table, _magnitudes(source, settings, secret))
    # Pages show true sums, and no true means.
    return study if settings.figure == "sum" else replace(study, truth=None)


@without_values
def _invariant(
    source: CountSource, settings: InvariantSettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.noise import perturb_invariant, transition_rows

    return perturb_invariant(
        source.table,
        transition_rows(settings.transition),
        alpha=settings.alpha,
        forbidden=settings.forbid,
        normalise=settings.normalise,
        titles=source.titles,
    )


@without_values
def _with_unit_noise(
    source: UnitSource, settings: UnitNoiseSettings, secret: Secret | None
) -> ProtectedTable:
    from discreet.protection.noise import UnitNoise, perturb_units

    return perturb_units(
        *(source.records, source.by, source.value, UnitNoise.of(settings, settings.unit)),
        **_asked(source, settings, secret),
        name=source.name,
        titles=source.titles,
    )


def _asked(
    source: UnitSource, settings: UnitNoiseSettings, secret: Secret | None
) -> dict[str, Any]:
    limits = {"p_percent": settings.p_percent, "chance": settings.chance}
    return {"secret": secret, "decimals": source.decimals, "where": source.where, **limits}


@without_values
def _unit_study(source: UnitSource, settings: UnitNoiseSettings, secret: Secret | None) -> Study:
    from discreet.protection.noise import UnitNoise, unit_risk
    from discreet.tabulation import tabulate

    # Also where the gate refuses the table: a study says why.
    safe = _with_unit_noise(source, settings.model_copy(update={"p_percent": 0}), secret)
    values = [source.value]
    truth = tabulate(source.records, source.by, values=values, where=source.where, name=source.name)
    risk = unit_risk(
        *(source.records, source.by, source.value, UnitNoise.of(settings, settings.unit)),
        **_asked(source, settings, secret),
    )
    text = texts(_PACKAGE, "found", found=risk.found, open=risk.open)
    remark = StudyRemark(manner="care" if risk.found else "good", text=text)
    gate = risk.closeness
    if gate is None:
        near = StudyRemark(manner="care", text=texts(_PACKAGE, "unexamined"))
    else:
        shares = {"near": 100 * gate.near, "chance": 100 * gate.chance}
        name = "refused" if gate.failed else "near"
        text = texts(_PACKAGE, name, cells=gate.cells, p=gate.p_percent, **shares)
        near = StudyRemark(manner="problem" if gate.failed else "quiet", text=text)
    return compared_study(truth, safe, facts=risk.described(), remarks=(near, remark))


@without_values
def _thinned(source: CountSource, settings: PartsSettings, secret: Secret | None) -> ProtectedTable:
    from discreet.protection.parts import suppress_parts

    return suppress_parts(_perturbed(source, settings, secret), _decided(source, settings))


def _decided(source: CountSource, settings: PartsSettings) -> PartDecisions:
    from discreet.protection.noise import count_deviations
    from discreet.protection.parts import PartRules, check_parts

    content = settings.table().content
    return check_parts(
        source.table,
        PartRules(**settings.model_dump(include=set(PartRules.model_fields))),
        deviation=lambda counts: count_deviations(content, counts),
        areas=settings.areas,
    )


@without_values
def _thinned_study(source: CountSource, settings: PartsSettings, secret: Secret | None) -> Study:
    decisions = _decided(source, settings)
    safe = _thinned(source, settings, secret)
    remarks = [
        StudyRemark(
            manner="care" if decision.action == "suppressed" else "quiet",
            text={language: decision.text(language) for language in ("en", "de")},
        )
        for decision in decisions.parts
    ]
    facts = {
        "outcome": decisions.outcome,
        "parts": [
            {"part": decision.name("en"), "action": decision.action,
             "reasons": [reason.code for reason in decision.reasons]}
            for decision in decisions.parts
        ],
    }  # fmt: skip
    return compared_study(source.table, safe, facts=facts, remarks=remarks)


PERTURBATION = Operation(
    name="perturbation",
    package=_PACKAGE,
    settings=PerturbationSettings,
    section="perturbation",
    takes=CountSource,
    keys=lambda settings: "needed",
    run=_perturbed,
    study=compared_with_truth(_perturbed),
    begin=PerturbationSettings(ptable=""),
    command="perturb",
    example="discreet perturb cells.csv --by region,sex --count n --cell-key key "
    "--ptable ptable.csv --out table.csv",
    programme=True,
    address="protect/perturbation",
    calls=("perturb_table_cells", "study_perturbed_cells"),
    job="perturb",
    page="perturbation",
)
MAGNITUDES = Operation(
    name="magnitudes",
    package=_PACKAGE,
    settings=MagnitudeSettings,
    section="magnitudes",
    takes=MagnitudeSource,
    keys=lambda settings: "needed",
    run=_magnitudes,
    study=_magnitudes_study,
    begin=MagnitudeSettings(magnitude_table="", share=0.1),
    command="perturb-magnitudes",
    example="discreet perturb-magnitudes cells.csv --by region,branch --count n --cell-key key "
    "--value turnover --largest first,second --magnitude-table mtable.csv --share 0.1 "
    "--out table.csv",
    address="protect/magnitudes",
    calls=("perturb_cell_magnitudes", "study_perturbed_magnitudes"),
    job="perturb-magnitudes",
    page="magnitudes",
)
INVARIANT = Operation(
    name="invariant",
    package=_PACKAGE,
    settings=InvariantSettings,
    section="invariant",
    takes=CountSource,
    keys=lambda settings: "needed",
    run=_invariant,
    study=compared_with_truth(_invariant),
    begin=InvariantSettings(transition=""),
    command="perturb-invariant",
    example="discreet perturb-invariant cells.csv --by region,sex --count n --cell-key key "
    "--transition matrix.csv --out table.csv",
    address="protect/invariant",
    calls=("perturb_cells_invariantly", "study_invariant_cells"),
    job="perturb-invariant",
    page="invariant",
)
UNIT_NOISE = Operation(
    name="unit-noise",
    package=_PACKAGE,
    settings=UnitNoiseSettings,
    section="unit_noise",
    takes=UnitSource,
    draws=lambda settings, keys: True,
    run=_with_unit_noise,
    study=_unit_study,
    begin=UnitNoiseSettings(unit="unit", most=0.95, shape="even"),
    command="unit-noise",
    example="discreet unit-noise firms.parquet --by branch,region --value sales --unit firm "
    "--secret secret.key --out table.csv",
    address="protect/unit-noise",
    calls=("sum_unit_noise", "study_unit_noise"),
    job="unit-noise",
    page="unit-noise",
)
PARTS = Operation(
    name="parts",
    package="discreet.protection.parts",
    settings=PartsSettings,
    section="parts",
    takes=CountSource,
    keys=lambda settings: "needed",
    run=_thinned,
    study=_thinned_study,
    begin=PartsSettings(ptable="", max_share_small=0.5),
    command="suppress-parts",
    example="discreet suppress-parts cells.csv --by region,sex --count n --cell-key key "
    "--ptable ptable.csv --max-share-small 0.5 --out table.csv",
    address="protect/table-parts",
    calls=("suppress_cell_parts", "study_cell_parts"),
    job="suppress-parts",
    page="parts",
)
