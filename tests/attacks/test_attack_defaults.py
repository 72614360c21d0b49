"""A careless colleague calls everything with as few words as possible; an attacker reads it."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet.errors import DiscreetWarning, SuppressionError
from discreet.protection.suppression.publish.suppression import SharedSuppression, Suppression
from discreet.release import protect

#: The mean weight of the sample, which its size and the population tell.
MEAN_WEIGHT = 20


@pytest.fixture(scope="module")
def sample() -> pl.DataFrame:
    """3,000 places of about 20 persons, each with a whole weight."""
    rng, persons = np.random.default_rng(1), 60_000
    columns = {
        "place": rng.integers(0, 3_000, persons),
        "weight": rng.integers(5, 36, persons),
        "key": rng.integers(0, 10**15, persons),
    }
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def weighted(sample: pl.DataFrame) -> dc.Table:
    return dc.tabulate(sample, ["place"], record_key="key", weight="weight")


@pytest.fixture(scope="module")
def noise() -> dc.PerturbationTable:
    return dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))


def recovered(safe: dc.ProtectedTable, table: dc.Table) -> float:
    """Share of true counts that the denominators of the figures give away.

    A figure is (n + v) · W / n with a whole W: in lowest terms its denominator divides n, and
    the mean weight says which of its multiples n is.
    """
    cells = table.to_polars().filter(pl.col("place") != "Total")
    guesses = []
    for figure in (safe.get(code) for code in cells["place"]):
        part = Fraction(figure or 0).limit_denominator(100).denominator
        guesses.append(part * max(1, round((figure or 0) / MEAN_WEIGHT / part)))
    return float((cells["count"] == pl.Series(guesses)).mean())  # type: ignore[arg-type]


def test_the_digits_of_weighted_figures(weighted: dc.Table, noise: dc.PerturbationTable) -> None:
    """68 % of true counts with all digits; 16 % by default, no more than the noise itself tells."""
    with pytest.warns(DiscreetWarning, match="disclose the number of records"):
        every = dc.perturb(weighted, noise, decimals=None)
    assert recovered(every, weighted) > 0.6
    with pytest.warns(DiscreetWarning, match="disclose the number of records"):
        assert recovered(dc.perturb(weighted, noise, decimals=3), weighted) > 0.5
    unweighted = dc.Table(
        dimensions=weighted.dimensions, index=weighted.index, count=weighted.count,
        cell_key=weighted.cell_key, grid=weighted.grid,
    )  # fmt: skip
    plain = dc.perturb(unweighted, noise)
    unchanged = np.mean(plain.value[1:] == weighted.count[plain.index[0]][1:])
    assert recovered(dc.perturb(weighted, noise), weighted) < 0.2 < unchanged
    tens = dc.perturb(weighted, noise, round_to=10)
    assert recovered(tens, weighted) < 0.2
    assert not (tens.value % 10).any()


def test_a_table_without_noise_is_not_taken_for_protection() -> None:
    cells = pl.DataFrame({"sex": ["m", "w"], "n": [5, 14], "key": [0.1, 0.2]})
    table = dc.Table.from_cells(cells, ["sex"], count="n", cell_key="key")
    for row in ({0: 1}, {0: 1.0, 1: 0.0}):
        still = dc.PerturbationTable.from_rows({0: {0: 1}, 1: row})
        with pytest.warns(
            DiscreetWarning, match="the perturbation table changes no count: the published counts"
        ):
            dc.perturb(table, still)
    little = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 0.9, 1: 0.1}})
    assert dc.perturb(table, little).get("m") in (5, 6)


@pytest.mark.parametrize("options", [{"round_to": 0}, {"round_to": 2.5}, {"round_to": True}])
def test_no_multiples_but_whole_ones(
    weighted: dc.Table, noise: dc.PerturbationTable, options: dict[str, Any]
) -> None:
    with pytest.raises(dc.DiscreetError, match="round_to must be a whole number from 1 to"):
        dc.perturb(weighted, noise, **options)
    with pytest.raises(dc.DiscreetError, match="values rounded to multiples have no decimals"):
        dc.perturb(weighted, noise, round_to=10, decimals=1)


def test_value_columns_are_not_dropped_in_silence(noise: dc.PerturbationTable) -> None:
    people = pl.DataFrame({"sex": ["m", "w"], "rent": [500, 700], "key": [0.2, 0.7]})
    table = dc.tabulate(people, ["sex"], record_key="key", values=["rent"])
    with pytest.warns(
        DiscreetWarning, match="has counts only, without the value columns rent; use"
    ):
        dc.perturb(table, noise)


# -- nothing is hidden if nobody says what is sensitive ------------------------------------


@pytest.fixture
def firms() -> dc.Table:
    return dc.tabulate(
        pl.DataFrame({"branch": [*"aaaab"], "turnover": [3, 5, 4, 6, 9]}), ["branch"]
    )


def ways_without_primaries(table: dc.Table) -> Iterator[Any]:
    yield lambda: dc.suppress(table)
    yield lambda: dc.suppress(table, None, method="fast")
    yield lambda: dc.suppress([(table, None)])
    yield lambda: dc.suppress([(table, table.count < 3), (table, None)])
    yield lambda: dc.suppress(table, [])
    yield lambda: dc.suppress(table, [None])
    yield lambda: Suppression.of((table, None))
    yield lambda: SharedSuppression.of([(table, None)])
    yield lambda: dc.primary(table, [])
    yield lambda: dc.primary(table, [rules.MissingSafe()])
    yield lambda: dc.primary(table, [], marks=[])


def test_a_table_without_primaries_is_not_published_as_it_is(firms: dc.Table) -> None:
    for way in ways_without_primaries(firms):
        with pytest.raises(SuppressionError) as caught:
            way()
        assert caught.value.hint


def test_that_nothing_is_sensitive_can_be_said(firms: dc.Table) -> None:
    said = dc.primary(firms, [rules.NothingSensitive()])
    assert dc.suppress(firms, said, method="fast").get("b") == 1
    with pytest.raises(SuppressionError, match="NothingSensitive cannot be combined with rules"):
        dc.primary(firms, [rules.NothingSensitive(), rules.MinimumFrequency(3)])


# -- who has no value contributes nothing to it -------------------------------------------


def engines(frame: pl.DataFrame) -> Iterator[Any]:
    yield frame
    yield frame.lazy()
    yield frame.to_arrow()
    yield frame.to_pandas()
    yield duckdb.sql("select * from frame")


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_records_without_a_value_do_not_hide_those_with_one(nothing: float | None) -> None:
    """Branch b has five firms, of which one tells its turnover: it was published."""
    frame = pl.DataFrame(
        {
            "branch": [*"aaaaabbbbbccccc"],
            "turnover": [*[10.0] * 5, 77.0, *[nothing] * 4, *[20.0] * 5],
        }
    )
    for records in engines(frame):
        table = dc.tabulate(records, ["branch"], values=["turnover"], contributions=1)
        few = dc.primary(table, [rules.MinimumFrequency(3)], value="turnover")
        safe = dc.suppress(table, few, method="fast")
        assert safe.get("b") is None
        assert safe.get("Total") is not None
        by_records = dc.primary(table, [rules.MinimumFrequency(3, of="records")], value="turnover")
        assert not by_records.sensitive.any()
        counts = dc.primary(table, [rules.MinimumFrequency(3)])
        assert not counts.sensitive.any()


def test_a_margin_of_records_without_values_is_no_margin() -> None:
    """The total less branch a is the one turnover of b."""
    columns = {"branch": [*"aaabbb"], "turnover": [1, 2, 3, 9, None, None]}
    table = dc.tabulate(pl.DataFrame(columns), ["branch"], values=["turnover"], contributions=1)
    found = dc.primary(table, [rules.MarginalRule(1)], value="turnover")
    assert found.sensitive[table.to_polars()["branch"].to_list().index("a")]


def test_a_rule_on_values_needs_to_know_who_has_one() -> None:
    columns = {"branch": [*"aaabbb"], "turnover": [1, 2, 3, 9, None, None]}
    table = dc.tabulate(pl.DataFrame(columns), ["branch"], values=["turnover"])
    with pytest.raises(SuppressionError, match="needs counts that the table lacks"):
        dc.primary(table, [rules.MinimumFrequency(3)], value="turnover")


def test_a_shadow_variable_does_not_stand_in_for_contributors() -> None:
    columns = {"branch": [*"aaabbb"], "turnover": [1, 2, 3, 9, None, None], "staff": [5] * 6}
    table = dc.tabulate(
        pl.DataFrame(columns), ["branch"], values=["turnover", "staff"], contributions=1
    )
    few = [rules.MinimumFrequency(3)]
    found = dc.primary(table, few, value="turnover", shadow="staff")
    assert found.sensitive.tolist() == [False, False, True]


def test_a_lone_respondent_among_records_without_values_is_alone() -> None:
    """b and c are hidden together; the one firm with a value in b then knows c, and its sum."""
    columns = {
        "branch": [*"aaaaabbbbbccccc", *"ddddd"],
        "turnover": [*[10.0] * 5, 77.0, *[None] * 4, 50.0, *[None] * 4, *[30.0] * 5],
    }
    table = dc.tabulate(pl.DataFrame(columns), ["branch"], values=["turnover"], contributions=1)
    few = dc.primary(table, [rules.MinimumFrequency(2)], value="turnover")
    done = Suppression.of((table, few), method="fast")
    assert any("alone make up suppressed cells" in note for note in done.notes)
    assert sum(done.tables[0].get(code) is None for code in "abcd") == 3


def test_an_audit_knows_who_is_alone_with_a_value() -> None:
    """Each hidden branch has five records and one value: whoever gave it computes the other."""
    columns = {
        "branch": [*"aaaaabbbbbccccc"],
        "turnover": [*[10.0] * 5, 77.0, *[None] * 4, 50.0, *[None] * 4],
    }
    table = dc.tabulate(pl.DataFrame(columns), ["branch"], values=["turnover"], contributions=2)
    few = dc.primary(table, [rules.MinimumFrequency(2)], value="turnover")
    safe = dc.suppress(table, few, method="fast", singletons=False)
    assert [code for code in "abc" if safe.get(code) is None] == ["b", "c"]
    told = dc.audit(safe, table, few, coalition=1).respondents
    assert told is not None
    assert told.described()["opened_cells"] == ["branch=b", "branch=c"]


# -- a weighted table shows what its records stand for ----------------------------------------


def test_a_weighted_table_with_hidden_cells_shows_weights() -> None:
    """The true numbers of records in the sample were published, protected by levels of weights."""
    frame = pl.DataFrame({"branch": [*"aaaaabbbbccccd"], "weight": [20.0] * 14})
    table = dc.tabulate(frame, ["branch"], weight="weight")
    found = dc.primary(table, [rules.MinimumFrequency(2)])
    assert found.value == "weight"
    for safe in (
        dc.suppress(table, found, method="fast"),
        dc.suppress(table, table.count < 2, method="fast"),
        dc.suppress([(table, found)], method="fast")[0],
        dc.suppress(table, [found], method="fast"),
    ):
        assert safe.get("Total") == 280
        assert dc.audit(safe, table, found).safe
    counts = dc.suppress(table, table.count < 2, method="fast", value=None)
    assert counts.get("Total") == 14


# -- codes that do not exist -----------------------------------------------------------------


def test_a_slip_of_the_pen_is_not_a_zero(firms: dc.Table) -> None:
    said = dc.primary(firms, [rules.NothingSensitive()])
    safe = dc.suppress(firms, said, method="fast")
    with pytest.raises(dc.DiscreetError, match="code 'B' not found"):
        safe.get("B")


PROGRAMME = """
title = { en = "Twins", de = "Zwillinge" }
languages = ["en", "de"]
workbook = "all.xlsx"

