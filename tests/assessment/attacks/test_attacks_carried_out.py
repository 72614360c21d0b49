"""Attacks on tables made for the purpose, held against the truth."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.assessment.attacks import (
    NoiseOdds,
    NoiseRange,
    PublishedFigures,
    bounded,
    estimated,
    found_parameters,
    likeliest,
    near_twins,
    reconstruct,
    resolved,
)
from discreet.errors import PerturbationError, PublicationError, TableError
from discreet.protection.noise import PerturbationTable
from discreet.release.attacks.page import attack_page
from discreet.tables import ProtectedTable, Table
from tests.helpers.averaging_apart import (
    figures_of,
    people_of,
    random_release,
    share_apart,
    share_attacked,
    share_sparse,
)


@pytest.fixture(scope="module")
def noise() -> PerturbationTable:
    return dc.design_perturbation(max_noise=4, variance=2.25)


def people(size: int, seed: int, **codes: int) -> pl.DataFrame:
    """Records with keys; each variable has so many codes."""
    draw = np.random.default_rng(seed)
    columns = {name: draw.integers(0, number, size) for name, number in codes.items()}
    return pl.DataFrame({**columns, "record_key": draw.integers(0, 10**15, size)})


def made(
    records: pl.DataFrame, noise: PerturbationTable, by: list[Any]
) -> tuple[ProtectedTable, Table]:
    table = dc.tabulate(records, by=by, record_key="record_key")
    return dc.perturb(table, noise), table


def test_every_count_is_catalogued_once_and_stands_on_its_layer(noise: PerturbationTable) -> None:
    records = people(3_000, 1, area=5, sex=2, age=3)
    first, true = made(records, noise, ["area", "sex"])
    second, other = made(records, noise, ["sex", "age"])
    catalogue = PublishedFigures.of({"": [first, second]}, {"": [true, other]})
    (system,) = catalogue.systems.values()
    titles = {system.title(key): len(layer) for key, layer in system.layers.items()}
    assert titles == {
        "total": 1, "area": 5, "sex": 2, "age": 3, "area x sex": 10, "age x sex": 6,
    }  # fmt: skip
    assert system.contradictions == 0
    sexes = next(layer for key, layer in system.layers.items() if system.title(key) == "sex")
    assert sexes.tables == ["table", "table"]
    assert sexes.truth(sexes.ids).sum() == 3_000
    assert len(list(system.steps())) == 7


def test_cubes_are_estimated_as_well_as_theory_says(noise: PerturbationTable) -> None:
    """Variance of the estimate of the total: V / 1.5^J; 20 draws: within 60 % of it."""
    errors = []
    for seed in range(20):
        names = [f"v{at}" for at in range(5)]
        safe, _ = made(people(4_000, seed, **dict.fromkeys(names, 2)), noise, names)
        cells = estimated(PublishedFigures.of({"": [safe]}).systems[""])
        for layer in cells.values():
            assert layer.exposure == pytest.approx(1.5**5)
        errors.append(cells[()].estimate[0] - 4_000)
    variance = NoiseOdds.of(noise).variance
    assert np.var(errors) == pytest.approx(variance / 1.5**5, rel=0.6)


def test_equal_sets_are_no_fresh_estimates(noise: PerturbationTable) -> None:
    """Everybody of area 0 is of age 0: the crossing shows the same figure again."""
    records = people(2_000, 4, area=2, age=3).with_columns(
        age=pl.when(pl.col("area") == 0).then(0).otherwise(pl.col("age"))
    )
    safe, _ = made(records, noise, ["area", "age"])
    system = PublishedFigures.of({"": [safe]}).systems[""]
    cells = {system.title(key): own for key, own in estimated(system).items()}
    # Sets: total, two areas, three ages and three crossings; two of each of the latter are areas
    # and ages, and the first area is a crossing: T = A + B, A + b0 = a0, B = b0 + a1 + a2.
    figures = np.array(
        [[1, 1, 1, 1], [1, 0, 0, 0], [0, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1],
         [0, 1, 0, 0]], dtype=float,
    )  # fmt: skip
    leverage = np.diag(figures @ np.linalg.pinv(figures))
    assert cells["total"].exposure == pytest.approx(1 / leverage[:1])
    assert cells["area"].exposure == pytest.approx(1 / leverage[1:3])
    assert cells["age"].exposure == pytest.approx(1 / leverage[3:6])
    crossed = next(own for title, own in cells.items() if " x " in title)
    assert crossed.exposure.max() == pytest.approx(1 / leverage.min())
    assert cells["area"].estimate[0] in crossed.estimate


@settings(max_examples=8)
@given(st.integers(0, 10**6), st.integers(20, 400), st.sampled_from(["table", "maximum"]))
def test_bounds_hold_the_truth(seed: int, size: int, knows: str) -> None:
    noise = dc.design_perturbation(max_noise=3, variance=1.5)
    safe, true = made(people(size, seed, area=6, sex=2, age=4), noise, ["area", "sex", "age"])
    system = PublishedFigures.of({"": [safe]}, {"": [true]}).systems[""]
    known = NoiseRange.of_table(noise) if knows == "table" else NoiseRange.of_maximum(3)
    for key, (low, high) in bounded(system, known).items():
        truth = system.layers[key].truth(system.layers[key].ids)
        assert ((low <= truth) & (truth <= high)).all()
    too_little = bounded(system, NoiseRange.of_maximum(0)).values()
    own = all((layer.value == layer.truth(layer.ids)).all() for layer in system.layers.values())
    assert own or any((low > high).any() for low, high in too_little) or size < 100


def test_linear_programs_find_out_more_and_never_too_much() -> None:
    """Small tables with noise of one: in four draws some cell is determined by programs only."""
    noise, more = dc.design_perturbation(max_noise=1, variance=0.5), 0
    for seed in range(4):
        safe, true = made(people(60, seed, a=4, b=4, c=4), noise, ["a", "b", "c"])
        system = PublishedFigures.of({"": [safe]}, {"": [true]}).systems[""]
        known = NoiseRange.of_table(noise)
        first = bounded(system, known)
        found = resolved(system, first, known)
        for key, layer in system.layers.items():
            truth, (least, most), (low, high) = layer.truth(layer.ids), first[key], found[key]
            assert ((least <= low) & (low <= truth) & (truth <= high) & (high <= most)).all()
            more += int(((low == high) & (least < most)).sum())
    assert more


def test_likelihoods_are_as_often_right_as_they_say(noise: PerturbationTable) -> None:
    """Some 3,000 parts: the mean probability is met within four standard errors."""
    safe, true = made(people(60_000, 8, area=500, sex=3), noise, ["area", "sex"])
    system = PublishedFigures.of({"": [safe]}, {"": [true]}).systems[""]
    right, chances = [], []
    for step in system.steps():
        found = likeliest(step, NoiseOdds.of(noise).chances)
        if found is not None:
            cells, count, chance = found
            right += (step.fine.truth(step.fine.ids[cells]) == count).tolist()
            chances += chance.tolist()
    assert len(right) >= 1_500
    spread = 4 * np.sqrt(np.mean(np.array(chances) * (1 - np.array(chances))) / len(chances))
    assert np.mean(right) == pytest.approx(np.mean(chances), abs=spread)


def test_sets_that_are_alike_in_most_cells_but_far_apart_are_no_twins(
    noise: PerturbationTable,
) -> None:
    """Children are of one faith: most cells have none, yet a tenth of all are children."""
    records = people(20_000, 31, area=40, sex=2, faith=9, child=10).with_columns(
        faith=pl.when(pl.col("child") == 0).then(0).otherwise(pl.col("faith"))
    )
    tables = {
        name: [made(own, noise, ["area", "sex", "faith"])[0]]
        for name, own in {"all": records, "adults": records.filter(pl.col("child") > 0)}.items()
    }
    twins = near_twins(PublishedFigures.of(tables))
    assert not [each for each in twins if each.first == "all"]
    assert all(each.first.startswith("all, ") for each in twins)


def test_one_person_between_two_universes_is_found_in_each_of_his_cells(
    noise: PerturbationTable,
) -> None:
    records = people(8_000, 11, area=40, sex=2, age=4, faith=5)
    person = records.row(1_234, named=True)
    others = records.with_row_index().filter(pl.col("index") != 1_234).drop("index")
    by = ["area", "sex", "age", "faith"]
    tables = {"all": [made(records, noise, by)[0]], "most": [made(others, noise, by)[0]]}
    twins = near_twins(PublishedFigures.of(tables))
    named = {twin.first for twin in twins}
    assert {f"all, {name}={person[name]}" for name in by} <= named
    assert len(named) == 5  # nobody else, and both universes as a whole
    assert all(twin.unequal <= 16 for twin in twins)


def test_equal_sets_are_never_unequal(noise: PerturbationTable) -> None:
    """No false alarm: the same records under two names, in any order."""
    records = people(5_000, 3, area=30, sex=2, age=4)
    by = ["area", "sex", "age"]
    same = {"one": [made(records, noise, by)[0]], "two": [made(records[::-1], noise, by)[0]]}
    assert near_twins(PublishedFigures.of(same)) == []


def test_codes_of_two_classifications_that_differ_by_one_person(noise: PerturbationTable) -> None:
    draw = people(6_000, 21, sex=2, faith=6)
    age = np.random.default_rng(5).integers(0, 95, 6_000)
    age[age == 60] = 61
    age[77] = 60
    old = dc.Classification.from_intervals("old", [0, 30, 60], column="age")
    older = dc.Classification.from_intervals("older", [0, 31, 61], column="age")
    frame = draw.with_columns(age=pl.Series(age))
    table = dc.tabulate(frame, by=[[old, older], "sex", "faith"], record_key="record_key")
    twins = near_twins(PublishedFigures.of({"": [dc.perturb(table, noise)]}))
    assert len(twins) == 1
    assert twins[0].first.startswith("old=")
    assert twins[0].second.startswith("older=")
    assert 0 < twins[0].unequal <= 4


def test_other_keys_are_seen_as_contradictions(noise: PerturbationTable) -> None:
    records = people(2_000, 5, area=20, sex=2)
    other = records.with_columns(people(2_000, 6, x=2)["record_key"])
    report = dc.attack(
        [made(records, noise, ["area", "sex"])[0], made(other, noise, ["area", "sex"])[0]],
        ptable=noise,
    )
    assert report.rates()["contradictions"] > 20
    assert "Use the same record keys for all tables of a population" in report.text()


def test_parameters_are_found_from_sums(noise: PerturbationTable) -> None:
    safe, _ = made(people(400_000, 2, area=1_500, sex=2, age=2), noise, ["area", "sex", "age"])
    found = found_parameters(PublishedFigures.of({"": [safe]}).systems[""])
    odds = NoiseOdds.of(noise)
    assert found.variance == pytest.approx(odds.variance, abs=5 * found.error)
    assert 1 < found.largest <= 4
    assert "2.25" not in repr(found)


def test_an_area_is_reconstructed(noise: PerturbationTable) -> None:
    records = people(3_000, 9, area=60, sex=2, age=3)
    safe, _ = made(records, noise, ["area", "sex", "age"])
    system = PublishedFigures.of({"": [safe]}).systems[""]
    found = reconstruct(system, "area", "7", NoiseRange.of_table(noise))
    true = np.zeros((3, 2), dtype=np.int64)
    for row in records.filter(pl.col("area") == 7).iter_rows(named=True):
        true[row["age"], row["sex"]] += 1
    assert found.variables == ("age", "sex")
    assert (found.low <= true.ravel()).all()
    assert (true.ravel() <= found.high).all()
    assert found.right(true.ravel()) > 0.7
    assert 0 <= found.certain <= true.sum()
    with pytest.raises(PerturbationError, match="no published value concerns this code"):
        reconstruct(system, "area", "none", NoiseRange.of_maximum(4))


def test_rates_and_limits(noise: PerturbationTable) -> None:
    safe, true = made(people(3_000, 9, area=60, sex=2, age=3), noise, ["area", "sex", "age"])
    report = dc.attack(safe, ptable=noise, truth={"": [true]})
    rates = report.rates()
    assert 0.2 < float(rates["average"] or 0) < 0.9
    assert report.exceeded({"twins": 0}) == []
    assert report.exceeded({"average": 0.1}) != []
    with pytest.raises(PerturbationError, match="unknown rate"):
        report.exceeded({"luck": 0.1})
    unknown = dc.attack(safe)
    with pytest.raises(PerturbationError, match="cannot be computed without the noise parameters"):
        unknown.exceeded({"determined": 0})
    assert "secret" in repr(report)


def test_what_is_no_publication_is_refused(noise: PerturbationTable) -> None:
    _, true = made(people(100, 9, sex=2), noise, ["sex"])
    with pytest.raises(
        PublicationError, match="an attack needs the folder of a release, or protected tables"
    ):
        dc.attack(true)  # type: ignore[arg-type]
    with pytest.raises(PublicationError, match="no release in this folder"):
        dc.attack("no-such-folder")
    safe, _ = made(people(100, 9, age=2), noise, ["age"])
    with pytest.raises(TableError, match="does not span the true table"):
        dc.attack(safe, truth={"": [true]})


# -- leaks made for the purpose ------------------------------------------------------------------

#: Sums over both sexes are official: each stands beside two parts.
OFFICIAL = "sex == 'Total' and area != 'Total'"


def test_the_report_finds_every_leak_of_a_release_made_for_the_purpose(
    noise: PerturbationTable,
) -> None:
    """One person's difference, an eight-way table, columns of one noise, an official total."""
    codes = {f"v{at}": 2 for at in range(8)}
    persons = people(20_000, 31, area=60, sex=2, **codes)
    without = persons.with_row_index().filter(pl.col("index") != 777).drop("index")
    doubled = persons.with_columns(people(20_000, 32, x=2)["record_key"])
    # Every second unit of another kind has twice the records of a person, under the same keys.
    halves = persons.group_by("area", "sex", maintain_order=True).agg(
        pl.len().alias("records"), pl.col("record_key").sum() % 10**15
    )
    halves = pl.concat([halves] * 40).with_columns(
        record_key=pl.when(pl.int_range(pl.len()) < len(halves)).then("record_key").otherwise(0)
    )
    by = ["area", "sex"]
    table = dc.tabulate(halves, by=by, record_key="record_key", allow_unsuitable_keys=True)
    tables = {
        "persons": [made(persons, noise, by)[0], made(persons, noise, list(codes))[0]],
        "most": [made(without, noise, by)[0]],
        "homes": [dc.perturb(table, noise)],
        "others": [
            dc.perturb(
                dc.tabulate(doubled, by=by, record_key="record_key"), noise, official=OFFICIAL
            )
        ],
    }
    report = dc.attack(tables, ptable=noise)
    assert report.rates()["exposure"] >= 1.5**8
    assert any({twin.first, twin.second} == {"persons", "most"} for twin in report.twins)
    shared = [{pair.first, pair.second} for pair in report.shared]
    assert {"persons", "homes"} in shared
    assert all("homes" in pair for pair in shared)
    assert not any(one.regular for one in report.universes if one.name in ("persons", "others"))
    assert report.rates()["official"] == 60
    text = report.text()
    assert "homes | persons" in text or "persons | homes" in text
    assert "Publish these sums with noise" in text
    page = attack_page(report, internal=True)
    for words in ("Separate keys", "A variance of at least", "Publish these sums with noise"):
        assert words in page


