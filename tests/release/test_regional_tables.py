"""Regional tables: a table for each area, parts decided area by area, in a whole release."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.demo import example_perturbation_table
from discreet.errors import ProgrammeError, PublicationError
from discreet.publication import write
from discreet.release import check_release, protect
from discreet.release.single_areas import area_tables
from discreet.release.state.memory import remembered_tables

PLACES = [f"{state}{district}{place}" for state in "12" for district in "34" for place in "567"]

PROGRAMME = """\
title = "Census"
languages = ["en", "de"]

[data]
source = "people.parquet"

[keys]
column = "record_key"

[perturbation]
table = "ptable.csv"

[parts]
max_share_small = 0.5
{parts}

[variables.region]
prefixes = [1, 2, 3]
{region}

[defaults]
formats = ["csv"]

[tables.T1]
by = ["region", "sex", "work"]
title = {{ en = "People", de = "Personen" }}

[tables.T1.areas]
variable = "region"
{areas}

{more}
"""

Made = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """A programme, with its records."""
    rng = np.random.default_rng(5)
    persons = 1_500
    share = np.array([0.0015 if place == "135" else 1.0 for place in PLACES])
    people = pl.DataFrame(
        {
            "region": rng.choice(PLACES, persons, p=share / share.sum()),
            "sex": rng.choice(["m", "w"], persons),
            "work": rng.choice(["full", "part", "none"], persons),
            "record_key": rng.integers(0, 10**15, persons),
        }
    )
    people.write_parquet(tmp_path / "people.parquet")
    example_perturbation_table().write(tmp_path / "ptable.csv")

    def written(
        areas: str = "level = 3", more: str = "", parts: str = "", region: str = "", **swaps: str
    ) -> Path:
        path = tmp_path / "programme.toml"
        text = PROGRAMME.format(areas=areas, more=more, parts=parts, region=region)
        for old, new in swaps.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
        return path

    return written


def read(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, infer_schema=False)


def test_each_area_has_its_files_with_the_figures_of_the_large_table(
    made: Made, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    summary = protect(made(), out)
    whole = read(out / "T1.csv")
    listed = read(out / "T1.areas.csv")
    assert listed["code"].unique(maintain_order=True).to_list() == PLACES
    for code in PLACES:
        assert listed.filter(code=code)["file"].to_list() == [f"T1.{code}.csv", f"T1.{code}.de.csv"]
        own = read(out / f"T1.{code}.csv")
        same = whole.filter(region=code).drop("region", "region_label")
        assert own.drop_nulls("symbol").equals(same.drop_nulls("symbol"))
    manifest = json.loads((out / "release.json").read_text())
    files = manifest["tables"][0]["files"]
    assert len(files) == 2 + 2 * len(PLACES) + 1 == summary.files
    for file, digest in files.items():
        assert hashlib.sha256((out / file).read_bytes()).hexdigest() == digest
    assert "T1.areas.csv" in (out / "index.html").read_text()


def test_parts_are_hidden_area_by_area_and_the_report_tells_how_many(
    made: Made, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    protect(made(), out)
    hidden = {code for code in PLACES if "suppressed" in read(out / f"T1.{code}.csv")["status"]}
    assert "135" in hidden
    assert len(hidden) == 2
    assert all(code.startswith("13") for code in hidden)
    decided = json.loads((out / "decisions.json").read_text())["tables"]["T1"]
    assert set(decided["areas"]["hidden"]) == hidden
    shares = {(each["level"], each["within"]): each for each in decided["area_shares"]}
    assert shares[("3", "")]["complete"] == len(PLACES) - 2
    assert shares[("3", "1")]["share_complete"] == round(4 / 6, 6)
    assert shares[("3", "2")]["share_complete"] == 1
    quality = json.loads((out / "quality.json").read_text())
    assert quality["areas"]["T1"] == decided["area_shares"]
    assert quality["shown"] == {"complete": 0, "thinned": 1, "blocked": 0}
    assert decided["outcome"] == "thinned"
    page = (out / "quality.de.html").read_text()
    assert "Vollständig veröffentlichte Gebiete: Personen (T1)" in page
    assert "66,7" in page


def test_a_file_for_each_state_and_one_for_all(made: Made, tmp_path: Path) -> None:
    protect(made("level = 3\nfiles = 1"), tmp_path / "states")
    north = read(tmp_path / "states" / "T1.1.csv")
    assert north["region"].unique(maintain_order=True).to_list() == PLACES[:6]
    whole = read(tmp_path / "states" / "T1.csv")
    rows = north.join(whole, on=["region", "sex", "work"], suffix="_whole")
    assert len(rows) == len(north) == 6 * 3 * 4
    assert rows["symbol"].equals(rows["symbol_whole"])
    protect(made('level = 3\nfiles = "all"\nwhole = false'), tmp_path / "all")
    assert not (tmp_path / "all" / "T1.csv").exists()
    every = read(tmp_path / "all" / "T1.Total.csv")
    assert every["region"].unique(maintain_order=True).to_list() == PLACES


def test_a_second_run_keeps_all_and_a_change_of_files_draws_nothing_again(
    made: Made, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    protect(made(), out)
    before = {path.name: path.read_bytes() for path in out.glob("*") if path.is_file()}
    assert protect(made(), out).fresh == 0
    assert {path.name: path.read_bytes() for path in out.glob("*") if path.is_file()} == before
    summary = protect(made("level = 2"), out)
    assert summary.fresh == 0
    assert not (out / "T1.135.csv").exists()
    assert (out / "T1.13.csv").exists()


def test_what_one_table_hides_of_an_area_no_other_shows(made: Made, tmp_path: Path) -> None:
    """The part that T1 hides is a margin of T2, a part of T3, and judged by nobody in T4."""
    more = """
