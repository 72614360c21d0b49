"""Whole programmes: released, taken up again, refused."""

import hashlib
import json
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.classifications import Classification
from discreet.errors import ProgrammeError, PublicationError
from discreet.release import protect
from tests.helpers.firm_programmes import whole_content
from tests.helpers.programmes import Edit
from tests.release.conftest import published_counts


def test_a_release_holds_what_its_list_says(programme: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    steps: list[tuple[int, int, str]] = []
    summary = protect(programme, out, progress=lambda *step: steps.append(step))
    assert sorted(path.name for path in out.iterdir() if path.is_file()) == [
        *("T1.csv", "T1.de.csv", "T1.de.html", "T1.html"),
        *("T2.csv", "T2.de.csv", "T2.de.html", "T2.html"),
        *("T3.csv", "T3.de.csv", "T3.de.html", "T3.html"),
        *("index.de.html", "index.html", "quality.de.html", "quality.html", "quality.json"),
        "release.json",
    ]
    listed = json.loads((out / "release.json").read_text())
    for table in listed["tables"]:
        for file, digest in table["files"].items():
            assert hashlib.sha256((out / file).read_bytes()).hexdigest() == digest
    assert listed["date"] == "2026-11-21"
    assert [table["cells"] for table in listed["tables"]] == [24, 12, 4]
    assert summary.fresh == 3
    assert steps[-1][:2] == (len(steps), len(steps))
    assert "age &gt;= 18" in (out / "T2.html").read_text("utf-8")
    assert "männlich" in (out / "T1.de.csv").read_text("utf-8")


def test_the_figures_are_those_of_tabulate_and_perturb(programme: Path, out: Path) -> None:
    people = pl.read_parquet(programme.parent / "persons.parquet")
    ages = Classification.from_intervals("ages", [0, 18, 65], column="age")
    table = dc.tabulate(
        people, [ages, "sex"], record_key="record_key", where="age >= 18", name="T2"
    )
    ptable = dc.PerturbationTable.read(programme.parent / "ptable.json")
    safe = dc.perturb(table, ptable)
    found = published_counts(out / "T2.csv")
    assert found == {codes: safe.get(*codes) for codes in found}
    assert len(found) > 5


def test_nothing_is_made_twice(programme: Path, out: Path) -> None:
    before = whole_content(out)
    again = protect(programme, out)
    assert again.fresh == 0
    assert whole_content(out) == before
    anew = protect(programme, out, resume=False)
    assert anew.fresh == 3
    assert whole_content(out) == before


def test_only_what_changed_is_made_again(edited: Edit, out: Path, tmp_path: Path) -> None:
    path = edited(('by = ["nationality"]', 'by = ["nationality", "sex"]'))
    summary = protect(path, out)
    assert [table.name for table in summary.tables if table.fresh] == ["T3"]
    protect(path, tmp_path / "at once")
    assert whole_content(out) == whole_content(tmp_path / "at once")


@pytest.mark.parametrize("what", ["data", "perturbation table"])
def test_other_data_or_another_perturbation_table_make_everything_again(
    programme: Path, out: Path, tmp_path: Path, what: str
) -> None:
    if what == "data":
        people = pl.read_parquet(programme.parent / "persons.parquet")
        people.head(400).write_parquet(programme.parent / "persons.parquet")
    else:
        noise = {-1: 0.2, 0: 0.6, 1: 0.2}
        table = dc.PerturbationTable.from_rows({0: {0: 1}, 1: noise, 2: noise})
        (programme.parent / "ptable.json").unlink()
        table.write(programme.parent / "ptable.json")
    assert protect(programme, out).fresh == 3
    protect(programme, tmp_path / "at once")
    assert whole_content(out) == whole_content(tmp_path / "at once")


@pytest.mark.parametrize("place", ["release", "release/inner", "other/../release"])
def test_the_internal_report_never_stands_in_the_release(
    programme: Path, tmp_path: Path, place: str
) -> None:
    with pytest.raises(PublicationError, match="internal report must not be in the release folder"):
        protect(programme, tmp_path / "release", internal=tmp_path / place)
    assert not (tmp_path / "release").exists()


def test_a_damaged_file_is_written_again(programme: Path, out: Path) -> None:
    before = whole_content(out)
    (out / "T1.csv").write_text("edited")
    (out / "T2.html").unlink()
    (out / ".discreet" / "T3.parquet").write_bytes(b"damaged")
    assert protect(programme, out).fresh == 1
    assert whole_content(out) == before


def test_files_no_longer_asked_for_are_removed(edited: Edit, out: Path) -> None:
    (out / "notes.txt").write_text("mine")
    (out / "T9.csv").write_text("of others")
    text = edited().read_text("utf-8")
    changed = text[: text.index("[tables.T3]")].replace(
        'formats = ["csv", "html"]', 'formats = ["csv"]'
    )
    edited().write_text(changed, encoding="utf-8")
    summary = protect(edited(), out)
    assert summary.removed == ("T3.csv", "T3.de.csv", "T3.de.html", "T3.html")
    assert not list(out.glob("T?.html"))
    assert (out / "notes.txt").read_text() == "mine"
    assert (out / "T9.csv").read_text() == "of others"


def test_nothing_secret_is_in_a_release(programme: Path, out: Path) -> None:
    people = pl.read_parquet(programme.parent / "persons.parquet")
    plain = hashlib.sha256((programme.parent / "persons.parquet").read_bytes()).hexdigest()
    keys = [str(key).encode() for key in people["record_key"]]
    released = whole_content(out)
    assert keys
    assert released
    for name, data in released.items():
        assert plain.encode() not in data, name
        assert not any(key in data for key in keys), name


def test_official_figures_are_published_as_they_are(edited: Edit, tmp_path: Path) -> None:
    path = edited(
        ("[defaults]", "[defaults]\nofficial = \"sex == 'Total' and region.level <= 1\""),
    )
    protect(path, tmp_path / "out")
    people = pl.read_parquet(path.parent / "persons.parquet")
    frame = pl.read_csv(tmp_path / "out" / "T1.csv", infer_schema=False)
    official = frame.filter(pl.col("status") == "official")
    assert dict(official.select("region", pl.col("value").cast(int)).iter_rows()) == {
        "Total": people.height,
        "1": people.filter(pl.col("municipality").str.starts_with("1")).height,
        "2": people.filter(pl.col("municipality").str.starts_with("2")).height,
    }
    assert "official" not in pl.read_csv(tmp_path / "out" / "T2.csv")["status"].to_list()


def test_official_figures_name_variables_of_other_tables(edited: Edit, tmp_path: Path) -> None:
    """A named total, the default one, and that of a bare column: each table lacks two of them."""
    text = "ages == 'ALL' and nationality == 'Total' and sex == 'Total'"
    path = edited(
        ("[defaults]", f'[defaults]\nofficial = "{text}"'),
        ("intervals = [0, 18, 65]", 'intervals = [0, 18, 65]\ntotal = "ALL"'),
    )
    protect(path, tmp_path / "out")
    people = pl.read_parquet(path.parent / "persons.parquet")
    first = pl.read_csv(tmp_path / "out" / "T1.csv", infer_schema=False)
    official = first.filter(pl.col("status") == "official")
    assert official.height > 3
    assert set(official["sex"]) == {"Total"}
    third = pl.read_csv(tmp_path / "out" / "T3.csv", infer_schema=False)
    official = third.filter(pl.col("status") == "official")
    assert official.select("nationality", "value").rows() == [("Total", str(people.height))]


def test_other_groups_of_the_same_column_are_not_at_their_total(
    edited: Edit, tmp_path: Path
) -> None:
    """A rule that names `ages` makes no figure by `legal` official but the total of it."""
    path = edited(
        ("[defaults]", "[defaults]\nofficial = \"ages == 'Total' and sex == 'Total'\""),
        (
            "[tables.T3]",
            '[variables.legal]\ncolumn = "age"\nintervals = [0, 14, 21]\n\n[tables.T3]',
        ),
        ('by = ["nationality"]', 'by = ["legal"]'),
    )
    protect(path, tmp_path / "out")
    frame = pl.read_csv(tmp_path / "out" / "T3.csv", infer_schema=False)
    assert frame.filter(status="official")["legal"].to_list() == ["Total"]
    assert frame.height > 1


def test_the_total_in_a_file_is_part_of_what_makes_a_table(edited: Edit, tmp_path: Path) -> None:
    """A table that lacks the variable is made anew when the code of its total changes."""
    path = edited(
        ("[defaults]", "[defaults]\nofficial = \"ages == 'ALL'\""),
        ("intervals = [0, 18, 65]", 'hierarchy = "ages.csv"'),
        ('by = ["ages", "sex"]', 'by = ["ages"]'),
    )
    codes = "\n".join(f"{age},ALL" for age in range(100))
    (path.parent / "ages.csv").write_text(f"child,parent\nALL,\n{codes}\n")
    protect(path, tmp_path / "out")
    before = pl.read_csv(tmp_path / "out" / "T3.csv", infer_schema=False)
    assert set(before["status"]) == {"official"}
    (path.parent / "ages.csv").write_text(
        f"child,parent\nTotal,\n{codes}\n".replace("ALL", "Total")
    )
    protect(path, tmp_path / "out")
    after = pl.read_csv(tmp_path / "out" / "T3.csv", infer_schema=False)
    assert "official" not in set(after["status"])


def test_breakdowns_that_do_not_nest_stand_side_by_side(edited: Edit, tmp_path: Path) -> None:
    path = edited(
        (
            "[defaults]",
            '[variables.legal]\ncolumn = "age"\nintervals = [0, 14, 18, 21]\n'
            '[variables.age]\nalternatives = ["ages", "legal"]\nlabel = "Age"\n[defaults]',
        ),
        ('by = ["nationality"]', 'by = ["age"]'),
    )
    path.write_text(
        path.read_text("utf-8").replace("intervals = [0, 18, 65]", "intervals = [0, 6, 65]")
    )
    protect(path, tmp_path / "out")
    codes = pl.read_csv(tmp_path / "out" / "T3.csv", infer_schema=False)
    assert codes.columns[:2] == ["age", "age_label"]
    assert codes["age"].to_list() == [
        "Total",
        "0-5",
        "6-64",
        "65+",
        "0-13",
        "14-17",
        "18-20",
        "21+",
    ]


def test_weighted_tables_and_levels(edited: Edit, tmp_path: Path) -> None:
    path = edited(
        ("prefixes = [1, 2]", 'levels = ["state", "municipality"]'),
        ("formats = ", 'weight = "weight"\nformats = '),
    )
    people = path.with_name("persons.parquet")
    state = pl.col("municipality").str.head(1).alias("state")
    pl.read_parquet(people).with_columns(state).write_parquet(people)
    protect(path, tmp_path / "out")
    frame = pl.read_csv(tmp_path / "out" / "T1.csv", infer_schema=False)
    assert {"Total", "1", "2", "11", "22"} <= set(frame["region"])
    assert frame["value"].str.contains(r"\.").any()


def test_estimates_are_published_in_tens(edited: Edit, tmp_path: Path) -> None:
    """As the census does; a table can lift what [defaults] say, and digits do not go with it."""
    path = edited(
        ("formats = ", 'weight = "weight"\nround_to = 10\nformats = '),
        ('by = ["nationality"]', 'by = ["nationality"]\nround_to = 1'),
    )
    protect(path, tmp_path / "out")
    tens, ones = (
        pl.read_csv(tmp_path / "out" / f"{name}.csv")["value"].cast(pl.Float64)
        for name in ("T1", "T3")
    )
    assert (tens % 10).max() == 0
    assert tens.sum() > 0
    assert (ones % 10).sum() > 0
    assert (ones % 1).max() == 0
    page = (tmp_path / "out" / "T1.de.html").read_text("utf-8")
    assert "auf Vielfache von 10 gerundet" in page
    edited(('table = "ptable.json"', 'table = "ptable.json"\ndecimals = 1'))
    with pytest.raises(ProgrammeError, match="values rounded to multiples have no decimals"):
        protect(path, tmp_path / "again")
    edited(("round_to = 10\n", ""), ("\nround_to = 1\n", "\n"))
    summary = protect(path, tmp_path / "digits")
    assert any("disclose the number of records" in text for text in summary.warnings)


def test_a_missing_value_does_not_make_stated_codes_found_ones(
    edited: Edit, tmp_path: Path
) -> None:
    path = edited(
        ('by = ["ages", "sex"]\nwhere = "age >= 18"', 'by = ["ages", "sex"]'),
        ('prefixes = [1, 2]', 'codes = ["11", "12", "13", "21", "22"]'),
    )  # fmt: skip
    people = pl.read_parquet(path.parent / "persons.parquet")
    first = pl.int_range(pl.len()) == 0
    people = people.with_columns(
        pl.when(~first).then("sex").alias("sex"), pl.when(~first).then("age").alias("age")
    )
    people.write_parquet(path.parent / "persons.parquet")
    warnings = protect(path, tmp_path / "out").warnings
    (found,) = [
        text
        for text in warnings
        if "come from the data, so each listed code discloses that it" in text
    ]
    assert "the codes of nationality come" in found
    (missing,) = [text for text in warnings if text.startswith("missing values of")]
    assert "missing values of ages, sex are listed" in missing
