"""Attacks over periods: by hand, against exact chances, and on panels whose truth is known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import discreet as dc
from discreet.assessment.attacks import NoiseOdds, PublishedFigures
from discreet.assessment.attacks.panels import AttackSuccess, attacked_panel, wilson
from discreet.assessment.attacks.periods import (
    ChangeRates,
    KeyOption,
    PeriodPair,
    guessed_units,
    series_chances,
    smoothed_counts,
)
from discreet.cli.commands import app
from discreet.demo.panel import panel
from discreet.errors import DiscreetError
from discreet.protection.noise import PerturbationTable
from discreet.release import attack_periods

SECRET = "the secret of these tests"
OPTIONS: list[KeyOption] = ["same", "period", "changed"]
STILL = ChangeRates(moving=0.0)


@pytest.fixture(scope="module")
def noise() -> PerturbationTable:
    return dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))


def published(
    years: dict[str, pl.DataFrame], option: KeyOption, by: list[str], noise: PerturbationTable
) -> PublishedFigures:
    tables, previous = {}, None
    for name, frame in years.items():
        more: dict[str, Any] = {}
        if option == "changed":
            more = {"watched": by, "previous": previous, "first": previous is None}
        previous = dc.with_period_keys(
            frame, id="person", secret=SECRET, period=name, option=option, **more
        )
        table = dc.tabulate(previous, by=by, record_key="record_key", allow_unsuitable_keys=True)
        tables[name] = [dc.perturb(table, noise)]
    return PublishedFigures.of(tables)


def only(count: int) -> Any:
    """All cells hold so many."""
    prior = np.zeros(31)
    prior[count] = 1.0
    return prior


@pytest.mark.parametrize("count", [3, 9, 20])
def test_one_who_leaves_shows_the_same_as_often_as_the_formula_says(
    noise: PerturbationTable, count: int
) -> None:
    """q(n): n + 1 persons in the first year, n in the second, keys for good."""
    odds = NoiseOdds.of(noise)
    equal = np.tile(np.arange(60), (2, 1))
    chances = series_chances(
        odds.chances, equal, only(count + 1), [STILL], step=-1, kept=True, other=True
    )
    with_one, without = odds.chances.share[odds.chances.rows_of(np.array([count + 1, count]))]
    assert chances.sum() == pytest.approx(float(with_one[:-1] @ without[1:]), abs=1e-12)


def test_all_pairs_of_figures_together_are_certain(noise: PerturbationTable) -> None:
    chances = NoiseOdds.of(noise).chances
    every = np.stack([each.ravel() for each in np.meshgrid(np.arange(60), np.arange(60))])
    for step, kept in ((None, True), (None, False), (-1, False), (0, True), (1, False)):
        for rates in (STILL, ChangeRates(moving=0.02, rekeying=0.1)):
            total = series_chances(
                chances, every, only(20), [rates], step=step, kept=kept, other=bool(step)
            )
            assert total.sum() == pytest.approx(1.0, abs=1e-6)
    stays = series_chances(chances, every, only(20), [STILL], kept=True)
    assert stays[every[0] != every[1]].sum() == pytest.approx(0.0, abs=1e-9)


def test_two_years_by_hand(noise: PerturbationTable) -> None:
    """40 persons in two areas; only person 0 takes up work, in area a."""
    first = pl.DataFrame(
        {"person": range(40), "area": ["a", "b"] * 20, "work": ["no", "no", "yes", "yes"] * 10}
    )
    second = first.with_columns(
        work=pl.when(pl.col("person") == 0).then(pl.lit("yes")).otherwise("work")
    )
    chances = NoiseOdds.of(noise).chances
    catalogue = published({"1": first, "2": second}, "same", ["area", "work"], noise)
    pair = PeriodPair(catalogue.systems["1"], catalogue.systems["2"], chances, "same")
    told = {pair.first.title(key): pair.proven(key).tolist() for key in pair.layers}
    assert told["total"] == [False]
    assert told["area"] == [False, False]  # nobody moved, and both years show so
    assert told["area x work"][2:] == [False, False]  # nor did anybody in area b
    assert any(told["area x work"][:2])  # in area a somebody changed work
    watched = published({"1": first, "2": second}, "changed", ["area", "work"], noise)
    figures = [dict(zip(*_areas(system), strict=True)) for system in watched.systems.values()]
    assert figures[0]["b"] == figures[1]["b"]
    assert figures[0]["a"] != figures[1]["a"]  # a new key: the area of who changed is told, too


def _areas(system: Any) -> tuple[list[str], list[int]]:
    layer = next(each for key, each in system.layers.items() if system.title(key) == "area")
    (axis,) = [each for each in system.axes if each.variable == "area"]
    places = layer.grid.positions(layer.ids)[0]
    return [axis.codes(1)[at] for at in places], layer.value.tolist()


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from(OPTIONS))
def test_what_is_proven_is_true(seed: int, option: KeyOption) -> None:
    """No false alarm in any draw, whoever keeps his key."""
    noise = dc.design_perturbation(max_noise=2, variance=1)
    draw = np.random.default_rng(seed)
    size = int(draw.integers(20, 120))
    first = pl.DataFrame({"person": np.arange(size), "a": draw.integers(0, 3, size),
                          "b": draw.integers(0, 2, size)})  # fmt: skip
    other = first.with_columns(
        b=pl.when(pl.Series(draw.random(size) < 0.1)).then(1 - pl.col("b")).otherwise("b")
    )
    second = other.filter(pl.Series(draw.random(size) > 0.05) | (pl.col("person") == 0))
    catalogue = published({"1": first, "2": second}, option, ["a", "b"], noise)
    one, two = catalogue.systems.values()
    pair = PeriodPair(one, two, NoiseOdds.of(noise).chances, option)
    for key in pair.layers:
        names = [one.axes[axis].variable for axis, _ in key]
        sets = [
            {} if not names else {
                row[:-1]: set(row[-1])
                for row in frame.group_by(names).agg("person").iter_rows()
            }
            for frame in (first, second)
        ]  # fmt: skip
        layer, proven = pair.layers[key], pair.proven(key)
        for cell in np.flatnonzero(proven) if names else ():
            places = one.layers[key].grid.positions(layer.ids[cell : cell + 1])
            code = tuple(
                int(one.axes[axis].codes(cut)[place[0]])
                for (axis, cut), place in zip(key, places, strict=True)
            )
            assert sets[0].get(code, set()) != sets[1].get(code, set())


def test_a_group_that_moves_as_a_whole_is_followed_by_its_noise(noise: PerturbationTable) -> None:
    """An institution of 24 in an area of its own moves to another: keys for good give it away."""
    draw = np.random.default_rng(5)
    sexes, ages = draw.choice(["f", "m"], 24), draw.choice(list("123"), 24)
    first = pl.DataFrame({"person": range(24), "area": "old", "sex": sexes, "age": ages})
    second = first.with_columns(area=pl.lit("new"))
    equal = {}
    for option in OPTIONS:
        catalogue = published({"1": first, "2": second}, option, ["area", "sex", "age"], noise)
        before, after = (
            [each.value.tolist() for key, each in sorted(system.layers.items()) if len(key) == 3]
            for system in catalogue.systems.values()
        )
        equal[option] = before == after
    assert equal == {"same": True, "period": False, "changed": False}


def test_every_period_of_other_keys_is_one_more_estimate(noise: PerturbationTable) -> None:
    """A stock of 6,000 dwellings in 300 streets, of which nothing changes in five years."""
    draw = np.random.default_rng(3)
    stock = pl.DataFrame({"person": np.arange(6_000), "street": draw.integers(0, 300, 6_000)})
    true = dict(stock.group_by("street").len().iter_rows())
    share: dict[str, list[float]] = {}
    for option in OPTIONS:
        years = {str(year): stock for year in range(5)}
        catalogue = published(years, option, ["street"], noise)
        systems, chances = list(catalogue.systems.values()), NoiseOdds.of(noise).chances
        (key,) = [each for each in systems[0].layers if each]
        axis = systems[0].axes[key[0][0]]
        for number in (1, 2, 5):
            found = smoothed_counts(systems[:number], key, chances, option, STILL)
            counts = [true[int(axis.codes(1)[at])] for at in found.ids.tolist()]
            share.setdefault(option, []).append(float((found.count == counts).mean()))
    assert share["same"][0] == share["same"][2]
    assert share["changed"][0] == share["changed"][2]
    assert share["period"][0] < 0.35
    # Five estimates of variance 3: half a unit is .65 standard deviations, so 48 %.
    assert 0.42 < share["period"][2] < 0.56
    assert share["period"][0] < share["period"][1] < share["period"][2]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"option": "other"}, "unknown key option 'other'"),
        ({"unknown": ["colour"]}, "no table has the spanning variable 'colour'"),
        (
            {"before": pl.DataFrame({"area": ["nowhere"]})},
            "are not on the finest level of the tables",
        ),
        (
            {"after": pl.DataFrame({"area": ["a", "b"]})},
            "both periods need the same columns, with one row per unit",
        ),
    ],
)
def test_what_cannot_be_attacked_is_said(
    noise: PerturbationTable, more: dict[str, Any], message: str
) -> None:
    frame = pl.DataFrame({"person": range(40), "area": ["a", "b"] * 20, "work": ["x", "y"] * 20})
    catalogue = published({"1": frame, "2": frame}, "same", ["area", "work"], noise)
    known = pl.DataFrame({"area": ["a"]})
    given: dict[str, Any] = {
        "before": known,
        "after": known,
        "unknown": ["work"],
        "option": "same",
        **more,
    }
    one, two = catalogue.systems.values()

    def attack() -> None:
        pair = PeriodPair(one, two, NoiseOdds.of(noise).chances, given["option"])
        guessed_units(pair, given["before"], given["after"], given["unknown"])

    with pytest.raises(DiscreetError, match=message):
        attack()


def test_a_panel_is_the_same_again_and_its_persons_live_on() -> None:
    years, again = panel(2_000, 4), panel(2_000, 4)
    assert all(years[name].equals(again[name]) for name in years)
    for first, second in zip(list(years.values()), list(years.values())[1:], strict=False):
        assert second["person"].is_unique().all()
        both = first.join(second, on="person", suffix=" later")
        assert both.height > 0.9 * first.height
        age = [both[name].str.strip_chars("+").cast(pl.Int64) for name in ("age", "age later")]
        assert both.filter(pl.col("sex") != pl.col("sex later")).is_empty()
        assert (age[1] >= age[0]).all()
        moved = both.filter(pl.col("area") != pl.col("area later")).height
        assert 0 < moved < 0.15 * both.height
    with pytest.raises(DiscreetError, match="1,000 persons"):
        panel(10)


def successes(size: int, option: KeyOption, noise: PerturbationTable) -> dict[str, AttackSuccess]:
    found = attacked_panel(
        panel(size, 3), id="person", by=["area", "sex", "age", "work", "origin"],
        unknown=["work", "origin"], ptable=noise, option=option, secret=SECRET,
    )  # fmt: skip
    return {each.attack: each for each in found}


@pytest.mark.exhaustive
def test_three_years_of_a_panel_under_each_option(noise: PerturbationTable) -> None:
    """1,000 persons; bounds are those of docs/methods/record-keys.md, with room for chance."""
    found = {option: successes(1_000, option, noise) for option in OPTIONS}
    cells = {option: each["cells whose units provably changed"] for option, each in found.items()}
    happened = "cells in which a unit provably changed"
    assert all(each.right == 1.0 for each in cells.values())
    assert all(each[happened].right == 1.0 for each in found.values())
    assert found["changed"][happened].found > 0.6
    assert cells["same"].found > 0.6
    assert cells["period"].found < 0.03
    quiet = "unit known to have changed, without other changes"
    for option in ("same", "changed"):
        one = found[option][quiet]
        assert one.alone is not None
        assert one.found > one.alone + 0.1
        assert one.right is None or one.right > 0.95
    assert found["period"][quiet].sure < found["same"][quiet].sure
    stayed = "count of a cell known to be unchanged"
    assert found["period"][stayed].low > (found["period"][stayed].alone or 1.0)
    assert found["same"][stayed].found < found["period"][stayed].low
    assert wilson(0, 0) == (0.0, 1.0)


PROGRAMME = """
[data]
source = "{year}.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv"]
[tables.T1]
by = ["area", "sex", "work"]
"""


@pytest.mark.parametrize(
    "option", ["period", "changed", pytest.param("same", marks=pytest.mark.exhaustive)]
)
def test_releases_of_two_years_say_who_keeps_his_key(
    option: KeyOption, tmp_path: Path, noise: PerturbationTable
) -> None:
    """1,500 persons by area, sex and work; nothing but the figures and the noise is known."""
    noise.write(tmp_path / "ptable.json")
    previous, words = None, ["attack-periods"]
    for year, frame in panel(1_500, 2).items():
        more: dict[str, Any] = {}
        if option == "changed":
            more = {"watched": ["area", "sex", "work", "age"], "previous": previous}
            more["first"] = previous is None
        previous = dc.with_period_keys(
            frame, id="person", secret=SECRET, period=year, option=option, **more
        )
        previous.write_parquet(tmp_path / f"{year}.parquet")
        (tmp_path / f"{year}.toml").write_text(PROGRAMME.format(year=year))
        dc.protect(tmp_path / f"{year}.toml", tmp_path / f"release-{year}")
        words.append(f"{year}={tmp_path / f'release-{year}'}")
    releases = {year: tmp_path / f"release-{year}" for year in ("2021", "2022")}
    found = attack_periods(releases, ptable=noise)
    (pair,) = found.pairs
    assert pair.keys == ("period" if option == "period" else "kept")
    rates = found.rates()
    assert rates["kept"] == (option != "period")
    assert (pair.proven > 0.2 * pair.cells) == (option != "period")
    stated = attack_periods(releases, ptable=noise, option=option)
    assert stated.pairs[0].keys == option
    assert stated.pairs[0].proven == pair.proven
    assert len(pair.examples) == min(3, pair.told)
    assert "secret" in repr(found)
    if option != "period":
        return
    line = [*words, "--ptable", str(tmp_path / "ptable.json"), "--out", str(tmp_path / "r.json")]
    told = CliRunner().invoke(app, line)
    assert told.exit_code == 0, told.output
    assert json.loads((tmp_path / "r.json").read_text())["rates"] == rates
    assert CliRunner().invoke(app, [*line, "--fail-over", "proven=0"]).exit_code == 1
    assert CliRunner().invoke(app, [line[0], line[1], *line[3:]]).exit_code == 2
