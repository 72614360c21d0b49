"""A careless colleague calls everything with as few words as possible; an attacker reads it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet import rules
from discreet.errors import DiscreetWarning, SuppressionError
from discreet.protection.suppression.publish.suppression import SharedSuppression, Suppression

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
