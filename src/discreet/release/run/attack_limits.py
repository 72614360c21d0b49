"""What attacks find in the tables of a release above the limits of its programme.

In: all tables of a method, and the perturbation table (SECRET). Out: what a reader who knows it, or
the largest noise, finds out and must not; each names a limit of [attacks].
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
    from discreet.assessment import NoiseOdds, attacked, exceeded_limits
    from discreet.protection.rounding import fitted_exposure

    programme, stated = inputs.programme, inputs.programme.document.attacks
    assert stated is not None
    lines, problems, odds = list[str](), list[Problem](), None
    if method.attacked == "table":
        assert inputs.parameters is not None
        universes: dict[str, list[ProtectedTable]] = {}
        for name, table in tables.items():
            about = f"{programme.source_of(name).name} where {programme.tables[name].where or ''}"
            universes.setdefault(about, []).append(table)
        ptable = inputs.parameters.perturbation_table
        lines += attacked(universes, knows=stated.knows, ptable=ptable).exceeded(stated.limits)
        odds = NoiseOdds.of(ptable)
    for group in filter(None, dict.fromkeys(map(programme.additive_with, tables))):
        about = f"{', '.join(group)}, made additive"
        limits = {n: limit for n, limit in stated.limits.items() if n in ("exposure", "average")}
        if not limits:
            continue
        if odds is None and "average" in limits and "exposure" not in limits:
            hint = "state exposure in [attacks]: how many figures may estimate one"
            problems.append(Problem(f"{about}: average cannot be worked out", method.name, hint))
        # Every figure of an additive table is the average, not the best of them only.
        rates = {"exposure": fitted_exposure([tables[name] for name in group])}
        if odds is not None:
            rates["average"] = max(odds.averaged(rates["exposure"]), odds.staying)
        known = {name: limit for name, limit in limits.items() if name in rates}
        lines += [f"{about}: {line}" for line in exceeded_limits(rates, known)]
    return [*(Problem(line, method.name) for line in lines), *problems]
