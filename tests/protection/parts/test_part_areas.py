"""Table parts decided area by area: measures, who is hidden beside whom, attacks."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import PartRules, Table, check_parts, suppress_parts
from discreet.classifications import Classification
from discreet.demo import example_perturbation_table
from discreet.errors import SuppressionError
from discreet.protection.parts import (
    PartDecisions,
    PartTies,
    area_shares,
    released_parts,
)
from discreet.protection.parts.levels import PartLattice, level_of
from discreet.protection.parts.measures import part_cells
from discreet.tables import ProtectedTable
from discreet.tables.dimension import level_numbers

PLACES = [f"{state}{district}{place}" for state in "NS" for district in "123" for place in "abcd"]
REGION = Classification.from_prefixes(
    "region", PLACES, [1, 2, 3], level_names=("state", "district", "place")
)
SEX = Classification.flat("sex", ["m", "w"])
WORK = Classification.flat("work", ["full", "part", "none"])
BY = [REGION, SEX, WORK]


def people(seed: int, persons: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    weight = rng.lognormal(0, 1.4, len(PLACES))
    return pl.DataFrame(
        {
            "region": rng.choice(PLACES, persons, p=weight / weight.sum()),
            "sex": rng.choice(["m", "w"], persons),
            "work": rng.choice(["full", "part", "none"], persons, p=[0.6, 0.3, 0.1]),
            "record_key": rng.integers(0, 10**15, persons),
        }
    )


def counted(records: pl.DataFrame, by: Any = None, **more: Any) -> Table:
    return dc.tabulate(records, by=by or BY, record_key="record_key", **more)


RULES = PartRules(max_share_small=0.5, max_share_grouped=0.7)


# -- measures ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_an_area_measures_as_a_table_of_its_own(seed: int) -> None:
    records = people(seed)
    table = counted(records)
    at_once = part_cells(table, 2, lambda counts: np.sqrt(counts), area=0)
    lattice = PartLattice(table.dimensions[1:])
    assert at_once.records_of_areas()[0] == len(records)
    for code in ("N", "S2", "N1a", "S3d"):
        own = records.filter(pl.col("region").str.starts_with(code))
        alone = part_cells(counted(own, [SEX, WORK]), 2, lambda counts: np.sqrt(counts))
        area = table.dimensions[0].index[code]
        joined, _ = at_once.joined([area])
        assert at_once.records_of_areas()[area] == len(own)
        for part in lattice.outward:
            assert at_once.measure((area, *part)) == alone.measure(part)
            exactly = {**vars(alone.measure(part)), "relative_error": None}
            assert vars(joined.measure(part)) == exactly


# -- decisions --------------------------------------------------------------------------


def village(small: int = 2) -> Table:
    """Three places in one district, of which one has few people; another district of four."""
    rows = []
    for place, persons in [("N1a", small), ("N1b", 30), ("N1c", 60), ("N1d", 90)]:
        rows += [
            (place, "m" if i % 2 else "w", "full" if i % 3 else "part") for i in range(persons)
        ]
    for place in PLACES[4:]:
        rows += [(place, "m" if i % 2 else "w", "full" if i % 3 else "part") for i in range(48)]
    records = pl.DataFrame(rows, schema=["region", "sex", "work"], orient="row")
    keys = pl.Series("record_key", np.random.default_rng(1).integers(0, 10**15, len(rows)))
    return counted(records.with_columns(keys), name="T1")


def test_a_small_area_is_hidden_beside_the_smallest_that_has_people() -> None:
    decided = check_parts(village(), PartRules(max_share_small=0.5), areas="region")
    assert decided.suppressed == frozenset()
    assert decided.outcome == "thinned"
    assert decided.areas is not None
    assert set(decided.areas.hidden) == {"N1a", "N1b"}
    assert decided.areas.hidden["N1a"] == decided.areas.hidden["N1b"]
    assert decided.text().endswith("Subtables are also suppressed for 2 areas.")


def test_nothing_is_hidden_where_every_area_passes() -> None:
    decided = check_parts(village(small=30), PartRules(max_share_small=0.5), areas="region")
    assert decided.areas is not None
    assert decided.areas.hidden == {}
    assert decided.outcome == "complete"


def test_the_log_does_not_tell_the_area_from_the_one_beside_it() -> None:
    decided = check_parts(village(), PartRules(max_share_small=0.5), areas="region")
    hidden = decided.to_dict()["areas"]["hidden"]
    assert hidden["N1a"] == hidden["N1b"]
    assert set(decided.to_dict()["areas"]) == {"variable", "hidden"}
    assert PartDecisions.from_dict(decided.to_dict()) == decided


def test_an_area_without_people_does_not_hide_another() -> None:
    records = people(1).filter(~pl.col("region").is_in(["N1c", "N1d"]))
    few = records.filter(pl.col("region") == "N1a").head(1)
    table = counted(pl.concat([records.filter(pl.col("region") != "N1a"), few]))
    decided = check_parts(table, PartRules(max_share_unique=0.99), areas="region")
    assert decided.areas is not None
    assert {code for code in decided.areas.hidden if code < "N2"} == {"N1a", "N1b"}


def test_hidden_cells_are_shown_as_such_and_stored_without_a_value() -> None:
    table = village()
    safe = dc.perturb(table, example_perturbation_table())
    decided = check_parts(table, PartRules(max_share_small=0.5), areas="region")
    thinned = suppress_parts(safe, decided)
    cells = thinned.to_polars(complete=True)
    for code in ("N1a", "N1b"):
        own = cells.filter(region=code)
        assert own["status"].unique().to_list() == ["suppressed"]
        assert own["value"].null_count() == len(own)
    rest = cells.filter(~pl.col("region").is_in(["N1a", "N1b"]))
    before = safe.to_polars(complete=True)
    assert rest.equals(before.filter(~pl.col("region").is_in(["N1a", "N1b"])))
    assert thinned.notes[-1].text() == (
        "For some areas (region), subtables are suppressed, shown as “.”."
    )
    assert suppress_parts(thinned, decided).to_polars().equals(thinned.to_polars())


def test_shares_are_told_per_level_and_per_state() -> None:
    table = village()
    decided = check_parts(table, PartRules(max_share_small=0.5), areas="region")
    assert decided.areas is not None
    shares = area_shares(table.dimensions, decided.suppressed, decided.areas)
    told = {(each.level, each.within): (each.areas, each.complete, each.blocked) for each in shares}
    assert told[("state", "")] == (2, 2, 0)
    assert told[("district", "N")] == (3, 3, 0)
    assert told[("place", "")] == (24, 22, 2)
    assert told[("place", "N")] == (12, 10, 2)
    assert told[("place", "S")] == (12, 12, 0)


def test_a_wrong_variable_and_a_wrong_level_are_refused() -> None:
    with pytest.raises(SuppressionError, match="spanning variable 'place' of areas not found"):
        check_parts(village(), RULES, areas="place")
    with pytest.raises(SuppressionError, match="unknown level 'village' of areas"):
        level_of(village().dimensions[0], "village")


# -- attacks ----------------------------------------------------------------------------


def row(codes: dict[str, str]) -> np.ndarray[Any, Any]:
    """Which finest cells a cell is the sum of."""
    region, sex, work = (codes.get(name, "Total") for name in ("region", "sex", "work"))
    lines = [("Total", one[:1], one[:2], one) for one in PLACES]
    other = GROUPS.get(region, [])
    places = np.array([region in line or line[-1] in other for line in lines], dtype=float)
    sexes = np.array([sex in ("Total", one) for one in SEX.codes[1:]], dtype=float)
    works = np.array([work in ("Total", one) for one in WORK.codes[1:]], dtype=float)
    return np.kron(places, np.kron(sexes, works))


def rows(cells: pl.DataFrame) -> np.ndarray[Any, Any]:
    names = [name for name in cells.columns if name in ("region", "sex", "work")]
    return np.array([row(codes) for codes in cells.select(names).to_dicts()])


def split(table: ProtectedTable) -> list[np.ndarray[Any, Any]]:
    """The cells that are shown, and those that are hidden, as sums of finest cells."""
    cells = table.to_polars(complete=True)
    hidden = pl.col("status") == "suppressed"
    return [rows(cells.filter(~hidden)), rows(cells.filter(hidden))]


def computed(known: np.ndarray[Any, Any], hidden: np.ndarray[Any, Any]) -> int:
    """How many hidden cells are sums and differences of shown ones."""
    # Sums of zeros and ones have eigenvalues of 0, or far from it.
    size, vectors = np.linalg.eigh(known.T @ known)
    space = vectors[:, size > 1e-6]
    rest = hidden - hidden @ space @ space.T
    return int((np.abs(rest).max(axis=1) < 1e-7).sum())


def opened(decisions: dict[str, PartDecisions], tables: dict[str, Table]) -> int:
    """How many hidden cells of tables follow from those that any of them shows."""
    ptable = example_perturbation_table()
    parts = [
        split(suppress_parts(dc.perturb(table, ptable), decisions[name]))
        for name, table in tables.items()
    ]
    shown, hidden = (
        np.concatenate([part[side] for part in parts if len(part[side])]) for side in (0, 1)
    )
    return computed(shown, hidden)


@pytest.mark.parametrize("seed", range(2))
def test_no_hidden_cell_is_a_sum_or_difference_of_shown_ones(seed: int) -> None:
    table = counted(people(seed, 300 + 60 * seed))
    decided = check_parts(table, RULES, areas="region")
    safe = suppress_parts(dc.perturb(table, example_perturbation_table()), decided)
    shown, hidden = split(safe)
    assert len(hidden)
    assert computed(shown, hidden) == 0


def test_the_attack_finds_what_is_hidden_alone() -> None:
    table = village()
    decided = check_parts(table, PartRules(max_share_small=0.5), areas="region")
    assert decided.areas is not None
    alone = {code: parts for code, parts in decided.areas.hidden.items() if code == "N1a"}
    safe = suppress_parts(
        dc.perturb(table, example_perturbation_table()),
        replace(decided, areas=replace(decided.areas, hidden=alone)),
    )
    shown, hidden = split(safe)
    assert computed(shown, hidden) == len(hidden) > 0


@pytest.mark.parametrize("seed", range(2))
def test_what_several_areas_lack_passes_the_rules_as_one_table(seed: int) -> None:
    """The area above minus the siblings shown is what the hidden ones have together."""
    records = people(seed, 900)
    table = counted(records)
    decided = check_parts(table, RULES, areas="region")
    assert decided.areas is not None
    region, lattice = table.dimensions[0], PartLattice(table.dimensions[1:])
    numbers = dict(zip(region.codes, level_numbers(region).tolist(), strict=True))
    hidden = {
        code: set(decided.areas.hidden.get(code, ()))
        | {each[1:] for each in decided.suppressed if each[0] == number}
        for code, number in numbers.items()
    }
    seen = 0
    for area in ("Total", "N", "S", *(f"{s}{d}" for s in "NS" for d in "123")):
        below = [code for at, code in zip(region.parents, region.codes, strict=True)
                 if at == region.index[area]]  # fmt: skip
        for part in lattice.outward:
            group = [each for each in below if part in hidden[each]]
            if part in hidden[area]:
                assert group
                continue
            if not group:
                continue
            seen += 1
            own = records.filter(pl.col("region").str.contains(f"^({'|'.join(group)})"))
            measured = part_cells(counted(own, [SEX, WORK]), 2).measure(part)
            assert len(group) > 1
            assert RULES.risks(measured) == ()
    assert seen


@pytest.mark.parametrize("seed", range(3))
def test_filtered_tables_are_held_against_all_records_area_by_area(seed: int) -> None:
    records = people(seed, 900)
    women = counted(records, [REGION, WORK], where="sex == 'w'")
    every = counted(records, [REGION, WORK])
    decided = check_parts(women, RULES, universe=every, areas="region")
    assert decided.areas is not None
    for code in ("N1a", "S2c"):
        own = records.filter(region=code)
        slices = [counted(own, [WORK], where="sex == 'w'"), counted(own, [WORK])]
        expected = check_parts(slices[0], RULES, universe=slices[1])
        hidden = decided.areas.hidden.get(code, frozenset())
        assert expected.suppressed <= hidden | {part[1:] for part in decided.suppressed}


@pytest.mark.parametrize("seed", range(3))
def test_tables_that_agree_do_not_give_each_other_away(seed: int) -> None:
    """A part of one table is a margin of another, and judged by other rules in each."""
    records = people(seed, 500 + 100 * seed)
    spans = {"T1": BY, "T2": [REGION, SEX], "T3": [WORK, REGION], "T4": [SEX, WORK]}
    judged = {
        "T1": RULES,
        "T2": PartRules(min_average_size=9),
        "T3": PartRules(max_share_grouped=0.4),
        "T4": RULES,
    }
    tables = {name: counted(records, by, name=name) for name, by in spans.items()}
    decided = {
        name: check_parts(table, judged[name], areas="region" if name < "T4" else None)
        for name, table in tables.items()
    }
    ties = PartTies({name: table.dimensions for name, table in tables.items()})
    agreed = ties.agreed(decided)
    assert ties.agreed(agreed) == agreed
    assert opened(agreed, tables) == 0 < opened(decided, tables)


#: The same places, grouped otherwise; and beside them another column of records.
KINDS = Classification.from_parents(
    "region",
    {"town": None, "land": None, **{p: "town" if p[2] in "ab" else "land" for p in PLACES}},
)
FLAT = Classification.flat("region", PLACES)
ZONE = Classification.flat("region", ["east", "west"]).replace(column="zone")
#: Codes of other groupings → the places in them.
GROUPS = {
    "town": [p for p in PLACES if p[2] in "ab"],
    "land": [p for p in PLACES if p[2] in "cd"],
    "east": [p for p in PLACES if p[1] in "12"],
    "west": [p for p in PLACES if p[1] == "3"],
}


@pytest.mark.parametrize("seed", [1])
def test_other_groupings_do_not_give_areas_away(seed: int) -> None:
    """A place is on another level, in another classification or among alternatives elsewhere."""
    records = people(seed, 500 + 100 * seed)
    east = pl.when(pl.col("region").is_in(GROUPS["east"])).then(pl.lit("east"))
    records = records.with_columns(zone=east.otherwise(pl.lit("west")))
    groupings: dict[str, Any] = {"flat": FLAT, "kinds": KINDS, "alternatives": [ZONE, REGION]}
    for name, grouping in groupings.items():
        spans = {"T1": BY, "T2": [grouping, SEX], "T3": [WORK, grouping]}
        tables = {table: counted(records, by, name=table) for table, by in spans.items()}
        dimensions = {table: counts.dimensions for table, counts in tables.items()}
        decided = {table: released_parts(table, own, None) for table, own in dimensions.items()}
        decided["T1"] = check_parts(tables["T1"], RULES, areas="region")
        agreed = PartTies(dimensions).agreed(decided)
        assert PartTies(dimensions).agreed(agreed) == agreed
        assert opened(agreed, tables) == 0 < opened(decided, tables), name


def test_levels_are_compared_once_however_many_tables_have_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = []
    covers = PartTies.covers

    def counted_covers(self: PartTies, hidden: int, shown: int) -> bool:
        compared.append((hidden, shown))
        return covers(self, hidden, shown)

    monkeypatch.setattr(PartTies, "covers", counted_covers)
    table = counted(people(1, 500), BY, name="T")
    steps = []
    for number in (5, 50):
        names = [f"T{at}" for at in range(number)]
        decided = {name: released_parts(name, table.dimensions, None) for name in names}
        strict = PartRules(min_average_size=9)
        decided["T0"] = replace(check_parts(table, strict), table="T0")
        compared.clear()
        agreed = PartTies(dict.fromkeys(names, table.dimensions)).agreed(decided)
        assert len({frozenset(own.suppressed) for own in agreed.values()}) == 1
        assert agreed["T1"].suppressed
        steps.append(len(compared))
    assert steps[0] == steps[1]