def test_keys_that_are_no_keys_are_seen_in_the_figures(noise: PerturbationTable) -> None:
    """Numbers in a row are no keys: all large counts get nearly the same noise."""
    records = people(9_000, 41, area=45, sex=2).with_columns(record_key=pl.int_range(9_000))
    table = dc.tabulate(
        records, by=["area", "sex"], record_key="record_key", allow_unsuitable_keys=True
    )
    report = dc.attack({"persons": [dc.perturb(table, noise)]}, ptable=noise)
    assert report.rates()["regular"] == 1
    proper = dc.attack(
        {"persons": [made(people(9_000, 41, area=45, sex=2), noise, ["area", "sex"])[0]]}
    )
    assert proper.rates()["regular"] == 0


# -- levels -------------------------------------------------------------------------------------


def _regions(noise: PerturbationTable) -> tuple[ProtectedTable, ProtectedTable]:
    """Persons by districts in four regions, and by the regions alone."""
    draw = np.random.default_rng(8)
    codes = draw.integers(0, 12, 6_000)
    records = pl.DataFrame(
        {
            "district": [f"{at // 3}{at % 3}" for at in codes],
            "part": [str(at // 3) for at in codes],
            "record_key": draw.integers(0, 10**15, 6_000),
        }
    )
    every = [f"{at // 3}{at % 3}" for at in range(12)]
    tree = dc.Classification.from_prefixes("region", every, lengths=(1, 2), column="district")
    coarse = dc.Classification.flat("region", list("0123"), column="part")
    return made(records, noise, [tree])[0], made(records, noise, [coarse])[0]


def test_tables_of_fewer_levels_say_nothing_of_finer_ones(noise: PerturbationTable) -> None:
    fine, coarse = _regions(noise)
    for tables in ([fine, coarse], [coarse, fine]):
        (system,) = PublishedFigures.of({"": tables}).systems.values()
        assert system.contradictions == 0
        titles = {system.title(key): layer.tables for key, layer in system.layers.items()}
        assert [len(titles[title]) for title in ("total", "region 1", "region 2")] == [2, 2, 1]


def test_sums_lead_over_levels_that_nobody_publishes(noise: PerturbationTable) -> None:
    """Bounds and parameters use the sum of districts in the total, too, if regions are hidden."""
    fine, _ = _regions(noise)
    hidden = replace(fine, suppressed_parts=frozenset({(2,)}))
    (system,) = PublishedFigures.of({"": [hidden]}).systems.values()
    pairs = [(system.title(s.fine.key), system.title(s.coarse.key)) for s in system.steps()]
    assert pairs == [("region 2", "total")]
    assert found_parameters(system).sums == 1


#: Of three sizes, with small counts changed to zero and without, with official figures and without.
SEEDS = [range(2, 8), pytest.param(range(40), marks=pytest.mark.exhaustive)]


@pytest.mark.parametrize("seeds", SEEDS)
def test_attacks_find_as_many_counts_as_dense_least_squares(seeds: range) -> None:
    """Within one point or above, in each release."""
    gains = []
    for seed in seeds:
        release = random_release(seed)
        published, apart = share_apart(figures_of(release))
        unchanged, attacked = share_attacked(release)
        assert unchanged == pytest.approx(published, abs=0.02)  # of whole layers, and of tables
        assert attacked >= apart - 0.01, f"release {seed}"
        gains.append(attacked - unchanged)
    assert np.mean(gains) > 0.05


def test_large_tables_are_averaged_as_well() -> None:
    """Some ten thousand cells, against a sparse solution to machine precision."""
    table = dc.tabulate(people_of(60_000), by=["area", "age", "work"], record_key="record_key")
    safe = dc.perturb(table, dc.design_perturbation(max_noise=4, variance=2.25))
    published, apart, cells = share_sparse(safe, table)
    assert cells > 5_000
    (system,) = PublishedFigures.of({"": [safe]}, {"": [table]}).systems.values()
    hits = [
        (np.rint(own.estimate) == own.layer.truth(own.layer.ids))[own.noisy]
        for own in estimated(system, 2.25, leverages=False).values()
    ]
    attacked = float(np.concatenate(hits).mean())
    assert attacked >= apart - 0.01
    assert attacked > published + 0.02


def test_figures_without_noise_win_over_those_with_noise() -> None:
    """What one table shows as it is, attackers take, whichever table comes first."""
    frame = people_of(2_000)
    noise = dc.design_perturbation(max_noise=4, variance=2.25)
    by = ["age", "work"]
    tables = [
        dc.perturb(dc.tabulate(frame, by=by, record_key="record_key"), noise, official=official)
        for official in ("", "work == 'Total'")
    ]
    for safe in (tables, tables[::-1]):
        (system,) = PublishedFigures.of({"": safe}).systems.values()
        layer = next(own for key, own in system.layers.items() if system.title(key) == "age")
        true = frame["age"].value_counts().sort("age")["count"].to_list()
        assert layer.official.all()
        assert layer.value.tolist() == true
