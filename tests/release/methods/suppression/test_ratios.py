"""Means and ratios of values with hidden cells: shown where both ingredients are."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.protection.suppression import figure_of, ingredient_of
from discreet.release import audit_release, protect
from tests.helpers.firm_programmes import FIRST, HEAD, LATER, content, write


def suppressed() -> tuple[dc.Table, Any]:
    draw = np.random.default_rng(6)
    frame = pl.DataFrame(
        {
            "region": draw.choice([*"1234"], 90),
            "branch": draw.choice([*"abc"], 90, p=[0.6, 0.3, 0.1]),
            "sales": np.ceil(draw.lognormal(6, 1.3, 90)),
            "staff": draw.integers(1, 50, 90),
        }
    )
    table = dc.tabulate(frame, by=["region", "branch"], values=["sales", "staff"], contributions=2)
    values = ("sales", "staff", None)
    rules = [dc.rules.PPercent(15), dc.rules.MinimumFrequency(3)]
    asked = [dc.primary(table, rules if v else rules[1:], value=v) for v in values]
    return table, [dc.suppress(table, one, method="fast") for one in asked]


def test_a_mean_is_hidden_where_its_sum_or_its_count_is() -> None:
    table, (sales, staff, counts) = suppressed()
    parts = {"sales": ingredient_of(sales), "firms": ingredient_of(counts)}
    parts["staff"] = ingredient_of(staff, "staff")
    mean = dc.KeyFigure(name="mean", kind="mean", part="sales", whole="firms")
    per_head = dc.KeyFigure(name="per head", kind="ratio", part="sales", whole="staff")
    made = dc.derive(parts, [mean, per_head], bracket_above=None)
    hidden = 0
    for row in table.to_polars().iter_rows(named=True):
        place = (row["region"], row["branch"])
        blank = [each.get(*place) is None for each in (sales, staff, counts)]
        mean_of, ratio_of = made.get(*place, "mean"), made.get(*place, "per head")
        assert (mean_of is None) == (blank[0] or blank[2])
        assert (ratio_of is None) == (blank[0] or blank[1])
        if mean_of is not None:
            assert mean_of == pytest.approx(row["sales"] / row["count"], abs=0.006)
        if ratio_of is not None:
            assert ratio_of == pytest.approx(row["sales"] / row["staff"], abs=0.006)
        hidden += mean_of is None
    assert hidden > 3


def test_what_is_hidden_does_not_enter() -> None:
    _, (sales, *_) = suppressed()
    made = ingredient_of(sales)
    assert not made.value[made.suppressed].any()
    assert not made.original[made.suppressed].any()
    assert made.suppressed.sum() > 3


RATIOS = (
    HEAD
    + """
[tables.means]
by = ["region", "branch"]
value = ["turnover", "wages", "count"]
ratios."per firm" = { part = "turnover", whole = "count", decimals = 1 }
ratios.share = { part = "wages", whole = "turnover", factor = 100, unit = "%" }
"""
)


def test_programmes_publish_ratios_of_what_is_shown(tmp_path: Path) -> None:
    text = RATIOS.replace('formats = ["csv"]', 'formats = ["csv", "xlsx", "html"]')
    path = write(tmp_path, "ratios.toml", text)
    protect(path, tmp_path / "out")
    frame = pl.read_csv(tmp_path / "out" / "means.csv").with_columns(
        pl.col("value").cast(pl.Float64, strict=False)
    )
    wide = frame.pivot("figure", index=["region", "branch"], values="value")
    hidden = wide.filter(pl.col("turnover").is_null() | pl.col("count").is_null())
    assert len(hidden) > 3
    assert hidden["per firm"].null_count() == len(hidden)
    shown = wide.filter(pl.col("turnover").is_not_null() & pl.col("count").is_not_null())
    exact = {"per firm": shown["turnover"] / shown["count"]}
    exact["share"] = 100 * shown["wages"] / shown["turnover"]
    for name, places in (("per firm", 1), ("share", 2)):
        assert (shown[name] - exact[name]).abs().max() <= 0.5 * 10**-places + 1e-9
        assert (shown[name] - shown[name].round(places)).abs().max() < 1e-9
    assert audit_release(path, tmp_path / "out").safe
    before = content(tmp_path / "out")
    (tmp_path / "out" / "means.xlsx").unlink()
    assert protect(path, tmp_path / "out").fresh == 0
    assert content(tmp_path / "out") == before
    write(tmp_path, "ratios.toml", text.replace("decimals = 1", "decimals = 3"))
    assert protect(path, tmp_path / "out").fresh == 1


@pytest.mark.exhaustive
def test_tables_with_ratios_are_respected_later(tmp_path: Path) -> None:
    protect(write(tmp_path, "first.toml", RATIOS), tmp_path / "first")
    path = write(tmp_path, "later.toml", LATER)
    protect(path, tmp_path / "later")
    assert audit_release(path, tmp_path / "later").safe


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ('ratios.a = { part = "wages", whole = "count" }', "does not publish 'wages'"),
        ('ratios.a = { part = "turnover", whole = "turnover" }', "the same value"),
        (
            'ratios.count = { part = "turnover", whole = "count" }',
            "the table has a value with the name 'count'",
        ),
        ('ratios.a = { part = "turnover" }', "whole"),
        ('ratios.a = { part = "turnover", whole = "count", factor = 0 }', "above 0"),
    ],
)
def test_ratios_of_what_is_not_published_are_refused(tmp_path: Path, key: str, said: str) -> None:
    text = HEAD + '\n[tables.T]\nby = ["size"]\nvalue = ["turnover", "count"]\n' + key + "\n"
    with pytest.raises(DiscreetError) as caught:
        protect(write(tmp_path, "wrong.toml", text), tmp_path / "out")
    assert said in str(caught.value)


def test_ratios_go_with_hidden_cells_only(tmp_path: Path) -> None:
    text = FIRST.replace('protect = "suppress"', "").replace(
        'value = "turnover"\n', 'ratios.a = { part = "turnover", whole = "count" }\n', 1
    )
    with pytest.raises(DiscreetError) as caught:
        protect(write(tmp_path, "wrong.toml", text), tmp_path / "out")
    assert "ratios: this needs protect" in str(caught.value)


def test_figures_of_a_table_with_ratios_are_found_by_number_and_name(tmp_path: Path) -> None:
    from discreet.release.state.memory import remembered_tables

    protect(write(tmp_path, "ratios.toml", RATIOS), tmp_path / "out")
    (kept,) = [each.table for each in remembered_tables(tmp_path / "out").values()]
    assert figure_of(kept, 1).figures[0].name == "wages"
    assert figure_of(kept, "per firm").figures[0].kind == "ratio"