[tables.T2]
by = ["region", "sex"]

[tables.T3]
by = ["region", "work", "sex"]

[tables.T4]
by = ["work", "region"]
parts = { enabled = false }
"""
    out = tmp_path / "out"
    protect(made(more=more), out)
    first = read(out / "T1.csv")
    joined = {"T2": ["region", "sex"], "T3": ["region", "sex", "work"], "T4": ["region", "work"]}
    seen = 0
    for name, by in joined.items():
        rest = [each for each in ("sex", "work") if each not in by]
        margin = first.filter(
            pl.all_horizontal(pl.lit(True), *(pl.col(each) == "Total" for each in rest))
        )
        both = margin.join(read(out / f"{name}.csv"), on=by, suffix="_other")
        assert len(both) == len(margin)
        assert both["symbol"].equals(both["symbol_other"])
        seen += int((both["symbol"] == ".").sum())
    assert seen
    decided = json.loads((out / "decisions.json").read_text())["tables"]
    assert {"135"} <= set(decided["T4"]["areas"]["hidden"])


def test_a_table_added_later_makes_those_beside_it_anew(made: Made, tmp_path: Path) -> None:
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    protect(made(more='[tables.T2]\nby = ["region", "sex"]\n'), out)
    more = '[tables.T2]\nby = ["region", "sex"]\n[tables.T3]\nby = ["region", "work"]\n'
    summary = protect(made(more=more), out)
    assert summary.fresh == 3
    protect(made(more=more), fresh)
    for file in fresh.glob("T*.csv"):
        assert file.read_bytes() == (out / file.name).read_bytes()


def test_one_pass_over_the_records_serves_all_areas(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import discreet.tabulation as tabulation

    queries: list[int] = []
    count = tabulation.iterate_tables

    def counting(records: object, asked: list[object], **options: object) -> object:
        queries.append(len(asked))
        return count(records, asked, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(tabulation, "iterate_tables", counting)
    protect(made(), tmp_path / "out")
    assert queries == [1]


@pytest.mark.parametrize(
    ("areas", "says"),
    [
        ("level = 4", "unknown level 4 of areas"),
        ('level = "village"', "unknown level 'village' of areas"),
        ("level = 1\nfiles = 3", "level 3 is not above level 1"),
    ],
)
def test_levels_that_there_are_not_are_refused_before_counting(
    made: Made, tmp_path: Path, areas: str, says: str
) -> None:
    with pytest.raises(ProgrammeError, match=says):
        check_release(made(areas))
    with pytest.raises(ProgrammeError, match=says) as caught:
        protect(made(areas), tmp_path / "out")
    assert "levels: 1, 2, 3" in str(caught.value) or "coarser" in str(caught.value)
    assert not list((tmp_path / "out").glob("*.csv"))


@pytest.mark.parametrize(
    ("swaps", "says"),
    [
        (
            {'variable = "region"': 'variable = "place"'},
            "'place' is not a spanning variable of the table",
        ),
        ({'"region", "sex", "work"]': '"region"]'}, "a table per area needs a second variable"),
        ({"level = 3": ""}, "level is missing"),
        (
            {"max_share_small = 0.5": 'max_share_small = 0.5\nper = "place"'},
            "no table has the spanning variable 'place'",
        ),
    ],
)
def test_mistakes_are_found_without_the_data(
    made: Made, tmp_path: Path, swaps: dict[str, str], says: str
) -> None:
    with pytest.raises(ProgrammeError, match=says):
        protect(made(**swaps), tmp_path / "out")


def test_files_that_would_be_one_are_refused(made: Made, tmp_path: Path) -> None:
    """An area called de, and a German table."""
    out, people = tmp_path / "out", tmp_path / "people.parquet"
    programme = made("level = 1", **{"prefixes = [1, 2, 3]": "prefixes = [2, 3]"})
    codes = pl.col("region").replace({"135": "de1"})
    pl.read_parquet(people).with_columns(codes).write_parquet(people)
    with pytest.raises(PublicationError, match="would be written twice"):
        protect(programme, out)
    assert not list(out.glob("*.csv"))


def test_names_of_files_say_the_area_and_its_label(made: Made, tmp_path: Path) -> None:
    region = '[variables.region.labels]\n"135" = "Köln/Süd"\n'
    protect(made("level = 3\nlabels = true", region=region), tmp_path / "out")
    own = read(tmp_path / "out" / "T1.135-Koeln_Sued.csv")
    assert len(own) == 12
    assert "T1.136.csv" in read(tmp_path / "out" / "T1.areas.csv")["file"]


def test_codes_that_become_one_name_are_refused() -> None:
    region = dc.Classification.flat("region", ["A/1", "a_1", "B"])
    people = pl.DataFrame(
        {
            "region": ["A/1", "a_1", "B"] * 40,
            "sex": ["m", "w"] * 60,
            "record_key": np.random.default_rng(2).integers(0, 10**15, 120),
        }
    )
    table = dc.tabulate(people, [region, "sex"], record_key="record_key")
    safe = dc.perturb(table, example_perturbation_table())
    from discreet.release.single_areas import AreaCut, area_words

    with pytest.raises(PublicationError, match="areas 'A/1' and 'a_1' would have the same file"):
        area_words(AreaCut(safe, "region"), ["A/1", "a_1", "B"], labels=False)
    assert [code for code, _ in area_tables(safe, "region", 1)] == ["A/1", "a_1", "B"]


def test_an_area_without_records_has_a_table_of_zeros(made: Made, tmp_path: Path) -> None:
    region = dc.Classification.from_prefixes("region", [*PLACES, "138"], [1, 2, 3])
    people = pl.read_parquet(made().parent / "people.parquet")
    table = dc.tabulate(people, [region, "sex"], record_key="record_key")
    safe = dc.perturb(table, example_perturbation_table())
    empty = dict(area_tables(safe, "region", 3))["138"]
    assert empty.get("Total") == 0
    assert empty.title() == "sex: 138"


@pytest.mark.parametrize("by", ['["region", "sex", "work"]', '["sex", "region", "work"]'])
@pytest.mark.parametrize("note", ["", " and\r\nparts of it"])
def test_files_of_areas_hold_what_each_table_writes_by_itself(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str, note: str
) -> None:
    """Lines of one text, cut; where labels break lines, each file is written by itself."""
    more = '[variables.sex]\ncodes = ["m", "w"]\n[variables.sex.labels.m]\nen = "{}"\n'
    escaped = note.replace("\r\n", "\\r\\n")
    programme = made(more=more.format("=men" + escaped))
    programme.write_text(programme.read_text().replace('["region", "sex", "work"]', by))
    written = []

    def counting(table: dc.ProtectedTable, path: Path, **options: object) -> Path:
        written.append(path)
        return write(table, path, **options)

    monkeypatch.setattr("discreet.publication.write", counting)
    protect(programme, tmp_path / "out")
    table = remembered_tables(tmp_path / "out")["T1"].table
    names = []
    for code, own in area_tables(table, "region", 3):
        for language, suffix in (("en", ""), ("de", ".de")):
            alone = write(own, tmp_path / "alone.csv", language=language).read_bytes()
            names.append(f"T1.{code}{suffix}.csv")
            assert (tmp_path / "out" / names[-1]).read_bytes() == alone
    one_by_one = {path.name for path in written} & set(names)
    assert one_by_one == set(names if note else names[:2])
