"""Rules in a programme that mark cells for more noise, and the grain of its sums."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import DiscreetError, ProgrammeError
from discreet.release import protect, read_parameters
from discreet.rules import Dominance, MinimumFrequency, PPercent, primary

Edited = Callable[..., Path]

STRENGTH = 'strength = { kind = "simple", share = 0.1 }'
RULES = "sensitive = { minimum_frequency = 40, dominance = [3, 60], p_percent = 10 }"


@pytest.fixture
def edited(figures: Path) -> Edited:
    """The programme with the magnitude "persons" described further."""

    def edit(*lines: str) -> Path:
        text = figures.read_text("utf-8")
        assert STRENGTH in text
        figures.write_text(text.replace(STRENGTH, "\n".join((STRENGTH, *lines))), encoding="utf-8")
        return figures

    return edit


def shown_and_gate(programme: Path, out: Path) -> tuple[int, dict[str, float], tuple[str, ...]]:
    """Hidden sums of persons, what the internal report says of them, and warnings."""
    made = protect(programme, out, internal=out.with_suffix(".internal"))
    frame = pl.read_csv(out / "rents.csv", infer_schema=False).filter(figure="persons")
    report = out.with_suffix(".internal") / "quality-internal.json"
    told = json.loads(report.read_text("utf-8"))["each_table"]["rents"]["closeness"]
    hidden = int((frame["status"] == "suppressed").sum())
    return hidden, told.get("persons", {}), tuple(made.warnings)


def test_figures_near_a_single_contribution_are_hidden_and_reported(
    figures: Path, tmp_path: Path
) -> None:
    text = figures.read_text("utf-8")
    homes = pl.read_parquet(figures.parent / "dwellings.parquet")
    # One dwelling holds nearly all persons of its place and year.
    one = pl.int_range(pl.len()).over("municipality", "year") == 0
    large = pl.when(one).then(5_000).otherwise(pl.col("persons")).cast(homes["persons"].dtype)
    homes.with_columns(persons=large).write_parquet(figures.parent / "dwellings.parquet")

    def release(name: str, lines: str) -> tuple[int, dict[str, float], tuple[str, ...]]:
        figures.write_text(text.replace("chance = 1", lines), encoding="utf-8")
        return shown_and_gate(figures, tmp_path / name)

    hidden, gate, warnings = release("open", "chance = 1")
    assert hidden == 0 == gate["failed"]
    assert gate["near"] > 0.3
    assert not any("single contribution" in each for each in warnings)
    hidden, gate, _ = release("gated", "")
    assert hidden >= gate["failed"] == gate["cells"] > 0
    assert gate["shown"] == gate["near"] == 0
    assert gate["p_percent"] == 10
    hidden, gate, warnings = release("off", "p_percent = 0")
    assert (hidden, gate) == (0, {})
    assert any("single contribution" in each for each in warnings)


def persons(out: Path) -> dict[tuple[str, str], str]:
    frame = pl.read_csv(out / "rents.csv", infer_schema=False)
    frame = frame.filter(pl.col("figure") == "persons")
    return {row[:2]: row[2] for row in frame.select("region", "year", "value").iter_rows()}


def by_hand(folder: Path, *, mu_c: float, grain: float = 1.0) -> dict[tuple[str, str], float]:
    """The sums of persons, with the cells marked that the three rules mark."""
    homes = pl.read_parquet(folder / "dwellings.parquet")
    region = Classification.read(folder / "region.csv", name="region")
    by = [
        region.replace(column="municipality"),
        Classification.flat("year", ["2011", "2015", "2022"]),
    ]
    table = dc.tabulate(
        homes, by, record_key="record_key", values=["persons"], contributions={"persons": 3}
    )
    rules = [MinimumFrequency(40, of="values"), Dominance(3, 60), PPercent(10)]
    marked = primary(table, rules, value="persons").sensitive
    assert 0 < marked.sum() < len(marked)
    noise = dc.MagnitudeNoise(
        table=dc.MagnitudePerturbationTable.read(folder / "rent.csv"),
        strength=dc.SimpleStrength(share=0.1),
        mu_c=mu_c,
    )
    safe = dc.perturb_magnitudes(
        table,
        noise,
        "persons",
        ptable=dc.PerturbationTable.read(folder / "ptable.json"),
        sensitive=marked,
        grain=grain,
        p_percent=0,
    )
    return {row[:2]: row[2] for row in safe.to_polars(complete=True).iter_rows()}


def test_cells_that_rules_mark_get_more_noise(edited: Edited, tmp_path: Path) -> None:
    path = edited("mu_c = 30", RULES)
    protect(path, tmp_path / "out")
    found = persons(tmp_path / "out")
    assert {codes: float(value) for codes, value in found.items()} == by_hand(tmp_path, mu_c=30)
    assert by_hand(tmp_path, mu_c=30) != by_hand(tmp_path, mu_c=0)


def test_sums_are_multiples_of_the_grain(edited: Edited, tmp_path: Path) -> None:
    protect(edited("grain = 25"), tmp_path / "out")
    found = [float(value) for value in persons(tmp_path / "out").values()]
    assert any(found)
    assert all(value % 25 == 0 for value in found)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["mu_c = 1"], "mu_c and sensitive need each other"),
        ([RULES], "mu_c and sensitive need each other"),
        (["mu_c = 1", "sensitive = {}"], "no rule given"),
        (
            ["mu_c = 1", "sensitive = { dominance = [0, 85] }"],
            "n must be a whole number of at least",
        ),
        (["mu_c = 1", "sensitive = { dominance = [2] }"], "too few entries; at least 2"),
        (["mu_c = 1", "sensitive = { p_percent = -7.5 }"], "p must be a number above 0"),
        (["mu_c = 1", "sensitive = { pq = [31.5, 17.25] }"], "q must be above p"),
        (["mu_c = 1", "sensitive = { p_procent = 7 }"], "closest match: 'p_percent'"),
        (["grain = 0"], "must be above 0"),
    ],
)
def test_mistakes_are_found_before_anything_is_counted(
    edited: Edited, tmp_path: Path, lines: list[str], words: str
) -> None:
    path = edited(*lines)
    with pytest.raises(ProgrammeError, match=words) as caught:
        protect(path, tmp_path / "out")
    assert "magnitudes.persons" in str(caught.value)
    assert not any(number in str(caught.value) for number in ("7.5", "31.5", "17.25"))
    assert not (tmp_path / "out").exists()


def test_rules_are_part_of_the_parameters(edited: Edited) -> None:
    key = b"k" * 32
    without = read_parameters(edited()).digest(key)
    described = read_parameters(edited("mu_c = 30", RULES)).digest(key)
    assert described != without


def test_a_package_is_refused_alike(edited: Edited) -> None:
    path = edited("mu_c = 1", "sensitive = { p_percent = -7.5 }")
    with pytest.raises(DiscreetError, match="p must be a number above 0"):
        read_parameters(path)
