"""Invariant perturbation and additivity in programmes, and `discreet make-additive`."""

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
from discreet.release import protect
from tests.helpers.programmes import editor

MATRIX = ".6,.2,.1,.1\n.2,.6,.1,.1\n.1,.1,.7,.1\n.1,.1,.1,.7\n"
PROGRAMME = """\
[data]
source = "persons.parquet"

[keys]
column = "record_key"

[protection.invariant]
transition = "matrix.csv"
alpha = 0.8

[perturbation]
table = "ptable.json"

[defaults]
protect = "invariant"
formats = ["csv"]

[tables.sexes]
by = ["sex", "region"]

[tables.ages]
by = ["age", "sex"]
"""


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    draw = np.random.default_rng(3)
    records = {
        "sex": draw.choice(["m", "w"], 300),
        "region": (region := draw.choice([*"abc"], 300)),
        "place": np.char.add("p", region),
        "age": draw.integers(0, 60, 300),
        "weight": draw.uniform(5, 20, 300),
        "record_key": draw.integers(0, 10**15, 300),
        **{f"b{at}": draw.integers(0, 2, 300) for at in range(5)},
    }
    pl.DataFrame(records).write_parquet(tmp_path / "persons.parquet")
    dc.design_perturbation(max_noise=3, variance=2).write(tmp_path / "ptable.json")
    (tmp_path / "matrix.csv").write_text(MATRIX, encoding="utf-8")
    return editor(tmp_path / "programme.toml", PROGRAMME)


def figures(release: Path, name: str, *by: str) -> dict[tuple[str, ...], int]:
    frame = pl.read_csv(release / f"{name}.csv", comment_prefix="#", infer_schema=False)
    return {tuple(row[:-1]): int(row[-1]) for row in frame.select(*by, "value").rows()}