[data]
source = "records.parquet"

[keys]
column = "key"
grid = 256

[perturbation]
table = "ptable.json"
found_codes = "hide"

[magnitudes.rent]
table = "rent.csv"
chance = 1
strength = { kind = "simple", share = 0.2 }
publish = "means"

[variables.place]
codes = ["a", "b", "c"]

[variables.sex]
codes = ["m", "w"]

[defaults]
formats = ["csv", "parquet", "json", "xlsx", "html", "px", "json-stat", "sdmx-csv"]

[tables.counts]
by = ["place", "sex"]

[tables.villages]
by = ["village"]

[tables.figures]
by = ["place", "sex"]

[tables.figures.figures]
all = { kind = "count" }
x = { kind = "count", where = "kind == 'x'" }
y = { kind = "count", where = "kind == 'y'" }
total = { kind = "sum", of = "rent" }
rent = { kind = "mean", of = "rent" }
part = { kind = "share", part = "y", whole = "all" }
share = { kind = "share", part = "all", over = ["sex"] }
average = { kind = "ratio", part = "total", whole = "all" }
rate = { kind = "per_thousand", part = "y", whole = "all" }
growth = { kind = "change", part = "x", whole = "y" }
surplus = { kind = "balance", part = "x", whole = "y" }
deficit = { kind = "balance", part = "y", whole = "x" }
price = { kind = "index", part = "all", base = { sex = "w" } }

