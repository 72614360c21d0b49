"""Noise of value columns in programmes and packages: keys, period, grain, rules, warnings."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.errors import DisclosureWarning, DiscreetError, PackageError, ProgrammeError
from discreet.release import open_inputs, protect, read_parameters
from discreet.release.packages import open_parameters
from discreet.rules import Dominance, MinimumFrequency, PPercent, primary
from tests.release.conftest import packed_figures

Edited = Callable[..., Path]
SAID = "the noise of 'persons' and 'rent' uses the same keys: one known"
RULES = "sensitive = { minimum_frequency = 40, dominance = [3, 60], p_percent = 10 }"


@pytest.fixture
def edited(figures: Path) -> Edited:
    """The programme with lines more in the sections of "rent" and "persons"."""

    def edit(rent: str = "", persons: str = "") -> Path:
        text = figures.read_text("utf-8")
        for column, lines in (("rent", rent), ("persons", persons)):
            section = f"[magnitudes.{column}]\n"
            assert section in text
            text = text.replace(section, f"{section}{lines}\n")
        figures.write_text(text, encoding="utf-8")
        return figures

    return edit


def persons(out: Path) -> dict[tuple[str, str], float]:
    """The published sums of persons."""
    frame = pl.read_csv(out / "rents.csv", infer_schema=False)
    frame = frame.filter(pl.col("figure") == "persons")
    rows = frame.select("region", "year", "value").iter_rows()
    return {(region, year): float(value) for region, year, value in rows}


def by_hand(folder: Path, *, ruled: bool = False, **noise: Any) -> dict[tuple[str, str], float]:
    """The same sums from the API; with the cells marked that the three rules mark, or none."""
    region = dc.Classification.read(folder / "region.csv", name="region")
    by = [
        region.replace(column="municipality"),
        dc.Classification.flat("year", ["2011", "2015", "2022"]),
    ]
    homes, values = pl.read_parquet(folder / "dwellings.parquet"), ["persons"]
    table = dc.tabulate(homes, by, record_key="record_key", values=values, contributions=3)
    rules = [MinimumFrequency(40, of="values"), Dominance(3, 60), PPercent(10)]
    marked = primary(table, rules, value="persons").sensitive if ruled else None
    assert marked is None or 0 < marked.sum() < len(marked)
    safe = dc.perturb_magnitudes(
        table,
        dc.MagnitudeNoise(
            dc.MagnitudePerturbationTable.read(folder / "rent.csv"),
            strength=dc.SimpleStrength(share=0.1),
            **noise,
        ),
        "persons",
        ptable=dc.PerturbationTable.read(folder / "ptable.json"),
        sensitive=marked,
        p_percent=0,
    )
    return {row[:2]: row[2] for row in safe.to_polars(complete=True).iter_rows()}


@pytest.mark.parametrize(
    ("lines", "keys", "period"),
    [
        ('keys = "column"\nperiod = "2022"', "column", "2022"),
        ('keys = "shared"', "shared", ""),
    ],
)
def test_a_programme_names_the_keys_of_a_column(
    edited: Edited, tmp_path: Path, lines: str, keys: str, period: str
) -> None:
    protect(edited(persons=lines), tmp_path / "out")
    assert persons(tmp_path / "out") == by_hand(tmp_path, keys=keys, period=period)


def test_other_keys_are_other_figures_and_are_made_anew(edited: Edited, tmp_path: Path) -> None:
    """Tables that are there already stay only under the same keys."""
    path = edited()
    protect(path, tmp_path / "out")
    before = persons(tmp_path / "out")
    path.write_text(
        path.read_text("utf-8").replace(
            "[magnitudes.persons]\n", '[magnitudes.persons]\nperiod = "2022"\n'
        )
    )
    protect(path, tmp_path / "again")
    assert persons(tmp_path / "again") != before


def test_two_columns_with_shared_keys_are_warned_of(edited: Edited, tmp_path: Path) -> None:
    path = edited('keys = "shared"', 'keys = "shared"')
    assert [text for text in open_inputs(path).warnings if SAID in text]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DisclosureWarning)  # said once, not for every table
        summary = protect(path, tmp_path / "out")
    assert [text for text in summary.warnings if SAID in text]


def test_one_column_with_shared_keys_is_not(edited: Edited) -> None:
    path = edited(persons='keys = "shared"')
    assert all(text.startswith("decimals of") for text in open_inputs(path).warnings)


def test_columns_of_different_records_share_nothing(edited: Edited, tmp_path: Path) -> None:
    path = edited('keys = "shared"', 'keys = "shared"')
    (tmp_path / "others.parquet").write_bytes((tmp_path / "dwellings.parquet").read_bytes())
    text = path.read_text("utf-8")
    for line in (
        'persons = { kind = "sum", of = "persons" }\n',
        'density = { kind = "ratio", part = "persons", whole = "all" }\n',
    ):
        assert line in text
        text = text.replace(line, "")
    text += """
