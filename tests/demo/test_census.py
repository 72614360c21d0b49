"""The synthetic census: units link up, attributes fit, small numbers abound."""

import hashlib

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from discreet.demo import Census, generate
from tests.helpers.rows import for_all_rows

UNITS = ("persons", "households", "dwellings", "buildings")


@pytest.fixture(scope="module")
def census() -> Census:
    return generate(persons=60_000, seed=7)


def test_it_has_as_many_persons_as_asked_for(census):
    assert census.persons["person_id"].to_list() == list(range(1, 60_001))


@pytest.mark.parametrize("unit", UNITS)
def test_numbers_of_units_are_unique(census, unit):
    frame = getattr(census, unit)
    assert frame[f"{unit[:-1]}_id"].is_unique().all()
    assert frame[f"{unit[:-1]}_id"].null_count() == 0


def test_every_person_lives_in_a_household_dwelling_and_building(census):
    linked = (
        census.persons.select("person_id", "household_id", "dwelling_id", "building_id")
        .join(census.households.select("household_id", d="dwelling_id"), on="household_id")
        .join(census.dwellings.select(d="dwelling_id", b="building_id"), on="d")
        .join(census.buildings.select(b="building_id"), on="b")
    )
    assert linked.height == census.persons.height
    assert (linked["d"] == linked["dwelling_id"]).all()
    assert (linked["b"] == linked["building_id"]).all()


def test_sizes_of_units_are_those_counted(census):
    for whole, part, column in (
        (census.households, census.persons, "household_size"),
        (census.buildings, census.dwellings, "dwellings"),
    ):
        key = whole.columns[0]
        counted = whole.join(part.group_by(key).len(), on=key, how="left")
        assert (counted[column] == counted["len"]).all()


def test_a_dwelling_has_one_household_unless_vacant(census):
    occupied = census.dwellings.filter(pl.col("tenure") != "vacant")
    assert sorted(occupied["dwelling_id"]) == sorted(census.households["dwelling_id"])
    assert 0.01 < 1 - occupied.height / census.dwellings.height < 0.1


def test_rent_is_paid_for_rented_dwellings_only(census):
    paid = census.dwellings["rent"].is_not_null()
    assert (paid == (census.dwellings["tenure"] == "rented")).all()
    rent = census.dwellings["rent"].drop_nulls()
    assert rent.min() > 0
    assert rent.mean() > 1.08 * rent.median()  # skewed
    assert census.dwellings["area"].mean() > 1.05 * census.dwellings["area"].median()


def test_all_units_of_a_building_lie_in_its_municipality(census):
    place = census.buildings.select("building_id", m="municipality", d="district", s="state")
    for unit in UNITS[:3]:
        linked = getattr(census, unit).join(place, on="building_id")
        assert linked.height == getattr(census, unit).height
        assert (linked["municipality"] == linked["m"]).all()
        assert (linked["district"] == linked["d"]).all()
        assert (linked["state"] == linked["s"]).all()


def test_a_grid_cell_lies_in_one_municipality_and_many_hold_few_persons(census):
    cells = census.persons.group_by("grid_cell").agg(
        pl.len(), pl.col("municipality").cast(pl.String).n_unique().alias("places")
    )
    assert cells["places"].max() == 1
    assert cells["grid_cell"].cast(pl.String).str.contains(r"^100mN\d{5}E\d{5}$").all()
    assert (cells["len"] <= 3).mean() > 0.1


def test_region_codes_match_the_classification(census):
    region = census.classifications["region"]
    codes = census.persons["municipality"].cast(pl.String)
    assert region.unknown(codes.unique()) == []
    assert (codes.str.head(5) == census.persons["district"].cast(pl.String)).all()
    assert (codes.str.head(2) == census.persons["state"].cast(pl.String)).all()
    assert region.depth == 3
    assert {region.label(code, "de") for code in region.codes} != set(region.codes)


