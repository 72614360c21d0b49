"""Rounding in programmes and on the command line: releases, audits, mistakes."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli.commands import app
from discreet.errors import ProgrammeError, PublicationError
from discreet.protection.rounding import Rounding, audit_rounding, round_linked
from discreet.release import audit_release, check_release, protect
from tests.helpers.programmes import editor

PROGRAMME = """\
languages = ["en", "de"]

[data]
source = "persons.parquet"

[keys]
column = "record_key"

[protection.rounding]
base = 5

[defaults]
protect = "rounding"
formats = ["csv", "html"]

[tables.sexes]
by = ["sex", "region"]

[tables.ages]
by = ["age", "sex"]
"""


@pytest.fixture
def programme(tmp_path: Path) -> Path:
    draw = np.random.default_rng(3)
    records = {
        "sex": draw.choice(["m", "w"], 900),
        "region": draw.choice(["1", "2", "3"], 900),
        "age": draw.integers(0, 40, 900),
        "weight": draw.uniform(5, 20, 900),
        "record_key": draw.integers(0, 10**15, 900),
    }
    pl.DataFrame(records).write_parquet(tmp_path / "persons.parquet")
    path = tmp_path / "programme.toml"
    path.write_text(PROGRAMME, encoding="utf-8")
    return path


@pytest.fixture
def edited(programme: Path) -> Callable[..., Path]:
    return editor(programme, PROGRAMME)


def figures(release: Path, name: str) -> dict[tuple[str, ...], int]:
    frame = pl.read_csv(release / f"{name}.csv", comment_prefix="#", infer_schema=False)
    variables = ["sex", "region"] if name == "sexes" else ["age", "sex"]
    shown = frame.select(*variables, pl.col("value").cast(pl.Int64)).rows()
    return {tuple(row[:-1]): row[-1] for row in shown}


def test_a_release_of_keyed_rounding(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    summary = protect(programme, out, internal=tmp_path / "internal")
    assert summary.fresh == 2
    sexes, ages = figures(out, "sexes"), figures(out, "ages")
    assert all(value % 5 == 0 for value in (*sexes.values(), *ages.values()))
    for sex in ("m", "w", "Total"):  # the same set, the same figure, in every table
        assert sexes[sex, "Total"] == ages["Total", sex]
    assert "Vielfache von 5 gerundet" in (out / "sexes.de.html").read_text("utf-8")
    told = json.loads((tmp_path / "internal" / "quality-internal.json").read_text("utf-8"))
    assert set(told["each_table"]) == {"sexes", "ages"}
    assert protect(programme, out).fresh == 0
    found = audit_release(programme, out)
    assert found.safe
    assert "rounded counts stay uncertain" in found.text()


def test_linked_tables_add_up_and_are_made_again_together(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    controlled = ("base = 5", 'base = 5\nmethod = "controlled"')
    out = tmp_path / "release"
    protect(edited(controlled), out)
    sexes, ages = figures(out, "sexes"), figures(out, "ages")
    for sex in ("m", "w"):
        assert sexes[sex, "Total"] == ages["Total", sex]
        assert sexes[sex, "Total"] == sum(sexes[sex, region] for region in "123")
        assert ages["Total", sex] == sum(
            value for (age, own), value in ages.items() if own == sex and age != "Total"
        )
    assert audit_release(edited(controlled), out).safe
    assert protect(edited(controlled), out).fresh == 0
    changed = edited(controlled, ('by = ["sex", "region"]', 'by = ["region"]'))
    assert protect(changed, out).fresh == 2


def test_conventional_rounding_needs_no_keys_and_its_audit_says_what_sums_tell(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    path = edited(
        ('[keys]\ncolumn = "record_key"\n', ""), ("base = 5", 'base = 3\nmethod = "conventional"')
    )
    out = tmp_path / "release"
    summary = protect(path, out)
    assert any("can be undone by sums" in text for text in summary.warnings)
    found = audit_release(path, out)
    assert not found.safe
    assert any("age=" in name for name in found.opened)
    fewer = edited(
        ('[keys]\ncolumn = "record_key"\n', ""), ("base = 5", 'base = 5\nmethod = "conventional"')
    )
    assert any(
        "the release used other data or other rules" in each
        for each in audit_release(fewer, out).findings
    )


def test_estimates_are_rounded_and_not_audited(edited: Callable[..., Path], tmp_path: Path) -> None:
    path = edited(("base = 5", "base = 10"), ("[defaults]", '[defaults]\nweight = "weight"'))
    protect(path, tmp_path / "release")
    assert all(value % 10 == 0 for value in figures(tmp_path / "release", "sexes").values())
    assert any("not audited" in each for each in audit_release(path, tmp_path / "release").findings)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([("base = 5", "base = 1")], "greater than or equal to 2|at least 2"),
        ([("base = 5", 'method = "random"')], "needs a seed"),
        ([("base = 5", 'method = "controlled"\nmargins = 10')], "the base of their parts"),
        ([('[keys]\ncolumn = "record_key"\n', "")], "have no record keys"),
        (
            [("base = 5", 'method = "random"\nseed_env = "NO_SUCH_VARIABLE_1"')],
            "environment variable not found",
        ),
        (
            [
                ("base = 5", 'method = "controlled"'),
                ("[defaults]", '[defaults]\nweight = "weight"'),
            ],
            "cannot be rounded additively",
        ),
        ([("base = 5", "bases = 5")], "bases"),
        ([('by = ["sex"', 'round_to = 3\nby = ["sex"')], "must be multiples of each other"),
        ([('by = ["sex"', 'round_to = 2000\nby = ["sex"')], "the base must be at most 1,000"),
        (
            [
                ("base = 5", 'base = 5\nmethod = "controlled"'),
                ('by = ["sex"', 'round_to = 10\nby = ["sex"'),
            ],
            "tables rounded together, or with margins, need the same base",
        ),
        (
            [("base = 5", "base = 5\nmargins = 10"), ('by = ["sex"', 'round_to = 10\nby = ["sex"')],
            "tables rounded together, or with margins, need the same base",
        ),
        (
            [('by = ["sex", "region"]', 'by = ["sex"]\nfigures.m = { kind = "mean", of = "age" }')],
            "only counts and figures derived",
        ),
    ],
)
def test_mistakes_are_told_before_work(
    edited: Callable[..., Path], changes: list[tuple[str, str]], told: str
) -> None:
    with pytest.raises(ProgrammeError, match=told):
        check_release(edited(*changes))


def test_a_seed_comes_from_the_environment(
    edited: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = edited(("base = 5", 'method = "random"\nseed_env = "ROUNDING_SEED"'))
    out = tmp_path / "release"
    monkeypatch.setenv("ROUNDING_SEED", "one of the secrets of this office")
    assert protect(path, out).fresh == 2
    first = figures(out, "ages")
    assert protect(path, out).fresh == 0
    monkeypatch.setenv("ROUNDING_SEED", "another of the secrets of the office")
    again = protect(path, out)
    assert again.fresh == 2
    assert figures(out, "ages") != first
    assert any(
        "had other values before; both releases together disclose more" in text
        for text in again.warnings
    )


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    path = tmp_path / "cells.csv"
    frame = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [8, 4, 4], "key": [30, 250, 40]})
    frame.write_csv(path)
    return path


def test_the_command_rounds_and_warns(cells: Path, tmp_path: Path) -> None:
    words = ["round", str(cells), "--by", "sex", "--count", "n", "--out", str(tmp_path / "t.csv")]
    done = CliRunner().invoke(app, [*words, "--base", "3", "--method", "conventional", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["audit"]["unprotected"] == ["total", "sex=m", "sex=w"]
    assert "3 of 3 counts can be computed from sums" in done.stderr
    assert pl.read_csv(tmp_path / "t.csv", comment_prefix="#")["value"].to_list() == [9, 3, 3]
    keyed = [*words, "--cell-key", "key", "--key-grid", "256"]
    assert CliRunner().invoke(app, keyed).exit_code == 0
    assert pl.read_csv(tmp_path / "t.csv", comment_prefix="#")["value"].to_list() == [10, 0, 5]
    added = [*words, "--method", "controlled"]
    assert CliRunner().invoke(app, added).exit_code == 0
    total, men, women = pl.read_csv(tmp_path / "t.csv", comment_prefix="#")["value"].to_list()
    assert total == men + women


@pytest.mark.parametrize("words", [[], ["--base", "1", "--method", "conventional"]])
def test_the_command_refuses(cells: Path, tmp_path: Path, words: list[str]) -> None:
    out = tmp_path / "t.csv"
    given = ["round", str(cells), "--by", "sex", "--count", "n", "--out", str(out), *words]
    assert CliRunner().invoke(app, given).exit_code == 2
    assert not out.exists()


def test_programmes_without_rounded_or_hidden_cells_are_not_audited(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    dc.PerturbationTable.from_rows({0: {0: 1}, 1: {0: 1}}).write(tmp_path / "p.json")
    path = edited(
        ("[protection.rounding]\nbase = 5", '[perturbation]\ntable = "p.json"'),
        ('protect = "rounding"', 'protect = "noise"'),
    )
    with pytest.raises(PublicationError, match="suppressed cells or rounded counts"):
        audit_release(path, tmp_path / "release")


SHARES = """
[tables.shares]
by = ["region", "sex"]

