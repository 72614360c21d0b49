"""Disclosure risk against an attacker played out: every case tried, and drawn at random."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from discreet import PerturbationTable, design_perturbation
from discreet.assessment import disclosure_risk, small_values, trade_off
from discreet.assessment.risk import large_risk
from discreet.errors import PerturbationError
from tests.helpers.rows import for_all_rows

EXAMPLES = {
    "plain": {0: {0: 1}, 1: {-1: "0.25", 0: "0.5", 1: "0.25"}},
    "never 1": {
        0: {0: 1},
        1: {-1: "0.6", 1: "0.2", 2: "0.2"},
        2: {-2: "0.1", 0: "0.6", 1: "0.2", 2: "0.1"},
        3: {-1: "0.25", 0: "0.5", 1: "0.25"},
        4: {-2: "0.1", -1: "0.2", 0: "0.4", 1: "0.2", 2: "0.1"},
    },
    "one way": {0: {0: 1}, 1: {0: "0.7", 1: "0.3"}, 2: {0: "0.5", 1: "0.3", 2: "0.2"}},
    "zeros change": {0: {0: "0.8", 1: "0.2"}, 1: {-1: "0.3", 0: "0.4", 1: "0.3"}},
    "alternating": {0: {0: 1}, 1: {-1: "0.5", 1: "0.5"}, 2: {-2: "0.5", 2: "0.5"}},
}


def example(name: str) -> PerturbationTable:
    return PerturbationTable.from_rows(EXAMPLES[name], zeros=name == "zeros change")


class Attacker:
    """Tries all originals that agree with what is published. Knows no shortcuts."""

    def __init__(self, name: str, knows: str) -> None:
        self.rows = {
            count: {noise: float(share) for noise, share in row.items()}
            for count, row in EXAMPLES[name].items()
        }
        self.reach = max(abs(noise) for row in self.rows.values() for noise in row)
        self.knows, self.zeros_stay = knows, name != "zeros change"
        self.determined = cache(self._determined)

    def row(self, count: int) -> dict[int, float]:
        return self.rows[min(count, max(self.rows))]

    def holds_possible(self, count: int, value: int) -> bool:
        if self.knows == "table":
            return self.row(count).get(value - count, 0) > 0
        if count == 0 and self.zeros_stay:
            return value == 0
        return abs(value - count) <= self.reach

    def originals(self, value: int) -> Iterator[int]:
        return (
            count
            for count in range(max(0, value - self.reach), value + self.reach + 1)
            if self.holds_possible(count, value)
        )

    def _determined(self, parts: tuple[int, ...], whole: int) -> tuple[bool, ...]:
        """Whether each part, and the sum, has one possible original only."""
        fitting = [
            (*counts, sum(counts))
            for counts in product(*(list(self.originals(value)) for value in parts))
            if self.holds_possible(sum(counts), whole)
        ]
        return tuple(len(set(values)) == 1 for values in zip(*fitting, strict=True))

    def chances(self, counts: tuple[int, ...]) -> tuple[float, float, float]:
        """Probabilities that any original, the first part, the sum is determined."""
        chances = np.zeros(3)
        rows = [self.row(count).items() for count in (*counts, sum(counts))]
        for drawn in product(*rows):
            share = float(np.prod([part for _, part in drawn]))
            published = [
                count + noise
                for count, (noise, _) in zip((*counts, sum(counts)), drawn, strict=True)
            ]
            known = self.determined(tuple(published[:-1]), published[-1])
            chances += share * np.array([any(known), known[0], known[-1]])
        return tuple(chances.tolist())


@for_all_rows("knows", ["maximum", "table"])
@for_all_rows("terms", [2, 3])
@for_all_rows("name", EXAMPLES)
def test_the_risk_is_what_trying_every_case_gives(name: str, terms: int, knows: str) -> None:
    """Parts 0 … 4 and one so large that only equal rows matter, in all combinations."""
    attacker, ptable = Attacker(name, knows), example(name)
    tried = [0, 1, 2, 4, 40] if terms == 2 else [1, 40]
    expected = {counts: attacker.chances(counts) for counts in product(tried, repeat=terms)}
    risk = disclosure_risk(ptable, terms, tried, knows=knows)  # type: ignore[arg-type]
    means = np.mean(list(expected.values()), axis=0)
    assert [risk.any_original, risk.part, risk.sum] == pytest.approx(means.tolist(), abs=1e-12)
    assert risk.worst == pytest.approx(max(any_ for any_, _, _ in expected.values()), abs=1e-12)
    assert risk.large == pytest.approx(expected[(40,) * terms][0], abs=1e-12)
    for row in risk.by_count.to_dicts():
        count = 40 if row["count"] == risk.large_from else row["count"]
        own = [part for counts, (_, part, _) in expected.items() if counts[0] == count]
        assert row["part"] == pytest.approx(np.mean(own), abs=1e-12)


def test_the_worst_combination_is_named() -> None:
    attacker = Attacker("never 1", "maximum")
    risk = disclosure_risk(example("never 1"))
    assert risk.worst_parts == tuple(sorted(risk.worst_parts))
    assert attacker.chances(risk.worst_parts)[0] == pytest.approx(risk.worst, abs=1e-12)


@pytest.mark.parametrize("terms", [2, 3])
def test_large_parts_are_learnt_at_opposite_ends_of_the_noise_only(
    reference: Path, terms: int
) -> None:
    """Each of the parts at one end and the sum at the other: 2 p^(terms + 1)."""
    ptable = PerturbationTable.read(reference / "ptable" / "c09_ptable.csv")
    end = ptable.transition_matrix()[3, 0]
    risk = disclosure_risk(ptable, terms)
    assert risk.large == pytest.approx(2 * end ** (terms + 1), rel=1e-6)
    assert risk.large < risk.any_original < risk.worst


def test_a_simulated_attack_succeeds_as_often_as_computed(reference: Path) -> None:
    """400,000 sums of two parts, keys drawn at random, D = 2 and V = 0.9 with parts 1 … 6.

    With p near 1.2e-3 one standard error of the simulation is 4.6 % of p; within four of
    them the test accepts, and an error of 30 % in p would be found with a probability
    beyond 99 %.
    """
    ptable = PerturbationTable.read(reference / "ptable" / "c12_ptable.csv")
    risk = disclosure_risk(ptable, 2, list(range(1, 7)))
    draw, reach, number = np.random.default_rng(20261121), 2, 400_000
    parts = draw.integers(1, 7, size=(number, 2))
    counts = np.column_stack([parts, parts.sum(axis=1)])
    keys = draw.integers(0, 10**15, size=counts.shape)
    noise = ptable.lookup(counts.ravel(), keys.ravel()).reshape(counts.shape)
    value = counts + noise
    # Bounds an attacker sets up, who knows that zeros stay zero.
    low, high = np.maximum(value - reach, value > 0), value + reach
    least = np.maximum(low[:, :2], low[:, 2:] - high[:, 1::-1])
    most = np.minimum(high[:, :2], high[:, 2:] - low[:, 1::-1])
    hits = int((least == most).any(axis=1).sum())
    p = risk.any_original
    error = np.sqrt(number * p * (1 - p))
    assert 0.0001 < p < 0.01
    assert abs(hits - number * p) < 4 * error
    assert 0.3 * number * p > 6 * error  # the power stated


def test_who_knows_the_table_learns_more_where_noise_is_not_what_it_could_be() -> None:
    """Where counts never stay as they are, half of what the maximum allows is impossible."""
    ptable = example("alternating")
    maximum, table = (disclosure_risk(ptable, knows=knows) for knows in ("maximum", "table"))  # type: ignore[arg-type]
    assert table.any_original > 2 * maximum.any_original
    assert table.large >= maximum.large


def test_at_the_edge_of_a_design_the_table_tells_nearly_twice_as_much() -> None:
    edge, counts = design_perturbation(5, 2, forbidden=(1, 2)), dict.fromkeys(range(1, 41), 1)
    known = {
        knows: disclosure_risk(edge, counts=counts, knows=knows).any_original
        for knows in ("table", "maximum")
    }
    assert known["table"] / known["maximum"] == pytest.approx(1.81, abs=0.01)


def test_rows_that_repeat_make_no_difference() -> None:
    """The 750 rows of some layouts are as small as what differs in them."""
    noise = EXAMPLES["plain"][1]
    long = PerturbationTable.from_rows({0: {0: 1}} | dict.fromkeys(range(1, 700), noise))
    block = PerturbationTable.from_rows(
        {0: {0: 1}} | dict.fromkeys(range(1, 700), noise), beyond=(500, 200)
    )
    short = disclosure_risk(example("plain")).described()
    assert disclosure_risk(long).described() == short
    assert disclosure_risk(block).described() == short


# -- small values ------------------------------------------------------------------


def test_small_values_by_bayes_rule() -> None:
    """Three counts of 1, two of 2, one of 3, worked out by hand."""
    rows = {0: {0: 1}, 1: {-1: "0.5", 2: "0.5"}, 2: {-2: "0.25", 1: "0.75"}, 3: {0: 1}}
    small = small_values(PerturbationTable.from_rows(rows), {1: 3, 2: 2, 3: 1})
    table = {row["value"]: row for row in small.to_dicts()}
    assert table[0]["share"] == pytest.approx(2 / 6)
    assert table[0]["from_1"] == pytest.approx(1.5 / 2)
    assert table[0]["from_2"] == pytest.approx(0.5 / 2)
    assert table[0]["from_1_or_2"] == pytest.approx(1)
    assert table[3]["share"] == pytest.approx(4 / 6)
    assert table[3]["from_1"] == pytest.approx(1.5 / 4)
    assert table[3]["from_1_or_2"] == pytest.approx(3 / 4)
    assert table[1] == {
        "value": 1, "share": 0, "from_1": None, "from_2": None, "from_1_or_2": None
    }  # fmt: skip


def test_zeros_that_are_listed_hide_small_counts() -> None:
    ptable = example("plain")
    alone = small_values(ptable, {1: 1, 2: 1})["from_1"][0]
    hidden = small_values(ptable, {0: 99, 1: 1, 2: 1})["from_1"][0]
    assert alone == 1
    assert hidden == pytest.approx(0.25 / (99 + 0.25))


def test_small_values_of_a_simulation(reference: Path) -> None:
    """A million cells with 1 … 9 records: shares of what became 0, 3, 4 that were 1 or 2.

    Each share within four standard errors, which are below 0.2 percentage points.
    """
    ptable = PerturbationTable.read(reference / "ptable" / "c08_ptable.csv")
    draw = np.random.default_rng(7)
    count = draw.integers(1, 10, size=1_000_000)
    value = count + ptable.lookup(count, draw.integers(0, 10**15, size=count.size))
    small = {row["value"]: row for row in small_values(ptable, count).to_dicts()}
    assert not np.isin(value, [1, 2]).any()
    for published in (0, 3, 4):
        origin = count[value == published]
        error = 0.5 / np.sqrt(origin.size)
        assert error < 0.002
        for name, wanted in (("from_1", [1]), ("from_2", [2]), ("from_1_or_2", [1, 2])):
            assert abs(np.isin(origin, wanted).mean() - small[published][name]) < 4 * error


# -- words and refusals --------------------------------------------------------------


def test_the_risk_in_words(reference: Path) -> None:
    ptable = PerturbationTable.read(reference / "ptable" / "c08_ptable.csv")
    english = disclosure_risk(ptable).text()
    assert english.startswith("Someone who knows the maximum noise and sees a sum and its two")
    assert "A published 0 came from an original 1 or 2" in english
    german = disclosure_risk(ptable, knows="table").text("de")
    assert german.startswith("Wer die ganze Überlagerungstabelle kennt und eine Summe mit ihren")
    still = PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}})
    assert "probability 100 % (once in 1)" in disclosure_risk(still).text()
    assert repr(disclosure_risk(ptable)) == "<DisclosureRisk: secret>"
    with pytest.raises(PerturbationError, match="en or de"):
        disclosure_risk(ptable).text("fr")


@pytest.mark.parametrize("terms", [1, 4, True, 2.5])
def test_other_numbers_of_parts_are_refused(terms: object) -> None:
    with pytest.raises(PerturbationError, match="the number of parts of a sum must be 2 or 3"):
        disclosure_risk(example("plain"), terms)  # type: ignore[arg-type]


def test_other_attackers_and_tables_are_refused() -> None:
    with pytest.raises(PerturbationError, match='the prior knowledge must be "maximum" or "table"'):
        disclosure_risk(example("plain"), knows="all")  # type: ignore[arg-type]
    with pytest.raises(PerturbationError, match="counts"):
        disclosure_risk(example("plain"), counts=[-3])
    noise = {-1: 0.5, 1: 0.5}
    block = PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: {0: 1}}, beyond=(1, 2))
    with pytest.raises(PerturbationError, match="block of different rows"):
        disclosure_risk(block)


def test_a_table_that_is_too_large_is_refused_before_any_work() -> None:
    flat = dict.fromkeys(range(-49, 50), "0.01") | {50: "0.01"}
    rows = {0: {0: 1}} | {
        count: {max(value, -count): "0" for value in flat} | {0: "1"} for count in range(1, 49)
    }
    rows[49] = flat
    with pytest.raises(PerturbationError, match="use terms=2"):
        disclosure_risk(PerturbationTable.from_rows(rows), 3)


@for_all_rows("terms", [2, 3])
@for_all_rows(("max_noise", "variance"), [(1, 0.5), (2, 1), (3, 1), (4, 2.5)])
def test_the_risk_of_large_parts_is_that_of_the_whole_computation(
    max_noise: int, variance: float, terms: int
) -> None:
    ptable = design_perturbation(max_noise, variance)
    whole = disclosure_risk(ptable, terms)
    assert large_risk(ptable, terms) == pytest.approx(whole.large, rel=1e-9)


def test_noise_to_one_side_never_gives_large_parts_away() -> None:
    """With the maximum known only: ends that noise does not reach cannot be met."""
    ptable = PerturbationTable.from_rows({0: {0: 1}, 1: {0: "0.7", 1: "0.3"}})
    assert large_risk(ptable) == disclosure_risk(ptable).large == 0


@pytest.mark.parametrize("terms", [2, 3])
def test_the_variance_is_the_largest_that_is_safe(terms: int) -> None:
    curve = trade_off([2, 3, 5], limit=1e-5, terms=terms, step="0.05")
    assert curve["variance"].is_sorted()
    for row in curve.to_dicts():
        reach, variance = row["max_noise"], row["variance"]
        assert large_risk(design_perturbation(reach, variance), terms) == row["risk"] <= 1e-5
        uniform = reach * (reach + 1) / 3
        if variance + 0.05 < uniform:
            assert large_risk(design_perturbation(reach, variance + 0.05), terms) > 1e-5


def test_where_even_uniform_noise_is_safe_the_variance_is_its_own() -> None:
    """-5 … 5, each once in 11: variance 10, risk 2 / 11^3; more variance cannot be had."""
    row = trade_off([5], limit=0.01).row(0, named=True)
    assert row["variance"] == pytest.approx(10, abs=0.0101)
    assert row["risk"] == pytest.approx(2 / 11**3, rel=1e-9)


def test_values_never_published_need_a_variance_that_may_not_be_safe() -> None:
    """1 and 2 forbidden: row 1 needs a variance of 2, more than is safe with noise up to 2."""
    curve = trade_off([2, 5], limit=1e-6, forbidden=(1, 2))
    assert curve.row(0) == (2, *[None] * 7)
    assert curve["variance"][1] >= 2


def test_a_fixed_share_that_stays_counts() -> None:
    free, half = (trade_off([4], limit=1e-6, stay=stay).row(0, named=True) for stay in (None, 0.5))
    assert half["stay"] == 0.5
    assert free["stay"] != half["stay"]
    assert half["risk"] <= 1e-6


@for_all_rows(
    ("change", "message"),
    [
        ({"limit": 0}, "the limit must be a probability between 0 and 1"),
        ({"limit": 1}, "the limit must be a probability between 0 and 1"),
        ({"limit": "x"}, "the limit must be a probability between 0 and 1"),
        ({"terms": 4}, "the number of parts of a sum must be 2 or 3"),
        ({"step": 0}, "the step must be at least"),
        ({"step": "x"}, "the step must be at least"),
        ({"step": "nan"}, "the step must be at least"),
        ({"max_noise": [0]}, "."),
        ({"max_noise": [3], "forbidden": [0]}, "."),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    wanted: dict[str, object] = {"max_noise": [3], "limit": 1e-5, **change}
    with pytest.raises(PerturbationError, match=message):
        trade_off(**wanted)  # type: ignore[arg-type]


def test_all_that_is_wrong_is_listed() -> None:
    with pytest.raises(PerturbationError) as caught:
        trade_off([3], limit=2, terms=1, step="-1")
    assert len(caught.value.problems) == 3