@for_all_rows(
    ("unit", "column"),
    [
        ("persons", "sex"),
        ("persons", "nationality"),
        ("persons", "marital_status"),
        ("persons", "education"),
        ("persons", "occupation"),
        ("households", "household_type"),
        ("dwellings", "tenure"),
        ("buildings", "building_type"),
        ("buildings", "construction"),
    ],
)
def test_codes_match_the_classification_and_have_labels(census, unit, column):
    tree = census.classifications[column]
    codes = getattr(census, unit)[column].drop_nulls().cast(pl.String).unique()
    assert tree.unknown(codes) == []
    assert len(codes) >= 0.7 * len(tree.leaves)
    for code in tree.codes[1:]:
        assert set(tree.labels[code]) == {"en", "de"}
    assert set(tree.titles) == {"en", "de"}


def test_age_bands_are_read_from_the_age_column(census):
    for name in ("age5", "legal_age"):
        assert census.classifications[name].source == "age"
    shared = set(census.classifications["age5"].codes) & set(
        census.classifications["legal_age"].codes
    )
    assert shared == {"Total"}  # so that both can stand in one table


def test_the_age_pyramid_is_plausible(census):
    age = census.persons["age"]
    assert age.min() == 0
    assert 90 < age.max() <= 105
    assert 38 < age.mean() < 47
    assert 0.12 < (age < 18).mean() < 0.22
    assert 0.15 < (age >= 65).mean() < 0.25
    old = census.persons.filter(pl.col("age") >= 80)
    assert (old["sex"] == "w").mean() > 0.55


def test_attributes_fit_the_age(census):
    children = census.persons.filter(pl.col("age") < 15)
    assert set(children["education"].cast(pl.String)) == {"pre_school", "pupil"}
    assert children["occupation"].null_count() == children.height
    young = census.persons.filter(pl.col("age") < 18)
    assert set(young["marital_status"].cast(pl.String)) == {"single"}
    married = census.persons.filter(pl.col("marital_status") == "married")
    assert 30 < married["age"].mean() < 65
    working = census.persons.filter(pl.col("occupation").is_not_null())
    assert 0.4 < working.height / census.persons.height < 0.6


def test_children_are_born_to_parents_of_a_plausible_age(census):
    families = census.households.filter(pl.col("household_type") == "family")
    members = census.persons.join(families.select("household_id"), on="household_id", how="semi")
    by_home = members.group_by("household_id", maintain_order=True).agg("age")
    gap = by_home["age"].list.first().cast(int) - by_home["age"].list.last().cast(int)
    assert gap.min() >= 15
    assert 24 < gap.mean() < 36


def test_household_types_fit_their_sizes(census):
    sizes = {
        str(kind): set(part["household_size"])
        for (kind,), part in census.households.group_by("household_type")
    }
    assert sizes["single"] == {1}
    assert sizes["couple"] == {2}
    assert min(sizes["family"]) >= 3
    assert min(sizes["lone_parent"]) >= 2
    assert min(sizes["shared"]) >= 2


def test_nationality_is_skewed_with_many_rare_codes(census):
    counts = census.persons["nationality"].value_counts(sort=True)
    assert counts["nationality"][0] == "home"
    assert counts.height >= 40
    assert (counts["count"] < 20).sum() >= 5


def test_cross_tabulations_are_full_of_ones_and_twos(census):
    cells = census.persons.group_by("municipality", "age", "sex").len()
    assert (cells["len"] <= 2).mean() > 0.3


def test_types_are_cheap(census):
    assert census.persons.schema["age"] == pl.UInt8
    assert isinstance(census.persons.schema["municipality"], pl.Categorical)
    assert isinstance(census.persons.schema["sex"], pl.Enum)
    assert census.persons.schema["sex"].categories.to_list() == ["m", "w"]


def test_the_same_seed_gives_the_same_census_and_another_one_another():
    first, again, other = (generate(persons=2_000, seed=seed) for seed in (5, 5, 6))
    for unit in UNITS:
        assert_frame_equal(getattr(first, unit), getattr(again, unit))
    assert not first.persons["age"].equals(other.persons["age"])


def test_the_records_of_a_seed_are_pinned():
    persons = generate(persons=1_000, seed=2026).persons
    assert list(persons["income"].drop_nulls())[:3] == [2786, 4374, 3214]
    text = persons.drop("income").write_csv().encode()
    assert hashlib.sha256(text).hexdigest() == (
        "2b47a7a247a34e2c37e0b31e68dca9ec7e30ca79ea0a2d290d216e8100abc68f"
    )
