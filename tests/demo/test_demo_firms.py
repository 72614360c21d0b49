"""The firms of the demonstration: what they are like, and what is hidden of them."""

import stat
import tomllib

import polars as pl
import pytest

from discreet.demo import write_firms
from discreet.demo.classifications import finest_codes
from discreet.demo.demonstration import audited
from discreet.demo.firms import firms_of
from discreet.demo.geography import Geography
from discreet.errors import PublicationError
from discreet.release import check_release, protect

TABLES = ("by_state", "by_size", "states_by_size")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("firms")
    (place / "firms").mkdir()
    programme = write_firms(place / "firms")
    return place, programme, audited(programme, protect(programme, place / "release"))


def shown(place, name):
    return pl.read_csv(place / "release" / f"{name}.csv", infer_schema=False)


def test_firms_are_what_suppression_is_for():
    firms = firms_of(Geography.of(20_000, seed=2026))
    assert len(firms) == 600
    assert firms["branch"].n_unique() == len(finest_codes("branch")) == 20
    assert set(firms["branch"].str.slice(0, 1)) == {code.above for code in finest_codes("branch")}
    sizes = firms["turnover"].sort(descending=True)
    assert sizes[:6].sum() > 0.15 * sizes.sum()  # few giants
    together = firms.group_by("holding").agg(pl.len(), pl.col("branch").n_unique())
    assert together["len"].max() == 3
    held = together.filter(pl.col("len") > 1)
    assert held["len"].sum() == 600 // 7 // 3 * 3
    assert (held["branch"] == 1).mean() > 0.5
    assert (firms.group_by("branch", "state").len()["len"] < 3).any()
    assert firms["employees"].min() >= 1


def test_a_seed_makes_firms_and_another_makes_others():
    first, again, other = (firms_of(Geography.of(20_000, seed)) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_the_programme_has_no_mistakes_and_is_private(made):
    place, programme, _ = made
    check_release(programme)
    assert stat.S_IMODE(programme.stat().st_mode) == 0o600
    assert stat.S_IMODE((place / "firms" / "internal").stat().st_mode) == 0o700
    for table in tomllib.loads(programme.read_text("utf-8"))["tables"].values():
        assert set(table["title"]) == {"en", "de"}


def test_every_sensitive_cell_is_hidden(made):
    """Cells of fewer than three holdings, found by hand in the records."""
    place, _, _ = made
    firms = pl.read_parquet(place / "firms" / "firms.parquet")
    few = firms.group_by("branch", "state").agg(pl.col("holding").n_unique())
    few = few.filter(pl.col("holding") < 3)
    cells = shown(place, "by_state").join(few, on=["branch", "state"])
    assert len(cells) == 2 * len(few) > 0
    assert set(cells["status"]) == {"suppressed"}
    assert cells["value"].null_count() == len(cells)


def test_published_figures_are_true_and_hidden_ones_are_not_there(made):
    place, _, _ = made
    firms = pl.read_parquet(place / "firms" / "firms.parquet")
    true = firms.group_by("branch", "state").agg(pl.col("turnover").sum())
    cells = shown(place, "by_state").filter(pl.col("figure") == "turnover")
    both = cells.join(true, on=["branch", "state"]).filter(pl.col("status") == "published")
    assert len(both) > 20
    assert (both["value"].cast(pl.Int64) == both["turnover"]).all()
    assert cells.filter(pl.col("status") == "suppressed")["value"].null_count() > 10


def test_tables_hide_the_cells_that_they_share_alike(made):
    place, _, _ = made
    by_state = shown(place, "by_state").filter(
        (pl.col("state") == "Total") & (pl.col("figure") == "turnover")
    )
    by_size = shown(place, "by_size").filter(pl.col("size") == "Total")
    both = by_state.join(by_size, on="branch")
    assert len(both) == 1 + 6 + 20
    assert (both["status"] == both["status_right"]).all()


def test_what_is_said_is_what_stands_there(made):
    place, _, firms = made
    assert 0 < firms.sensitive < firms.hidden < firms.figures / 2
    assert f"{firms.hidden:,} of {firms.figures:,} values" in firms.text()
    assert firms.described()["sensitive"] == firms.sensitive
    hidden = sum(
        shown(place, name).filter(pl.col("status") == "suppressed").height for name in TABLES
    )
    assert hidden >= firms.hidden  # cells that tables share are told once


def test_a_changed_file_is_not_passed_over(made):
    place, programme, firms = made
    changed = place / "release" / "by_size.csv"
    before = changed.read_bytes()
    changed.write_bytes(before + b"\n")
    try:
        with pytest.raises(PublicationError) as caught:
            audited(programme, firms.release)
    finally:
        changed.write_bytes(before)
    assert caught.value.code == "demo-firms"
    assert audited(programme, firms.release) == firms


def test_nothing_confidential_reaches_the_release(made):
    place, _, _ = made
    names = {path.name for path in (place / "release").iterdir()}
    assert {"by_state.csv", "by_state.xlsx", "by_state.html", "firms.xlsx", "index.html"} <= names
    assert not any("internal" in name or "programme" in name for name in names)
    for path in (place / "release").rglob("*"):
        if path.is_file() and path.suffix in {".csv", ".html", ".json"}:
            text = path.read_text("utf-8")
            for word in ("holding", "firm_id", "p_percent", '"proof', "cost"):
                assert word not in text, (path.name, word)


@pytest.mark.exhaustive
def test_two_releases_of_one_seed_are_alike(made, tmp_path):
    place, _, firms = made
    (tmp_path / "firms").mkdir()
    programme = write_firms(tmp_path / "firms")
    again = audited(programme, protect(programme, tmp_path / "release"))
    assert (again.figures, again.hidden, again.sensitive) == (
        firms.figures, firms.hidden, firms.sensitive,
    )  # fmt: skip
    for path in (path for path in (place / "release").iterdir() if path.is_file()):
        assert path.read_bytes() == (tmp_path / "release" / path.name).read_bytes()