[[tables.figures.notes]]
cells = { place = "c" }
text = "A remark."
"""

PEOPLE = {
    "place": ["c", "a", "a", "a"],
    "village": ["v", "v", "w", "w"],
    "sex": ["m", "m", "w", "w"],
    "kind": ["x", "x", "y", "x"],
    "rent": [500, 600, 700, None],
    "key": [200, 10, 180, 60],
}
ONE_MORE = {
    "place": ["c"],
    "village": ["z"],
    "sex": ["m"],
    "kind": ["y"],
    "rent": pl.Series([None], dtype=pl.Int64),
    "key": [100],
}


#: The average cell of place by sex is too small to be shown; those of the margins are not.
THINNED = """
[parts]
min_average_size = 4
"""
RESIDENTS = {
    "place": ["a", "a", "a", "a", "a", "b", "b", "b", "b", "b"],
    "village": ["v"] * 10,
    "sex": ["m", "m", "m", "w", "w", "m", "m", "w", "w", "w"],
    "kind": ["x", "y"] * 5,
    "rent": [500, 600, 700, 800, None, 900, 450, 500, 650, 750],
    "key": [30, 71, 150, 201, 222, 180, 7, 30, 99, 140],
}
#: The first of both places have the same rent and key.
SWAPPED = {**RESIDENTS, "sex": ["w", *RESIDENTS["sex"][1:7], "m", *RESIDENTS["sex"][8:]]}

Noise = dict[int, str]

#: Keys below 128 lose one.
LOSE_ONE = {-1: "0.5", 0: "0.5"}
#: The last key of 256 gains nine.
GAIN_NINE = {-1: "0.5", 0: "0.49609375", 9: "0.00390625"}

Release = Callable[..., dict[str, bytes]]


@pytest.fixture
def released(tmp_path: Path) -> Release:
    """Release a population; gives the published files."""

    def release(
        name: str, people: pl.DataFrame, more: str = "", a_noise: Noise = LOSE_ONE
    ) -> dict[str, bytes]:
        folder = tmp_path / name
        folder.mkdir()
        people.write_parquet(folder / "records.parquet")
        dc.PerturbationTable.from_rows({0: {0: 1}, 1: a_noise}).write(folder / "ptable.json")
        dc.design_magnitude_perturbation(2, 1, classes=(1, 2), step=4).write(folder / "rent.csv")
        (folder / "programme.toml").write_text(PROGRAMME + more, encoding="utf-8")
        protect(folder / "programme.toml", folder / "out")
        files = (path for path in (folder / "out").iterdir() if path.is_file())
        return {path.name: path.read_bytes() for path in sorted(files)}

    return release


def test_a_person_that_changes_no_published_figure_leaves_no_trace(released: Release) -> None:
    """With another key the person shows everywhere: the comparison sees what it should."""
    people = pl.DataFrame(PEOPLE)
    twin = pl.concat([people, pl.DataFrame(ONE_MORE)])
    one, other = released("one", people), released("other", twin)
    assert list(one) == list(other)
    assert len(one) > 50
    assert [name for name in one if one[name] != other[name]] == []
    third = released("third", pl.concat([people, pl.DataFrame({**ONE_MORE, "key": [200]})]))
    changed = {name for name in one if one[name] != third.get(name)}
    assert {"counts.csv", "villages.px", "figures.de.html", "all.xlsx"} <= changed


def test_what_is_suppressed_leaves_no_trace(released: Release) -> None:
    one = released("one", pl.DataFrame(RESIDENTS), THINNED)
    other = released("other", pl.DataFrame(SWAPPED), THINNED)
    assert b"suppressed" in one["counts.csv"]
    assert b"published" in one["counts.csv"]
    assert "decisions.json" in one
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.exhaustive
def test_without_rules_for_parts_the_change_of_sex_shows(released: Release) -> None:
    one, other = released("one", pl.DataFrame(RESIDENTS)), released("other", pl.DataFrame(SWAPPED))
    changed = {name for name in one if one[name] != other[name]}
    assert {"counts.csv", "figures.json", "all.xlsx", "index.html"} & changed


def test_the_largest_noise_leaves_no_trace(released: Release) -> None:
    """No cell has the key 255; brackets, which follow the possible a_noise, are off."""
    people, limit = pl.DataFrame(PEOPLE), "\n[figures]\nbracket_above = 1000\n"
    one = released("one", people, limit)
    other = released("other", people, limit, GAIN_NINE)
    assert [name for name in one if one[name] != other[name]] == []


@pytest.mark.exhaustive
def test_the_largest_noise_shows_where_it_is_drawn(released: Release) -> None:
    people = pl.DataFrame({**PEOPLE, "key": [200, 10, 180, 255]})
    one, other = released("one", people), released("other", people, a_noise=GAIN_NINE)
    assert one["figures.csv"] != other["figures.csv"]
