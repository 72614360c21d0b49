"""Attacks on sums of values: other columns, earlier periods, averaging, and insiders."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.assessment.attacks import AttackReport
from discreet.errors import DisclosureWarning, PerturbationError
from discreet.protection.noise import count_ingredient
from discreet.release.attacks.page import attack_page
from discreet.tables import CellStatus, ProtectedTable, Table

NOISE = dc.MagnitudeNoise(
    table=dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2),
    strength=dc.SimpleStrength(share=0.1),
)
SIZE = 2_000
SHARED = NOISE.with_options(keys="shared")


def firms(seed: int, number: int = SIZE) -> pl.DataFrame:
    """Firms, the largest of each region far larger than the others together."""
    draw = np.random.default_rng(seed)
    region = draw.integers(0, 40, number)
    turnover = np.round(draw.lognormal(4, 1, number))
    turnover[np.unique(region, return_index=True)[1]] *= 1e5
    return pl.DataFrame(
        {
            "region": [f"r{at:02d}" for at in region],
            "branch": [f"b{at}" for at in draw.integers(0, 6, number)],
            "size": [f"s{at}" for at in draw.integers(0, 4, number)],
            "legal": [f"l{at}" for at in draw.integers(0, 3, number)],
            "turnover": turnover,
            "wages": np.round(draw.lognormal(5, 1.2, number)),
            "record_key": draw.integers(0, 10**15, number),
        }
    )


def sums(
    records: pl.DataFrame, by: list[str], column: str, noise: dc.MagnitudeNoise
) -> tuple[ProtectedTable, Table]:
    table = dc.tabulate(
        records, by, record_key="record_key", values=["turnover", "wages"], contributions=2
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisclosureWarning)
        return dc.perturb_magnitudes(table, noise, column, p_percent=0), table


@cache
def shared_and_apart() -> tuple[AttackReport, AttackReport]:
    """Two columns, blurred with one key and with keys of their own."""
    one, other = (attacked(noise, ("turnover", "wages")) for noise in (SHARED, NOISE))
    return one, other


def attacked(noise: dc.MagnitudeNoise, columns: tuple[str, ...] = ("turnover",)) -> AttackReport:
    ways = [["region", "branch", "size"], ["region", "legal"], ["region", "size"]]
    made = [sums(firms(1), by, column, noise) for by in ways for column in columns]
    safe, true = ({"": [pair[at] for pair in made]} for at in (0, 1))
    return dc.attack(safe, truth=true)  # type: ignore[arg-type]


def test_columns_with_one_key_are_found_and_those_with_keys_of_their_own_are_not():
    """The sign of sums less their parts agrees in half of some hundred sums, or in most."""
    report, apart = shared_and_apart()
    (pair,) = report.alike
    assert {pair.first, pair.second} == {"turnover", "wages"}
    assert pair.alike > 0.6 * pair.sums
    assert "with the same noise" in report.text()
    assert report.exceeded({"alike": 0}) == ["alike is 1, above 0"]
    assert apart.alike == []


@pytest.mark.parametrize(("noise", "pairs"), [(SHARED, 1), (NOISE, 0)], ids=["same", "period"])
def test_a_panel_whose_noise_stays_is_found(noise: dc.MagnitudeNoise, pairs: int):
    """Next year's values have risen by up to a tenth; a period gives them keys of their own."""
    rise = np.random.default_rng(7).uniform(1, 1.1, SIZE)
    now = firms(1)
    then = now.with_columns(turnover=(pl.col("turnover") * rise).round(0))
    years = [noise, noise if pairs else noise.with_options(period="2026")]
    tables = {
        name: [sums(records, ["region", "branch", "size"], "turnover", own)[0]]
        for name, records, own in zip(("2025", "2026"), (now, then), years, strict=True)
    }
    assert len(dc.attack(tables).alike) == pairs


def test_crossings_find_the_largest_firm_of_a_region_more_often_than_one_figure():
    """Regions have one firm that is the whole sum nearly; each crossing blurs it anew."""
    found = next(own for own in shared_and_apart()[1].values if own.figure.startswith("turnover"))
    assert found.dominated is not None
    assert found.dominated > 200
    assert found.exposure > 2
    assert found.published is not None
    assert found.averaged is not None
    assert found.averaged > found.published
    assert 0.3 < found.published < 0.8


def test_what_insiders_find_is_what_they_compute_by_hand():
    """One table: the second largest contributor of each region subtracts what is his own."""
    records = firms(3, 400)
    safe, true = sums(records, ["region"], "turnover", NOISE)
    (found,) = dc.attack({"": [safe]}, truth={"": [true]}).values
    shown = {row["region"]: row["value"] for row in safe.to_polars().iter_rows(named=True)}
    hits = []
    frame = records.with_columns(pl.lit("Total").alias("all"))
    for by in ("region", "all"):
        for (code,), group in frame.group_by(by):
            own = group["turnover"].sort(descending=True).to_list()
            second = own[1] if len(own) > 1 else 0
            if sum(own) - own[0] - second < 0.1 * own[0]:
                hits.append(abs(shown[str(code)] - second - own[0]) <= 0.1 * own[0])
    assert found.dominated == len(hits)
    assert found.published == pytest.approx(np.mean(hits))


def test_without_the_data_nothing_is_said_of_how_often_sums_are_found():
    safe, _ = sums(firms(1), ["region"], "turnover", NOISE)
    report = dc.attack({"": [safe]})
    assert report.rates()["values"] is None
    with pytest.raises(PerturbationError, match="cannot be computed without the noise parameters"):
        report.exceeded({"values": 0.5})


def test_figures_that_tell_by_themselves_are_counted():
    """A region of one branch, and figures beside hidden counts; a total is all of itself."""
    noise = dc.design_perturbation(max_noise=2, variance=1)
    lone = pl.col("region") == "r00"
    records = firms(1).with_columns(branch=pl.when(lone).then(pl.lit("b0")).otherwise("branch"))
    table = dc.tabulate(records, ["region", "branch"], record_key="record_key")
    people = count_ingredient(table, noise)
    key = dc.KeyFigure(name="share", kind="share", part="people", over=["branch"])
    counts = dc.KeyFigure(name="people", kind="count", of="people")
    safe = dc.derive({"people": people}, [counts, key])
    found = dc.attack(safe, knows="maximum", max_noise=2).rates()
    assert (found["whole"], found["uncounted"]) == (1, 0)
    status = safe.status.copy()
    status[safe.index[-1] == 0] = CellStatus.suppressed
    hidden = dc.attack(replace(safe, status=status), knows="maximum", max_noise=2)
    region, branch, figure = (part.tolist() for part in safe.index)
    rows = set(zip(region, branch, figure, strict=True))
    assert hidden.rates()["uncounted"] == sum((*at[:2], 0) in rows for at in rows if at[2] == 1)
    assert "Values next to a suppressed count: " in hidden.text()


def test_both_pages_hold_what_sums_tell():
    report, _ = shared_and_apart()
    for language, words in (("en", "Sums of values"), ("de", "Wertesummen")):
        page = attack_page(report, language=language, internal=True)
        assert words in page
        assert "turnover | wages" in page
    assert "turnover" not in attack_page(report)