def test_all_tables_are_one_fixed_programme(edited: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "release"
    done = protect(edited(), out, internal=tmp_path / "internal")
    assert done.fresh == 2
    people = pl.read_parquet(tmp_path / "persons.parquet")
    tables = [
        dc.tabulate(people, by, record_key="record_key")
        for by in (["sex", "region"], ["age", "sex"])
    ]
    matrix = [line.split(",") for line in MATRIX.splitlines()]
    direct = dc.perturb_invariant(tables[1], matrix, programme=tables, alpha=0.8)
    found = figures(out, "ages", "age", "sex")
    assert found == {key: direct.get(*key) for key in found}
    told = json.loads((tmp_path / "internal" / "quality-internal.json").read_text("utf-8"))
    assert set(told["each_table"]) == {"sexes", "ages"}
    assert protect(edited(), out).fresh == 0
    (tmp_path / "matrix.csv").write_text(MATRIX.replace(".6,.2", ".5,.3"), encoding="utf-8")
    assert protect(edited(), out).fresh == 2


@pytest.mark.parametrize("method", ["noise", "invariant"])
def test_tables_that_are_made_additive_agree(
    edited: Callable[..., Path], tmp_path: Path, method: str
) -> None:
    out = tmp_path / "release"
    change = ('protect = "invariant"', f'protect = "{method}"\nadditive = true')
    agreed = protect(edited(change), out, internal=tmp_path / "internal")
    assert not any("in common" in text for text in agreed.warnings)
    sexes, ages = figures(out, "sexes", "sex", "region"), figures(out, "ages", "age", "sex")
    for sex in ("m", "w"):
        assert sexes[sex, "Total"] == ages["Total", sex]
        assert sexes[sex, "Total"] == sum(sexes[sex, region] for region in "abc")
        assert ages["Total", sex] == sum(
            value for (age, own), value in ages.items() if own == sex and age != "Total"
        )
    assert protect(edited(change), out).fresh == 0
    alone = ('by = ["age", "sex"]', 'by = ["age", "sex"]\nadditive = false')
    summary = protect(edited(change, alone), out)
    assert summary.fresh == 2
    assert any("sexes: cells in common with ages" in text for text in summary.warnings)
    told = json.loads((tmp_path / "internal" / "quality-internal.json").read_text("utf-8"))
    assert told["sums"]["differing"] == 0 < told["sums"]["compared"]


@pytest.mark.parametrize("method", ["noise", "rounding"])
def test_cells_that_are_the_same_by_other_names_show_one_value(
    edited: Callable[..., Path], tmp_path: Path, method: str
) -> None:
    additive = "additive = true" if method == "noise" else ""
    changes = [
        ('protect = "invariant"', f'protect = "{method}"\n{additive}'),
        ('by = ["age", "sex"]', 'by = ["age", "place"]'),
        ("[protection.invariant]", '[protection.rounding]\nbase = 10\nmethod = "controlled"\n\n'
                                   "[protection.invariant]"),
    ]  # fmt: skip
    protect(edited(*changes), tmp_path / "release")
    sexes = figures(tmp_path / "release", "sexes", "sex", "region")
    ages = figures(tmp_path / "release", "ages", "age", "place")
    assert [sexes["Total", one] for one in "abc"] == [ages["Total", f"p{one}"] for one in "abc"]


def test_additivity_above_the_limit_of_averaging_is_refused(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    """Five variables of two codes: every figure is estimated from 1.5^5 independent ones."""
    changes = [
        ('protect = "invariant"', 'protect = "noise"'),
        ('by = ["sex", "region"]', 'by = ["b0", "b1", "b2", "b3", "b4"]'),
        ("[defaults]", "[attacks]\naverage = 0.6\n\n[defaults]"),
        ('formats = ["csv"]', 'formats = ["html"]'),
    ]
    # A reader computes the same from figures that do not add up.
    with pytest.raises(PublicationError, match=r"noise: average is .* above 0\.6"):
        protect(edited(*changes), tmp_path / "apart")
    additive = ('by = ["b0"', 'additive = true\nby = ["b0"')
    with pytest.raises(PublicationError) as caught:
        protect(edited(*changes, additive), tmp_path / "release")
    assert "sexes, made additive: average is" in str(caught.value)
    assert "above 0.6" in str(caught.value)
    assert not (tmp_path / "release").exists()
    unlimited = protect(edited(*changes[:2], additive), tmp_path / "unlimited")
    (warning,) = [text for text in unlimited.warnings if "made additive" in text]
    assert "7.6 independent values estimate" in warning
    assert "independent values estimate each value, so more counts are" in warning
    assert "%" not in warning  # how many would tell of the noise
    few = ('by = ["b0", "b1", "b2", "b3", "b4"]', 'by = ["b0", "b1"]')
    out = tmp_path / "release"
    protect(edited(*changes, few, additive), out)
    assert "estimated from 2.2 independent figures" in (out / "sexes.html").read_text("utf-8")


def test_additive_tables_with_invariant_noise_keep_to_the_limit_of_averaging(
    edited: Callable[..., Path], tmp_path: Path
) -> None:
    """They were published with the warning alone that nobody attacked them."""
    out = tmp_path / "release"
    additive = ('by = ["sex", "region"]', 'additive = true\nby = ["b0", "b1", "b2", "b3", "b4"]')

    def limited(limits: str) -> Path:
        return edited(additive, ("[defaults]", f"[attacks]\n{limits}\n[defaults]"))

    with pytest.raises(PublicationError, match=r"made additive: exposure is 7\.59, above 3"):
        protect(limited("exposure = 3.0"), out)
    with pytest.raises(PublicationError, match="average cannot be computed") as caught:
        protect(limited("average = 0.6"), out)
    assert "the highest number of values that may estimate one value" in str(caught.value)
    assert not out.exists()
    assert protect(limited("average = 0.6\nexposure = 8.0"), out).fresh == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ([('transition = "matrix.csv"\n', "")], "transition is missing"),
        ([("matrix.csv", "none.csv")], "file not found"),
        ([("[defaults]", '[defaults]\nweight = "weight"')], "estimates are not kept"),
        ([("alpha = 0.8", "forbidden = [1]")], "is forbidden, but"),
        (
            [
                ('"invariant"', '"noise"'),
                ('by = ["age"', 'additive = true\nfigures.m = { kind = "mean" }\nby = ["age"'),
            ],
            "use one table per figure",
        ),
        (
            [
                ('"invariant"', '"noise"\nadditive = true'),
                ("[perturbation]", "[perturbation]\nsuppress_below = 3"),
            ],
            "suppressed values are not additive",
        ),
        (
            [
                ('"invariant"', '"noise"\nadditive = true'),
                ("[defaults]", "[parts]\nmean_count = 2\n[defaults]"),
            ],
            "suppressed subtables are not additive",
        ),
    ],
)
def test_programmes_that_cannot_be(
    edited: Callable[..., Path], tmp_path: Path, changes: list[tuple[str, str]], words: str
) -> None:
    with pytest.raises(dc.DiscreetError) as caught:
        protect(edited(*changes), tmp_path / "release")
    assert words in str(caught.value)
    assert not (tmp_path / "release").exists()


def test_a_matrix_that_is_none(edited: Callable[..., Path], tmp_path: Path) -> None:
    path = edited()
    (tmp_path / "matrix.csv").write_text("0.5,0.4\n0,1\n", encoding="utf-8")
    with pytest.raises(ProgrammeError, match=r"protection\.invariant\.transition"):
        protect(path, tmp_path / "release")


def test_the_command(tmp_path: Path) -> None:
    cells = {
        "sex": ["Total"] * 3 + ["m"] * 3 + ["w"] * 3,
        "age": ["Total", "old", "young"] * 3,
        "value": [30, 14, 18, 13, 8, 7, 20, 7, 10],
    }
    pl.DataFrame(cells).write_csv(tmp_path / "cells.csv")
    words = ["make-additive", str(tmp_path / "cells.csv"), "--by", "sex,age", "--official", "age"]
    words += ["--out", str(tmp_path / "table.csv"), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code != 0
    assert "exempt cells and zeros allow no additive whole numbers" in done.output
    cells["value"][0] = 32
    pl.DataFrame(cells).write_csv(tmp_path / "cells.csv")
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    shown = figures(tmp_path, "table", "sex", "age")
    assert shown["Total", "Total"] == 32 == shown["m", "Total"] + shown["w", "Total"]
    assert (shown["Total", "old"], shown["Total", "young"]) == (14, 18)
    told = json.loads(done.output)
    assert told["changed"] > 0
    assert told["exposure"] == pytest.approx(6 / 2)  # three official ones, two of them free
