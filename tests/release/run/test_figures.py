"""Programmes with key figures, thinned tables, remarks, weights and a report on quality."""

import json
import os
import shutil
import stat
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import PublicationError
from discreet.protection.noise import count_ingredient, magnitude_ingredient, mean_ingredient
from discreet.protection.parts import PartRules, check_parts
from discreet.release import protect
from discreet.release.state.memory import ReleaseState
from tests.helpers.firm_programmes import whole_content
from tests.helpers.programmes import Edit as Change
from tests.helpers.programmes import editor


@pytest.fixture
def changed(finished: Path, tmp_path: Path) -> Change:
    """A copy of programme and release: changed(("old", "new"), …) gives the programme."""
    copy = shutil.copytree(finished, tmp_path / "copy")
    return editor(copy / "figures.toml")


def released(out: Path, name: str) -> dc.ProtectedTable:
    """A table as the release remembers it."""
    shelf = ReleaseState(out, "figures.toml")
    with shelf.opened():
        return shelf.table(name)


def test_everything_is_in_the_release(figures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    steps: list[tuple[int, int, str]] = []
    summary = protect(figures, out, progress=lambda *step: steps.append(step))
    assert summary.fresh == 4
    assert steps[-1] == (9, 9, "report")
    about = ["index.html", "index.de.html", "tables.xlsx", "tables.de.xlsx", "decisions.json"]
    about += ["quality.html", "quality.de.html", "quality.json"]
    listed = json.loads((out / "release.json").read_text())
    assert list(listed["reports"]) == about
    assert all((out / name).is_file() for name in about)
    assert listed["tables"][0]["by"] == ["region", "year"]
    assert listed["tables"][0]["figures"][:2] == ["all", "rented"]
    assert "vacant" not in listed["tables"][0]["figures"]


def test_the_figures_are_those_of_derive(finished: Path) -> None:
    """Counts, sums and means made by hand give every figure of the programme."""
    out = finished / "out"
    rents = released(out, "rents")
    homes = pl.read_parquet(finished / "dwellings.parquet")
    region = Classification.read(finished / "region.csv", name="region")
    region = region.replace(column="municipality")
    year = Classification.flat("year", ["2011", "2015", "2022"])
    ptable = dc.PerturbationTable.read(finished / "ptable.json")
    noise = dc.MagnitudeNoise(
        table=dc.MagnitudePerturbationTable.read(finished / "rent.csv"),
        strength=dc.FlexStrength(point=1000, small=0.2, large=0.03, exponent=2),
        top=2,
        epsilon=(1, 0.5),
    )

    def counted(where: str | None = None) -> dc.Table:
        return dc.tabulate(
            homes,
            [region, year],
            record_key="record_key",
            values=["rent"],
            contributions=2,
            where=where,
        )

    rented = counted("tenure == 'rented'")
    ingredients = {
        "all": count_ingredient(counted(), ptable),
        "vacant": count_ingredient(counted("tenure == 'vacant'"), ptable),
        "total": magnitude_ingredient(
            counted(), noise, "rent", publish="means", ptable=ptable, p_percent=0
        ),
        "rent": mean_ingredient(rented, noise, "rent", publish="means", ptable=ptable, p_percent=0),
    }
    made = dc.derive(
        ingredients,
        [
            dc.KeyFigure(name="all", kind="count"),
            dc.KeyFigure(name="total", kind="sum"),
            dc.KeyFigure(name="rent", kind="mean", decimals=2),
            dc.KeyFigure(name="vacancy", kind="share", part="vacant", whole="all"),
            dc.KeyFigure(name="structure", kind="share", part="all", over=["year"]),
            dc.KeyFigure(name="price", kind="index", part="rent", base={"year": "2015"}),
        ],
    )
    frame = made.to_polars()
    assert frame.height == 7 * 4 * 6
    for row in frame.iter_rows(named=True):
        codes = (row["region"], row["year"], row["figure"])
        assert rents.get(*codes) == row["value"], codes


def test_brackets_and_inapplicable_figures_are_marked(finished: Path) -> None:
    frame = pl.read_csv(finished / "out" / "rents.csv", infer_schema=False)
    assert {"published", "bracketed", "not_applicable"} <= set(frame["status"])
    rare = frame.filter(pl.col("region") == "22", pl.col("figure") == "vacancy")
    assert set(rare["status"]) <= {"not_applicable", "bracketed", "zero_or_changed_to_zero"}


def test_a_thinned_table_shows_what_its_rules_leave(finished: Path) -> None:
    out = finished / "out"
    thinned = released(out, "thinned")
    assert thinned.suppressed_parts
    assert thinned.get("11", "2015") is None
    assert thinned.get("Total", "Total") is not None
    log = json.loads((out / "decisions.json").read_text())["tables"]
    assert log["rents"] is None
    assert log["thinned"]["outcome"] == "thinned"
    assert log["thinned"]["universe"] == "checked"
    first = log["thinned"]["parts"][0]
    assert first["action"] == "suppressed"
    assert [reason["code"] for reason in first["reasons"]] == ["average-size"]
    assert "60" not in (out / "decisions.json").read_text()


def test_decisions_are_those_of_the_rules(finished: Path) -> None:
    homes = pl.read_parquet(finished / "dwellings.parquet")
    region = Classification.read(finished / "region.csv", name="region")
    by = [
        region.replace(column="municipality"),
        Classification.flat("year", ["2011", "2015", "2022"]),
    ]
    table = dc.tabulate(homes, by, where="tenure != 'vacant'", name="thinned")
    decided = check_parts(table, PartRules(min_average_size=60), universe=dc.tabulate(homes, by))
    log = json.loads((finished / "out" / "decisions.json").read_text())["tables"]["thinned"]
    assert log == decided.to_dict()


def test_a_part_stays_hidden_if_one_figure_must_not_show_it(
    changed: Change, tmp_path: Path
) -> None:
    """Vacant dwellings are few: all figures of a part go with them."""
    path = changed(
        (
            "[tables.thinned.parts]",
            "[tables.rents.parts]\nmin_average_size = 9\n\n[tables.thinned.parts]",
        )
    )
    protect(path, tmp_path / "out")
    rents = released(tmp_path / "out", "rents")
    assert rents.get("11", "2015", "all") is None
    assert rents.get("Total", "Total", "all") is not None
    log = json.loads((tmp_path / "out" / "decisions.json").read_text())["tables"]["rents"]
    actions = {count["where"]: count["parts"][0]["action"] for count in log["counts"]}
    assert actions == {
        "": "released",
        "tenure == 'rented'": "released",
        "tenure == 'vacant'": "suppressed",
    }
    assert log["parts"][0]["action"] == "suppressed"


def test_remarks_stand_at_their_cells(finished: Path) -> None:
    rents = released(finished / "out", "rents")
    assert rents.cell_notes[0].codes == ("11", None, None)
    assert rents.cell_notes[0].note.text("de") == "Gebietsstand geändert 2015."
    assert "Boundary changed" in (finished / "out" / "rents.csv").read_text("utf-8")


#: Tables of the same records with rules for parts: what one hides may concern all of them.
TIED = ["rents", "thinned", "plain"]


@pytest.mark.parametrize(
    ("old", "new", "fresh"),
    [
        ("share = 0.1", "share = 0.2", TIED),
        ("[1, 0.5]", "[1, 0.4]", [*TIED[:2], "weighted", *TIED[2:]]),
        ("min_average_size = 60", 'min_average_size = 60\nuniverse = "none"', TIED),
        ('workbook = "tables.xlsx"', 'workbook = "all.xlsx"', []),
        *(
            pytest.param(*row, marks=pytest.mark.exhaustive)
            for row in (
                ('publish = "means"', 'publish = "sums"', [*TIED[:2], "weighted", *TIED[2:]]),
                ("min_average_size = 60", "min_average_size = 70", TIED),
                ("Boundary changed in 2015.", "Boundary changed.", TIED),
                ("hidden = true", "hidden = false", TIED),
                ("[tables.plain]", "[quality]\nenabled = false\n[tables.plain]", []),
                ('table = "rent.csv"\nof', 'table = "copy.csv"\nof', []),
            )
        ),
    ],
)
def test_a_change_makes_anew_what_it_concerns(
    changed: Change, old: str, new: str, fresh: list[str]
) -> None:
    path = changed((old, new))
    shutil.copy(path.parent / "rent.csv", path.parent / "copy.csv")
    summary = protect(path, path.parent / "out")
    assert [table.name for table in summary.tables if table.fresh] == fresh


def test_changes_give_the_same_bytes_as_a_release_made_at_once(
    changed: Change, tmp_path: Path
) -> None:
    path = changed(
        ("bracket_above = 0.15", "bracket_above = 0.3"),
        ("min_average_size = 60", "min_average_size = 70"),
        ('workbook = "tables.xlsx"\n', ""),
    )
    assert protect(path, path.parent / "out").fresh == 4
    protect(path, tmp_path / "at once")
    assert whole_content(path.parent / "out") == whole_content(tmp_path / "at once")
    assert not (path.parent / "out" / "tables.xlsx").exists()


# -- quality ---------------------------------------------------------------------------


def test_the_internal_report_is_private_and_elsewhere(
    changed: Change, finished: Path, tmp_path: Path
) -> None:
    inside = finished / "inside"
    found = sorted(item.name for item in inside.iterdir())
    assert found == ["quality-internal.de.html", "quality-internal.html", "quality-internal.json"]
    if os.name == "posix":
        assert all(not stat.S_IMODE(item.stat().st_mode) & 0o077 for item in inside.iterdir())
    path = changed(("[tables.plain]", '[quality]\ninternal = "other"\n[tables.plain]'))
    assert protect(path, path.parent / "out").fresh == 0  # nothing is new, the report is
    assert whole_content(path.parent / "other") == whole_content(inside)
    assert whole_content(path.parent / "out") == whole_content(finished / "out")


def test_the_internal_report_is_not_put_into_the_release(figures: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for inside in (out, out / "inside"):
        with pytest.raises(PublicationError, match="release folder"):
            protect(figures, out, internal=inside)
    assert not out.exists()


def test_statistics_rest_unreadable(finished: Path) -> None:
    out = finished / "out"
    memory = json.loads((out / ".discreet" / "plain.json").read_text())
    assert set(memory["extras"]) == {"about", "decisions", "quality"}
    assert "noise" not in memory["extras"]["quality"]
    assert b"deviations" not in (out / ".discreet" / "plain.json").read_bytes()
