"""Sums of values that carry the noise of their units: `perturb_units`, and what it leaves open.

In: records, CONFIDENTIAL, a secret, and the noise of units. Out: a `ProtectedTable`, additive and
equal in all tables because it is counted from noisy records; or `UnitRisk`, which tells of true
values as shares only and stays in the house.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arrays import BoolArray, FloatArray, quotient
from discreet.confidential import without_values
from discreet.errors import PerturbationError, Problem, raise_all
from discreet.microdata import Secret
from discreet.protection.noise.closeness import best_guess
from discreet.protection.noise.limits import CHANCE, P_PERCENT, check_gate
from discreet.protection.noise.unit_factors import UnitFactors, UnitNoise, noisy, with_unit_noise
from discreet.rules import count_holdings
from discreet.tables import (
    CellStatus,
    Figure,
    GateReport,
    Ingredient,
    ProtectedTable,
    Table,
    by_language,
    heading,
    note_of,
)
from discreet.tabulation import tabulate

if TYPE_CHECKING:
    import narwhals as nw

    from discreet.tables import Spanning

#: What readers are told.
UNIT_NOISE = note_of("discreet.protection.noise", "unit-noise")


@without_values
def perturb_units(
    frame: Any,
    by: Sequence[Spanning],
    value: str,
    noise: UnitNoise,
    *,
    secret: Secret | bytes | str,
    decimals: int = 0,
    where: str | nw.Expr | None = None,
    name: str = "table",
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
    p_percent: float = P_PERCENT,
    chance: float = CHANCE,
) -> ProtectedTable:
    """Protect sums by noise of the units that contribute to them.

    Every unit has one factor near 1, the same in every table, so that tables add up and agree.
    Zeros stay zero, and so does who is counted: only values are protected.

    Args:
        frame: Records: polars, pandas, pyarrow or DuckDB; without weights.
        by: The spanning variables.
        value: The column to sum.
        noise: How far values are moved.
        secret: What makes factors unpredictable: the same secret, the same factors.
        decimals: Digits after the decimal point; noise is drawn in units of the last one.
        where: Which records count. Areas are balanced over all of them.
        name: Name of the table.
        titles: language → heading.
        universe: language → who is counted.
        digests: name → keyed digest, added to the provenance.
        p_percent: No figure may let anybody come so near a single contribution, in per cent; 0
            looks at none.
        chance: How often the best guess may come as near all the same.

    Raises:
        PerturbationError: The table has cells that rest on a single or dominating contribution,
            and the best guess comes too near more often than `chance`.

    >>> import polars as pl
    >>> firms = pl.DataFrame({"firm": [*"abc"], "branch": [*"xxy"], "sales": [900, 500, 700]})
    >>> noise = UnitNoise(unit="firm", least=0.05, most=0.95, shape="even")
    >>> safe = perturb_units(firms, ["branch"], "sales", noise, secret="a long secret sentence")
    >>> safe.get("Total") == safe.get("x") + safe.get("y"), 35 <= abs(safe.get("y") - 700) <= 665
    (True, True)
    """
    check_decimals(decimals)
    check_gate(p_percent, chance)
    digits = {value: decimals}
    records, factors = with_unit_noise(frame, digits, noise, secret)
    gates = unit_gates(
        records, by, digits, noise, factors, where=where, p_percent=p_percent, chance=chance
    )
    problems = near_problems(gates, chance, "chance")
    raise_all(PerturbationError, problems, code="unit-noise-gate")
    table = tabulate(records, by, values=[noisy(value)], where=where, name=name)
    return noisy_sums(table, value, decimals, titles=titles, universe=universe, digests=digests)


def check_decimals(decimals: Any) -> None:
    """Refuse what is no number of digits."""
    if type(decimals) is not int or not 0 <= decimals <= 9:
        message = "decimals must be a whole number from 0 to 9"
        raise PerturbationError(message, code="decimals", where="decimals")


def noisy_sums(
    table: Table,
    value: str,
    decimals: int,
    *,
    titles: Mapping[str, str] | None = None,
    universe: Mapping[str, str] | None = None,
    digests: Mapping[str, str] | None = None,
    unit: Mapping[str, str] | None = None,
) -> ProtectedTable:
    """The sums of noisy values as they may be published; nothing else of the table is."""
    shown = _shown(table, value, decimals)
    figure = Figure(
        name=value,
        kind="sum",
        decimals=decimals,
        titles=by_language(titles, "titles"),
        unit=by_language(unit, "unit"),
    )
    return ProtectedTable(
        dimensions=table.dimensions,
        index=table.index,
        value=shown,
        status=np.full(len(shown), CellStatus.published, dtype=np.int8),
        parts=table.parts,
        notes=(UNIT_NOISE,),
        name=table.name,
        decimals=decimals,
        figures=(figure,),
        **heading("noise by unit", titles, universe, digests),
    )


def _shown(table: Table, value: str, decimals: int) -> FloatArray:
    shown = np.round(table.sums[noisy(value)] / 10.0**decimals, decimals) + 0.0  # no −0
    return np.asarray(shown, dtype=np.float64)


def noisy_ingredient(
    truth: Table,
    table: Table,
    safe: ProtectedTable,
    noise: UnitNoise,
    gate: GateReport | None = None,
) -> Ingredient:
    """Noisy sums of a table beside the true ones, on the same cells. CONFIDENTIAL."""
    figure = safe.figures[0]
    original = truth.sums[figure.name].astype(np.float64)
    return Ingredient(
        protected=safe,
        index=truth.index,
        value=_shown(table, figure.name, figure.decimals),
        original=original,
        # What it is where one unit makes up a cell; noise of several cancels out in part.
        deviation=np.abs(original) * noise.deviation,
        suppressed=np.zeros(len(original), dtype=np.bool_),
        gate=gate,
    )


def unit_gates(
    records: Any,
    by: Sequence[Spanning],
    digits: Mapping[str, int],
    noise: UnitNoise,
    factors: Mapping[str, UnitFactors],
    *,
    where: str | nw.Expr | None,
    p_percent: float,
    chance: float,
) -> dict[str, GateReport]:
    """Per value column of a table, how near its noisy sums come to single contributions.

    Nothing if p_percent is 0. CONFIDENTIAL.

    Args:
        records: The records with noisy values.
        by: The spanning variables.
        digits: Value column → digits after the decimal point.
        noise: How far values are moved.
        factors: The factors of each value column.
        where: Which records count.
        p_percent: How near a guess may not come.
        chance: How often it may all the same.
    """
    if not p_percent:
        return {}
    columns = [*digits, *map(noisy, digits)]
    held = count_holdings(
        records, by, holding=noise.unit, values=columns, contributions=2, where=where
    )
    limits = {"p_percent": p_percent, "chance": chance}
    return {
        value: unit_gate(held, value, noise, factors[value], decimals=decimals, **limits)
        for value, decimals in digits.items()
    }


def near_problems(gates: Mapping[str, GateReport], chance: float, where: str) -> list[Problem]:
    """Reasons to refuse a table: guesses come too near too often.

    Nothing is hidden instead: noisy sums add up, so a hidden one is what the others leave.
    """
    hint = (
        'raise the noise, such as most = 0.95 and shape = "even"; use coarser tables; or state '
        "the accepted p_percent = … and chance = …"
    )
    return [
        Problem(
            f"{value}: in {gate.failed:,} cells with a single or dominating contribution, a "
            f"guess comes within {gate.p_percent:g} % of it more often than {chance:.0%}",
            where,
            hint,
        )
        for value, gate in gates.items()
        if gate.failed
    ]


def unit_gate(
    held: Table,
    value: str,
    noise: UnitNoise,
    factors: UnitFactors,
    *,
    decimals: int,
    p_percent: float,
    chance: float,
) -> GateReport:
    """Closeness of noisy sums of a table to single contributions. CONFIDENTIAL.

    Looked at are cells where all units but the two largest add up to less than p % of the largest.
    All of them fail if the best guess of who knows how factors are drawn, a reader or the second
    largest unit, is within p % of the largest more often than stated.

    Args:
        held: True and noisy values by unit, with the two largest contributions.
        value: The value column.
        noise: How far values are moved.
        factors: The factors that were used.
        decimals: Digits after the decimal point.
        p_percent: How near a guess may not come.
        chance: How often it may all the same.
    """
    within = p_percent / 100
    first, second, shown, own = _published(held, value, noise, decimals)
    rest = held.contributions[value].absolute - first - second
    marked = (first > 0) & (rest < within * first)
    often, factor = noise.guessed(within)
    if noise.balance:  # sizes are changed, so their distribution is another one
        used = 1 + factors.of["shift"].to_numpy()
        often = max(often, best_guess(used, within)[0])
    near = np.any(
        [np.abs((shown - theirs) / factor - first) < within * first for theirs in own], axis=0
    )
    cells = int(marked.sum())
    return GateReport(
        cells=cells,
        failed=cells if often > chance else 0,
        beside=0,
        shown=cells if often <= chance else 0,
        near=float((near & marked).sum() / max(cells, 1)),
        chance=often if cells else 0.0,
        p_percent=p_percent,
    )


@dataclass(frozen=True, kw_only=True)
class UnitRisk:
    """Disclosure risk of sums with unit noise. CONFIDENTIAL: it uses true values.

    Args:
        cells: How many cells have a value.
        alone: In how many one unit stands alone.
        nearest: How near its true value the published one comes there, at least, as a share.
        open: In how many cells of several the second largest unit would find the largest within
            `within` of its value, by subtracting its own value from the true sum.
        found: In how many of these it does so from the published sum, if it knows its own factor
            and how factors are drawn.
        lucky: In how many of the other cells it does so, without knowing it.
        within: A share of the largest value.
        chance: How often the best guess of a reader, who knows how factors are drawn, is within
            `within` of a unit that stands alone, by how they are drawn.
        guessed: In how many of the cells where one stands alone it is.
        areas: How many areas noise is balanced in.
        kept: How many of them have their true total.
        outweighed: How many are not balanced, as one unit outweighs the others.
        closeness: What the gate of `perturb_units` goes by: how many cells rest on a single or
            dominating contribution (`cells`; as many `failed` if the table is refused), how often
            the best guess comes within `p_percent` of it (`chance`), and in which share of these
            cells it does (`near`). None if p_percent is 0.
    """

    cells: int
    alone: int
    nearest: float | None
    open: int
    found: int
    lucky: int
    within: float
    chance: float
    guessed: int
    areas: int
    kept: int
    outweighed: int
    closeness: GateReport | None

    def described(self) -> dict[str, Any]:
        """The numbers as plain values."""
        return asdict(self)


@without_values
def unit_risk(
    frame: Any,
    by: Sequence[Spanning],
    value: str,
    noise: UnitNoise,
    *,
    secret: Secret | bytes | str,
    decimals: int = 0,
    where: str | None = None,
    within: float | None = None,
    p_percent: float = P_PERCENT,
    chance: float = CHANCE,
) -> UnitRisk:
    """Find out what contributors can work out of a table made by `perturb_units`.

    Args:
        frame: The records, like the rest up to where as for `perturb_units`.
        by: The spanning variables.
        value: The column to sum.
        noise: How far values are moved.
        secret: What factors are made of.
        decimals: Digits after the decimal point.
        where: Which records count.
        within: How near an estimate must come, as a share; `noise.least` if None.
        p_percent: How near a guess may not come, like the next for `perturb_units`.
        chance: How often it may all the same.
    """
    check_decimals(decimals)
    check_gate(p_percent, chance)
    records, factors = with_unit_noise(frame, {value: decimals}, noise, secret)
    columns = [value, noisy(value)]
    held = count_holdings(
        records, by, holding=noise.unit, values=columns, contributions=2, where=where
    )
    near = noise.least if within is None else within
    contribution = held.contributions[value]
    first, second, shown, own = _published(held, value, noise, decimals)
    valued = first > 0
    alone = valued & (second == 0)
    often, factor = noise.guessed(near)

    def hit(guess: FloatArray) -> BoolArray:
        """Where a guess comes near the largest value."""
        return np.asarray(valued & (np.abs(guess - first) < near * first))

    guessed = int((alone & hit(shown / factor)).sum())
    true = ~alone & hit(np.abs(contribution.total) - second)
    published = ~alone & np.any([hit((shown - theirs) / factor) for theirs in own], axis=0)
    off = quotient(np.abs(shown - first), first)[alone]
    areas = factors[value]
    limits: dict[str, Any] = {"decimals": decimals, "p_percent": p_percent, "chance": chance}
    closeness = unit_gate(held, value, noise, areas, **limits) if p_percent else None
    return UnitRisk(
        cells=int(valued.sum()),
        alone=int(alone.sum()),
        nearest=float(off.min()) if alone.any() else None,
        open=int(true.sum()),
        found=int((true & published).sum()),
        lucky=int((published & ~true).sum()),
        within=near,
        chance=often,
        guessed=guessed,
        areas=areas.areas,
        kept=areas.kept,
        outweighed=areas.outweighed,
        closeness=closeness,
    )


def _published(
    held: Table, value: str, noise: UnitNoise, decimals: int
) -> tuple[FloatArray, FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """The two largest units' values, the published sum, and what of it may be the second's.

    The latter is the second noisy value, or the first where noise can have changed the order:
    then the worse of both is reckoned with.
    """
    first, second = np.abs(np.nan_to_num(held.contributions[value].top[:, :2])).T
    own = np.abs(np.nan_to_num(held.contributions[noisy(value)].top[:, :2])) / 10.0**decimals
    swapped = np.abs(own[:, 0] - second) <= noise.most * second + 0.5 / 10.0**decimals
    seconds = own[:, 1], np.where(swapped, own[:, 0], own[:, 1])
    return first, second, np.abs(_shown(held, value, decimals)), seconds
