"""The gate of value columns: which cells it hides, and who could have found what."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.protection.noise import (
    MagnitudeNoise,
    count_ingredient,
    mean_ingredient,
    perturb_magnitudes,
)
from discreet.protection.noise.intervals import largest_of_two
from discreet.tables import Table

COUNTS = dc.design_perturbation(max_noise=2, variance=1)
TABLE = dc.design_magnitude_perturbation(5, 2, classes=(1, 5, 10), step=2)
WEAK = MagnitudeNoise(TABLE, strength=dc.SimpleStrength(0.04), top=2, epsilon=(1, 0.5))
WIDE = dc.design_magnitude_perturbation(5, 4, classes=(1, 5, 10), step=10)
STRONG = MagnitudeNoise(WIDE, strength=dc.SimpleStrength(0.4))


def homes(cells: int = 240, seed: int = 3) -> pl.DataFrame:
    """Places of 1 to 12 dwellings each, by two kinds."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(1, 13, cells)
    place = np.repeat(np.arange(cells) // 2, sizes)
    return pl.DataFrame(
        {
            "place": place.astype(str),
            "kind": np.repeat(np.where(np.arange(cells) % 2, "old", "new"), sizes),
            "rent": draw.lognormal(6.4, 0.4, len(place)).round(),
            "id": np.arange(len(place)),
        }
    )


def counted(frame: pl.DataFrame, contributions: int = 2) -> Table:
    keyed = dc.with_record_keys(frame, id="id", secret="a long and secret sentence")
    return dc.tabulate(
        keyed,
        ["place", "kind"],
        record_key="record_key",
        values=["rent"],
        contributions=contributions,
    )


def near(table: Table, noise: MagnitudeNoise, **options: Any) -> tuple[int, int]:
    """Shown means of one dwelling, and those within 10 % of the rent."""
    made = mean_ingredient(table, noise, "rent", publish="means", ptable=COUNTS, **options)
    own = ~made.suppressed & (made.value != 0) & (table.count == 1)
    off = np.abs(made.value - table.contributions["rent"].total)[own]
    return int(own.sum()), int((off <= 0.1 * table.contributions["rent"].total[own]).sum())


@pytest.mark.parametrize("contributions", [1, 2])
def test_means_of_single_dwellings_are_hidden_where_noise_is_weak(contributions: int) -> None:
    table = counted(homes(), contributions)
    noise = MagnitudeNoise(TABLE, strength=dc.SimpleStrength(0.04))
    shown, found = near(table, noise, p_percent=0)
    assert shown > 5
    assert found >= 0.75 * shown
    assert near(table, noise) == (0, 0)


def test_strong_noise_is_shown_and_a_programme_may_allow_less_chance() -> None:
    table = counted(homes(600))
    shown, found = near(table, STRONG)
    assert shown > 10
    assert found <= 0.3 * shown
    assert near(table, STRONG, chance=0.1)[0] == 0


def test_what_is_hidden_tells_no_count_of_one_or_two() -> None:
    """Means are hidden by their published count, except where one contribution dominates."""
    table = counted(homes())
    number = count_ingredient(table, COUNTS).value
    hidden = mean_ingredient(table, WEAK, "rent", publish="means", ptable=COUNTS).suppressed
    most = largest_of_two(COUNTS.content)
    assert most == 4
    assert hidden[(number > 0) & (number <= most)].all()
    assert not hidden[number == 0].any()
    assert hidden[table.count == 3].any()


def test_a_total_less_its_shown_parts_does_not_open_a_hidden_cell() -> None:
    rents = [700.0, *([800.0] * 60), *([900.0] * 50)]
    frame = pl.DataFrame(
        {
            "place": ["a"] + ["b"] * 60 + ["c"] * 50,
            "kind": ["new"] * 111,
            "rent": rents,
            "id": range(111),
        }
    )
    table = counted(frame)
    made = perturb_magnitudes(table, WEAK, "rent").to_polars().filter(kind="Total")
    status = dict(made.select("place", "status").rows())
    # 61 to 111 dwellings have noise of 4 % of one dwelling: sums without the noise of a count.
    assert status["a"] == "suppressed"
    assert status["c"] == "suppressed"
    assert status["Total"] == status["b"] == "published"


def test_the_report_of_the_gate() -> None:
    table = counted(homes())
    open_, safe = (
        mean_ingredient(table, WEAK, "rent", publish="means", ptable=COUNTS, p_percent=p).gate
        for p in (0, 10)
    )
    assert open_ is None
    assert safe is not None
    assert safe.cells == safe.failed >= int((table.count < 3).sum())
    assert (safe.shown, safe.near) == (0, 0.0)
    assert str(safe.failed) not in repr(safe)
    loose = mean_ingredient(table, WEAK, "rent", publish="means", ptable=COUNTS, chance=1.0).gate
    assert loose is not None
    assert loose.failed == 0
    assert loose.near > 0.75
    assert loose.chance > 0.9


def test_the_attack_looks_at_means() -> None:
    table = counted(homes())
    shares = []
    for p_percent in (0, 10):
        safe = perturb_magnitudes(
            table,
            WEAK,
            "rent",
            publish="means",
            figure="mean",
            ptable=COUNTS,
            p_percent=p_percent,
        )
        report = dc.attack(safe, truth={"": [table]})
        assert len(report.values) == 1
        shares.append((report.values[0].dominated, report.values[0].published))
    (many, often), (none, never) = shares
    assert many is not None
    assert many > 10
    assert often is not None
    assert often > 0.75
    assert (none, never) == (0, 0.0)
    assert "Dominated sums: 0" in report.text()
    assert "near-contributions" in {note.kind for note in safe.notes}


def test_who_knows_all_true_counts_estimates_no_hidden_mean() -> None:
    """A place's mean times its true count, less those of its other kinds, is the hidden rent.

    While the noise of counts passed for protection, all of 28 estimates came within 10 %.
    """
    draw = np.random.default_rng(1)
    places, sizes = 40, {"lone": 1, "mid": 40, "old": 30}
    number = places * sum(sizes.values())
    frame = pl.DataFrame(
        {
            "place": np.repeat(np.arange(places), sum(sizes.values())).astype(str),
            "kind": np.tile(np.repeat(list(sizes), list(sizes.values())), places),
            "rent": draw.lognormal(6.4, 0.2, number).round(),
            "id": np.arange(number),
        }
    )
    table = counted(frame)
    noise = MagnitudeNoise(TABLE, strength=dc.SimpleStrength(0.01), top=2, epsilon=(1, 0.5))
    made = mean_ingredient(table, noise, "rent", publish="means", ptable=COUNTS)
    true, (place, kind) = table.contributions["rent"].total, table.index
    hidden = [at for at in np.flatnonzero(table.count == 1) if made.suppressed[at]]
    assert len(hidden) > 20
    near = []
    for at in hidden:
        row = [one for one in np.flatnonzero(place == place[at]) if one != at]
        if not made.suppressed[row].any():
            sums = made.value[row] * table.count[row] * np.where(kind[row] == 0, 1, -1)
            near.append(abs(sums.sum() - true[at]) <= 0.1 * true[at])
    assert sum(near) == 0
