"""What attacks find in the tables of a release above the limits of its programme.

In: all tables of a method, and the perturbation table (SECRET). Out: what a reader who knows it, or
the largest noise, finds out and must not; each names a limit of [attacks]. And warnings about
tables whose noise additivity averages away.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.errors import Problem

if TYPE_CHECKING:
    from discreet.protection.protocol import Protection
    from discreet.release.inputs import Inputs
    from discreet.tables import ProtectedTable


def given_away(
    inputs: Inputs, method: Protection, tables: Mapping[str, ProtectedTable]
) -> list[Problem]:
    """What is found above the limits: by attacks, or by averages that additivity makes."""
    from discreet.assessment import attacked, exceeded_limits

    programme, stated = inputs.programme, inputs.programme.document.attacks
    assert stated is not None
    lines, problems = list[str](), list[Problem]()
    if method.attacked == "table":
        assert inputs.parameters is not None
        universes: dict[str, list[ProtectedTable]] = {}
        for name, table in tables.items():
            about = f"{programme.source_of(name).name} where {programme.tables[name].where or ''}"
            universes.setdefault(about, []).append(table)
        ptable = inputs.parameters.perturbation_table
        lines += attacked(universes, knows=stated.knows, ptable=ptable).exceeded(stated.limits)
    limits = {n: limit for n, limit in stated.limits.items() if n in ("exposure", "average")}
    for about, rates in _additive_rates(inputs, method, tables).items() if limits else ():
        if "average" in limits and not {"average", "exposure"} & (limits.keys() & rates.keys()):
            hint = (
                "add exposure to [attacks], the highest number of values that may estimate "
                "one value"
            )
            problems.append(Problem(f"{about}: average cannot be computed", method.name, hint))
        known = {name: limit for name, limit in limits.items() if name in rates}
        lines += [f"{about}: {line}" for line in exceeded_limits(rates, known)]
    return [*(Problem(line, method.name) for line in lines), *problems]


def averaged_away(
    inputs: Inputs, method: Protection, tables: Mapping[str, ProtectedTable]
) -> list[str]:
    """Warnings about noise that additivity averages away; they say nothing of the noise."""
    return [
        f"{about}: on average, {rates['exposure']:.1f} independent values estimate each value, "
        "so more counts are true than without additivity; discreet attack computes how "
        "many; add limits to [attacks], or remove additive"
        for about, rates in _additive_rates(inputs, method, tables).items()
    ]


def _additive_rates(
    inputs: Inputs, method: Protection, tables: Mapping[str, ProtectedTable]
) -> dict[str, dict[str, float]]:
    """Per group of tables that are made additive, its exposure; with noise, how much is true.

    Every figure of an additive table is the average, not the best of them only.
    """
    rates: dict[str, dict[str, float]] = {}
    for group in filter(None, dict.fromkeys(map(inputs.programme.additive_with, tables))):
        from discreet.assessment import NoiseOdds
        from discreet.protection.rounding import fitted_exposure

        exposure = fitted_exposure([tables[name] for name in group])
        own = rates[f"{', '.join(group)}, made additive"] = {"exposure": exposure}
        if method.attacked == "table":
            assert inputs.parameters is not None
            odds = NoiseOdds.of(inputs.parameters.perturbation_table)
            own["average"] = max(odds.averaged(exposure), odds.staying)
    return rates
