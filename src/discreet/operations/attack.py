"""Attacks on what is published, as an operation.

In: a release, or protected tables; perhaps the truth (CONFIDENTIAL), and what the attacker knows
(SECRET). Out: a report of what readers find out; a study with what helps. SECRET.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from discreet.assessment import AttackSettings
from discreet.confidential import without_values
from discreet.operations.operation import AT_ONCE, Operation, ReleaseSource
from discreet.operations.study import LANGUAGES, Study, StudyRemark

if TYPE_CHECKING:
    from discreet.assessment import AttackReport
    from discreet.microdata import Secret


def _report(source: ReleaseSource, settings: AttackSettings) -> AttackReport:
    from discreet.release import attack

    return attack(source.release, truth=source.truth, beside=source.beside, **settings.options())


@without_values
def _attacked(
    source: ReleaseSource, settings: AttackSettings, secret: Secret | None
) -> Mapping[str, Any]:
    return _report(source, settings).described()


@without_values
def _studied(source: ReleaseSource, settings: AttackSettings, secret: Secret | None) -> Study:
    from discreet.assessment import remedies_of
    from discreet.release import attack_rates
    from discreet.tables import ProtectedTable

    assert isinstance(source.release, ProtectedTable)  # releases of several tables have no page
    report = _report(source, settings)
    remedies = [remedies_of(report, language) for language in LANGUAGES]
    remarks = [
        StudyRemark(
            manner="care",
            text={
                language: f"{attack}: {helps}."
                for language, (attack, helps, _) in zip(LANGUAGES, texts, strict=True)
            },
        )
        for texts in zip(*remedies, strict=True)
    ]
    return Study(
        table=source.release,
        truth=source.truth[""][0] if isinstance(source.truth, Mapping) else None,
        facts=report.described(),
        remarks=remarks,
        measures=lambda language: attack_rates(report, language),
        notes=report.text().splitlines(),
    )


ATTACK = Operation(
    name="attack",
    package="discreet.assessment.attacks",
    settings=AttackSettings,
    section="attack",
    takes=ReleaseSource,
    run=_attacked,
    study=_studied,
    gives="report",
    waits=lambda settings: AT_ONCE,
    begin=AttackSettings(),
    command="attack",
    example="discreet attack release --truth programme.toml --fail-over average=0.6",
    address="attack",
    calls=("attack_table_cells", "study_attacked_cells"),
    job="attack",
    page="attack",
)