[sources.others]
source = "others.parquet"
keys = { column = "record_key" }

[tables.others]
from = "others"
by = ["year"]
figures.persons = { kind = "sum", of = "persons" }
"""
    path.write_text(text, encoding="utf-8")
    assert all(text.startswith("decimals of") for text in open_inputs(path).warnings)


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


def test_cells_that_rules_mark_get_more_noise(edited: Edited, tmp_path: Path) -> None:
    path = edited(persons=f"mu_c = 30\n{RULES}")
    protect(path, tmp_path / "out")
    moved, plain = (by_hand(tmp_path, ruled=True, mu_c=mu_c) for mu_c in (30, 0))
    assert persons(tmp_path / "out") == moved != plain


def test_sums_are_multiples_of_the_grain(edited: Edited, tmp_path: Path) -> None:
    protect(edited(persons="grain = 25"), tmp_path / "out")
    found = persons(tmp_path / "out").values()
    assert any(found)
    assert all(value % 25 == 0 for value in found)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('keys = "own"', "known: column, shared"),
        ("period = 2022", "text"),
        ("range_floor = 0.1", 'range_floor needs of = "range"'),
        ("mu_c = 1", "mu_c and sensitive need each other"),
        (RULES, "mu_c and sensitive need each other"),
        ("mu_c = 1\nsensitive = {}", "no rule given"),
        ("mu_c = 1\nsensitive = { dominance = [0, 85] }", "n must be a whole number of at least"),
        ("mu_c = 1\nsensitive = { dominance = [2] }", "too few entries; at least 2"),
        ("mu_c = 1\nsensitive = { p_percent = -7.5 }", "p must be a number above 0"),
        ("mu_c = 1\nsensitive = { pq = [31.5, 17.25] }", "q must be above p"),
        ("mu_c = 1\nsensitive = { p_procent = 7 }", "closest match: 'p_percent'"),
        ("grain = 0", "must be above 0"),
    ],
)
def test_mistakes_are_found_before_anything_is_counted(
    edited: Edited, tmp_path: Path, lines: str, words: str
) -> None:
    with pytest.raises(ProgrammeError, match=words) as caught:
        protect(edited(persons=lines), tmp_path / "out")
    assert "magnitudes.persons" in str(caught.value)
    assert not any(number in str(caught.value) for number in ("7.5", "31.5", "17.25"))
    assert not (tmp_path / "out").exists()


def test_rules_are_part_of_the_parameters(edited: Edited) -> None:
    key = b"k" * 32
    without = read_parameters(edited()).digest(key)
    described = read_parameters(edited(persons=f"mu_c = 30\n{RULES}")).digest(key)
    assert described != without


def test_a_package_is_refused_alike(edited: Edited) -> None:
    path = edited(persons="mu_c = 1\nsensitive = { p_percent = -7.5 }")
    with pytest.raises(DiscreetError, match="p must be a number above 0"):
        read_parameters(path)


# -- packages ----------------------------------------------------------------------------


PERIOD = 'period = "2022"\n'


def test_keys_go_with_the_package(edited: Edited, tmp_path: Path) -> None:
    protect(edited(persons='keys = "shared"\nzeros_in_key = true'), tmp_path / "out")
    protect(packed_figures(tmp_path, tmp_path / "there"), tmp_path / "there" / "out")
    assert persons(tmp_path / "there" / "out") == persons(tmp_path / "out")


def test_one_package_serves_every_period(edited: Edited, tmp_path: Path) -> None:
    path = edited(rent='keys = "shared"')
    first = packed_figures(tmp_path, tmp_path / "there", PERIOD)
    protect(first, tmp_path / "there" / "out")
    section = "[magnitudes.persons]\n"
    path.write_text(path.read_text("utf-8").replace(section, f'{section}period = "2022"\n'))
    protect(path, tmp_path / "out")
    assert persons(tmp_path / "there" / "out") == persons(tmp_path / "out")


def test_a_period_that_the_package_cannot_use_is_refused(edited: Edited, tmp_path: Path) -> None:
    edited('period = "2021"', 'keys = "shared"')
    with pytest.raises(ProgrammeError, match="'rent' name another period"):
        open_inputs(packed_figures(tmp_path, tmp_path / "there", PERIOD))
    there = tmp_path / "there"
    parameters = open_parameters(
        there / "homes.dcparams", key=there / "package.key", allow_unsigned=True
    )
    assert parameters.of_period("2021").digest(b"key") == parameters.digest(b"key")


def test_a_period_needs_a_column_with_keys_of_its_own(edited: Edited) -> None:
    parameters = read_parameters(edited('keys = "shared"', 'keys = "shared"'))
    with pytest.raises(PackageError, match="a period needs a value column with separate keys"):
        parameters.of_period("2022")