[tables.shares.figures]
people = { kind = "count" }
old = { kind = "count", where = "age >= 30", hidden = true }
share = { kind = "share", part = "old", whole = "people" }
of_sex = { kind = "share", part = "people", over = ["sex"] }
"""


@pytest.mark.parametrize("method", ["keyed", "controlled", "conventional"])
def test_key_figures_are_made_of_rounded_counts(
    programme: Path, tmp_path: Path, method: str
) -> None:
    text = PROGRAMME.replace("base = 5", f'base = 5\nmethod = "{method}"') + SHARES
    programme.write_text(text, encoding="utf-8")
    out = tmp_path / "release"
    protect(programme, out, internal=tmp_path / "internal")
    frame = pl.read_csv(out / "shares.csv", comment_prefix="#", infer_schema=False)
    shown = {
        tuple(row[:3]): row[3] for row in frame.select("region", "sex", "figure", "value").rows()
    }
    people = {key[:2]: int(value) for key, value in shown.items() if key[2] == "people"}
    assert all(value % 5 == 0 for value in people.values())
    sexes = figures(out, "sexes")
    assert all(sexes[sex, region] == value for (region, sex), value in people.items())
    for (region, sex), value in people.items():
        share = 100 * value / people[region, "Total"]
        assert abs(float(shown[region, sex, "of_sex"]) - share) < 0.06
        old = float(shown[region, sex, "share"]) * value / 100
        assert abs(old / 5 - round(old / 5)) < 0.06
    told = json.loads((tmp_path / "internal" / "quality-internal.json").read_text("utf-8"))
    assert set(told["each_table"]) == {"sexes", "ages", "shares"}
    assert audit_release(programme, out).text()
    assert protect(programme, out).fresh == 0


def test_tables_have_bases_of_their_own_if_one_is_a_multiple_of_the_other(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    ten = ('by = ["age", "sex"]', 'by = ["age", "sex"]\nround_to = 10')
    out = tmp_path / "release"
    done = protect(edited(ten), out)
    assert any(
        "two bases narrow down counts in tables of both bases: see" in text
        for text in done.warnings
    )
    assert all(value % 10 == 0 for value in figures(out, "ages").values())
    assert any(value % 10 for value in figures(out, "sexes").values())
    assert audit_release(edited(ten), out).safe
    assert "Values are rounded to multiples of 10" in (out / "ages.html").read_text("utf-8")


def test_two_bases_can_bound_a_count_exactly() -> None:
    cells = pl.DataFrame({"sex": ["Total", "m", "w"], "n": [22, 11, 11], "key": [0.5, 0.4, 0.1]})
    table = dc.Table.from_cells(cells, by=["sex"], count="n", cell_key="key")
    hows = [Rounding(base=3), Rounding(base=5)]
    shown = [round_linked([table], how)[0] for how in hows]
    for how, safe in zip(hows, shown, strict=True):
        assert not audit_rounding([safe], [table], how).unprotected
    both = audit_rounding(shown, [table, table], hows)
    low, high = both.intervals()
    alone = [audit_rounding([s], [table], h).intervals() for s, h in zip(shown, hows, strict=True)]
    assert all(((high - low) <= (each[1] - each[0])).all() for each in alone)


@pytest.mark.parametrize(("method", "most"), [("keyed", 2), ("conventional", 1)])
def test_a_rounded_release_is_attacked_by_the_base_that_its_figures_tell(
    edited: Callable[..., Path], method: str, most: int
) -> None:
    """Bounds hold the truth, and are those of one who knows the base and the method."""
    path = edited(("base = 5", f'base = 3\nmethod = "{method}"'))
    protect(path, path.parent / "attacked")
    report = dc.attack(path.parent / "attacked", truth=path)
    (bounds,) = {one.bounds for one in report.universes}
    assert report.knows == "maximum"
    assert bounds is not None
    assert bounds.contradicted == 0
    assert bounds.cells > 10
    rates = report.rates()
    told = dc.attack(path.parent / "attacked", max_noise=most)
    assert rates["determined"] == told.rates()["determined"]
    assert (rates["determined"] > 0) == (method == "conventional")
