"""Quantiles as an operation: medians and others from protected counts of classes.

In: a table of protected counts, and settings. Out: a table of quantiles; a study says how many have
a value. Nothing is drawn, and no true value goes in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.derived import QuantileSettings
from discreet.operations.operation import AT_ONCE, Operation, ProtectedSource
from discreet.operations.study import MethodReport, Study, StudyRemark, texts

if TYPE_CHECKING:
    from discreet.microdata import Secret
    from discreet.tables import ProtectedTable

_PACKAGE = "discreet.derived"


def _computed(
    source: ProtectedSource, settings: QuantileSettings, secret: Secret | None
) -> ProtectedTable:
    import numpy as np

    from discreet.derived import quantiles

    options = settings.model_dump(exclude={"deviation"})
    return quantiles(
        source.protected("quantiles"),
        **options,
        deviation=lambda counts: np.full(len(counts), float(settings.deviation)),
        titles=source.titles or None,
    )


def _stated(
    source: ProtectedSource, settings: QuantileSettings, secret: Secret | None, safe: ProtectedTable
) -> MethodReport:
    from discreet.tables import CellStatus

    states = safe.to_polars(complete=True)["status"]
    shown = int(states.is_in([CellStatus.published.name, CellStatus.bracketed.name]).sum())
    text = texts(_PACKAGE, "stated", shown=shown, all=len(states))
    return MethodReport(
        text=text["en"],
        facts={"quantiles": len(states), "stated": shown},
        remarks=(StudyRemark(manner="quiet", text=text),),
    )


def _studied(source: ProtectedSource, settings: QuantileSettings, secret: Secret | None) -> Study:
    safe = _computed(source, settings, secret)
    report = _stated(source, settings, secret, safe)
    return Study(
        table=safe,
        facts=report.facts,
        remarks=report.remarks,
        measures=lambda language: [],
    )


QUANTILES = Operation(
    name="quantiles",
    package=_PACKAGE,
    settings=QuantileSettings,
    section="quantiles",
    takes=ProtectedSource,
    run=_computed,
    study=_studied,
    report=_stated,
    waits=lambda settings: AT_ONCE,
    begin=QuantileSettings(of="age", breaks=[0, 18, 30, 45, 60, 75]),
    command="quantiles",
    example="discreet quantiles table.csv --by region,age --value value --of age "
    "--breaks 0,18,25,65 --shares 0.25,0.5,0.75 --out quantiles.csv",
    address="protect/quantiles",
    calls=("compute_table_quantiles",),
    job="quantiles",
    page="quantiles",
)
