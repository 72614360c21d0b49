"""Attack: sums against their parts, by one who knows the largest noise D.

Two relations between published counts: men + women = all of a district; and two tables
that differ by one village: with it = without it + the village. The attacker cuts the
intervals ±D of the three with each other and with what is public of the method: counts
are not negative, and zeros stay zero. A cell is determined if one value is left.

60,000 districts of 1 to 20 persons, fixed seed. With a share of 0.001 determined, its
standard error is 0.00013: twice the predicted share would be noticed at seven of these.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import discreet as dc
from discreet.assessment import disclosure_risk
from discreet.protection.noise.design import permuted

DISTRICTS = 60_000
D = 2
ORDERED = dc.design_perturbation(max_noise=D, variance=1)
#: Intervals cut into a thousand pieces in random order: nearly independent noise.
SHUFFLED = permuted(ORDERED, seed=2026, split=0.001)

Ints = npt.NDArray[np.int64]


class Cells(NamedTuple):
    """True and published counts of two parts and their sum, district by district."""

    true: list[Ints]
    published: list[Ints]


@cache
def persons() -> pl.DataFrame:
    draw = np.random.default_rng(815)
    sizes = draw.integers(1, 21, DISTRICTS)
    district = np.repeat(np.arange(DISTRICTS), sizes)
    return pl.DataFrame(
        {
            "district": district,
            "sex": draw.integers(0, 2, len(district)),
            "village": draw.integers(0, 3, len(district)),
            "record_key": draw.integers(0, 10**15, len(district)),
        }
    )


@cache
def tabulated(where: str) -> dc.Table:
    """The districts of those for whom a condition holds."""
    district = dc.Classification.flat("district", [str(code) for code in range(DISTRICTS)])
    return dc.tabulate(persons(), [district], record_key="record_key", where=where or None)


def counted(ptable: dc.PerturbationTable, where: str) -> tuple[Ints, Ints]:
    """True and published count of each district."""
    table = tabulated(where)
    true, published = (np.zeros(DISTRICTS + 1, dtype=np.int64) for _ in range(2))
    true[table.index[0]] = table.count
    safe = dc.perturb(table, ptable)
    published[safe.index[0]] = safe.value
    return true[1:], published[1:]


def relation(ptable: dc.PerturbationTable, part: str) -> Cells:
    """The districts of one table, of a second without some persons, and these persons."""
    pairs = [counted(ptable, where) for where in (part, f"not ({part})", "")]
    return Cells([true for true, _ in pairs], [published for _, published in pairs])


def determined(cells: Cells, *, same_records: bool = False, official: bool = False) -> float:
    """The share of districts in which the attacker finds a true count.

    Args:
        cells: What is published, and what is true.
        same_records: The attacker also knows that the same records have the same noise: if
            a part differs from the sum, somebody is in the other one.
        official: The sum is published as it is.
    """
    low = [np.where(value == 0, 0, np.maximum(value - D, 1)) for value in cells.published]
    high = [value + D for value in cells.published]
    first, second, whole = cells.published
    if same_records:
        low[0] = np.where(second != whole, np.maximum(low[0], 1), low[0])
        low[1] = np.where(first != whole, np.maximum(low[1], 1), low[1])
    if official:
        low[2] = high[2] = cells.true[2]
    # One equation: cutting each interval with what the other two allow is all there is.
    lower = [low[2] - high[1], low[2] - high[0], low[0] + low[1]]
    upper = [high[2] - low[1], high[2] - low[0], high[0] + high[1]]
    low = [np.maximum(own, other) for own, other in zip(low, lower, strict=True)]
    high = [np.minimum(own, other) for own, other in zip(high, upper, strict=True)]
    for least, true, most in zip(low, cells.true, high, strict=True):
        assert ((least <= true) & (true <= most)).all()
    known = [least == most for least, most in zip(low, high, strict=True)]
    left = known[:2] if official else known
    return float(np.logical_or.reduce(left).mean())


def error(share: float) -> float:
    """The standard error of a share of the districts."""
    return float(np.sqrt(share * (1 - share) / DISTRICTS))


RELATIONS = pytest.mark.parametrize("part", ["sex == 1", "village == 0"])


def predicted(cells: Cells) -> float:
    """What `discreet ptable check` says for parts of this size."""
    parts = np.concatenate(cells.true[:2])
    return disclosure_risk(ORDERED, 2, parts.tolist()).any_original


@RELATIONS
def test_no_more_is_determined_than_predicted(part: str) -> None:
    cells = relation(SHUFFLED, part)
    share, expected = determined(cells), predicted(cells)
    assert 5e-4 < expected < 5e-3
    assert expected / 3 < share < expected + 3 * error(expected)


@RELATIONS
def test_intervals_in_order_determine_nothing_in_large_sums(part: str) -> None:
    """Keys at one end of both parts have a sum at the same end: its noise goes along."""
    cells = relation(ORDERED, part)
    large = [(np.minimum(*cells.true[:2]) > 2 * D)]
    some = Cells(*([column[large[0]] for column in columns] for columns in cells))
    assert len(some.true[0]) > 10_000
    assert determined(some) == 0
    assert determined(cells) < predicted(cells)


@RELATIONS
def test_knowing_that_the_same_records_have_the_same_noise_tells_more(part: str) -> None:
    """A printed zero beside a part that is not the sum hides somebody; not predicted."""
    cells = relation(SHUFFLED, part)
    share, expected = determined(cells, same_records=True), predicted(cells)
    assert determined(cells) < share < 3 * expected


@RELATIONS
def test_an_official_sum_tells_far_more(part: str) -> None:
    """Without noise of its own, two parts at their ends are enough: p² instead of p³."""
    cells = relation(SHUFFLED, part)
    share = determined(cells, official=True)
    assert 10 * predicted(cells) < share < 0.1


def test_without_noise_at_the_ends_nothing_is_determined() -> None:
    """The attack is as strong as it says: noise of ±1 only, believed to reach ±2, fools it."""
    timid = dc.PerturbationTable.from_rows({0: {0: 1}, 1: {-1: 0.25, 0: 0.5, 1: 0.25}})
    assert determined(relation(timid, "sex == 1")) == 0


def at_the_ends(ptable: dc.PerturbationTable, pieces: int = 4_000) -> float:
    """How often two large parts have noise at one end, and their sum at the other.

    The keys of both parts run through a fine grid; that of the sum is their sum.
    """
    grid = dc.KeyGrid()
    key = (2 * np.arange(pieces, dtype=np.int64) + 1) * (grid.size // (2 * pieces))
    noise = ptable.lookup(np.full(pieces, 10_000), key, grid)
    chance = 0.0
    for end in (-D, D):
        parts = np.fft.fft(noise == end) ** 2
        chance += float(np.real(np.fft.ifft(parts))[noise == -end].sum()) / pieces**2
    return chance


def test_the_layout_of_intervals_decides_how_far_noise_is_independent() -> None:
    """Finely cut and shuffled: as predicted. Whole intervals shuffled: luck. In order: never."""
    expected = disclosure_risk(ORDERED, 2).large
    fine = [at_the_ends(permuted(ORDERED, seed, 0.001)) for seed in range(10)]
    whole = [at_the_ends(permuted(ORDERED, seed)) for seed in range(30)]
    assert at_the_ends(ORDERED) == pytest.approx(0, abs=1e-12)
    assert fine == pytest.approx([expected] * 10, rel=0.1)
    assert min(whole) == pytest.approx(0, abs=1e-12)
    assert 3 * expected < max(whole) < 5 * expected


REGIONS = 400
DESIGNED = dc.design_perturbation(max_noise=5, variance=3, forbidden=(1, 2))


@pytest.fixture(scope="module")
def housed_persons() -> pl.DataFrame:
    draw = np.random.default_rng(16)
    region = np.repeat(np.arange(REGIONS), draw.integers(30, 80, REGIONS))
    size = draw.integers(1, 6, len(region))
    frame = pl.DataFrame(
        {
            "person": np.arange(size.sum()),
            "household": np.repeat(np.arange(len(region)), size),
            "region": np.repeat(region, size),
        }
    )
    return dc.with_record_keys(frame, id="person", secret="the secret of this attack")


def attacked(housed_persons: pl.DataFrame, by: str = "region", **how: Any) -> tuple[int, int, int]:
    """Cells, those whose true difference is found, and those found in spite of noise."""
    households = dc.inherit_record_keys(housed_persons, by="household", keep=["region"], **how)
    tables = [
        dc.tabulate(each, [by], record_key="record_key") for each in (housed_persons, households)
    ]
    true = [table.to_polars()["count"].to_numpy() for table in tables]
    safe = [dc.perturb(table, DESIGNED).to_polars()["value"].to_numpy() for table in tables]
    assert min(true[1]) > DESIGNED.n_max
    found = safe[0] - safe[1] == true[0] - true[1]
    return len(found), int(found.sum()), int((found & (safe[0] != true[0])).sum())


@pytest.mark.parametrize("how", [{}, {"inheritance": "plain"}])
def test_plain_sums_of_keys_give_every_difference_away(
    housed_persons: pl.DataFrame, how: dict[str, Any]
) -> None:
    cells, found, noisy = attacked(housed_persons, **how)
    assert (cells, found) == (401, 401)
    assert noisy == 308


def test_keys_of_their_own_leave_two_independent_noises(housed_persons: pl.DataFrame) -> None:
    cells, found, _ = attacked(housed_persons, unit="household")
    agree = float((DESIGNED.transition_matrix()[-1] ** 2).sum())
    assert agree < 0.2
    # Three standard errors either way: neither more often than by chance, nor less.
    assert abs(found - agree * cells) < 3 * np.sqrt(cells * agree * (1 - agree))


def test_the_noise_of_units_and_parts_is_not_correlated(housed_persons: pl.DataFrame) -> None:
    """Nor has it to do with that of another kind of unit made of the same housed_persons."""
    noise = []
    frames = [housed_persons] + [
        dc.inherit_record_keys(housed_persons, by="household", keep=["region"], unit=unit)
        for unit in ("household", "family")
    ]
    for frame in frames:
        table = dc.tabulate(frame, ["region"], record_key="record_key")
        true = table.to_polars()["count"].to_numpy()
        noise.append(dc.perturb(table, DESIGNED).to_polars()["value"].to_numpy() - true)
    correlation = np.corrcoef(noise)[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 4 / np.sqrt(REGIONS)


def test_one_person_households_do_not_show_their_persons_key(housed_persons: pl.DataFrame) -> None:
    """With plain sums they do, on purpose: the same cell then has the same noise."""
    single = housed_persons.filter(pl.len().over("household") == 1)
    for how, same in (({"inheritance": "plain"}, True), ({"unit": "household"}, False)):
        homes = dc.inherit_record_keys(single, by="household", keep=["region"], **how)
        cells = [
            dc.perturb(dc.tabulate(each, ["region"], record_key="record_key"), DESIGNED)
            for each in (single, homes)
        ]
        values = [each.to_polars()["value"].to_list() for each in cells]
        assert (values[0] == values[1]) == same
