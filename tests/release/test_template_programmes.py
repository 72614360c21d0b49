"""Templates of tables: layouts as offices draw them become programmes that pass their check."""

from __future__ import annotations

import tomllib

import numpy as np
import polars as pl
import pytest
from openpyxl import Workbook
from typer.testing import CliRunner

from discreet import Classification
from discreet.cli.commands import app
from discreet.demo import example_perturbation_table
from discreet.errors import PublicationError
from discreet.microdata import Secret
from discreet.release import check_release, protect
from discreet.release.table_templates import read_templates
from discreet.release.template_programmes import template_draft

TITLES = {"sex": {"en": "Sex", "de": "Geschlecht"}, "region": {"en": "Region", "de": "Region"}}
REGIONS = {"N": "North", "N1": "Northtown", "N2": "Northfield", "S": "South", "S1": "Southport"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Records, code trees with labels, and all that noise needs."""
    draw, number = np.random.default_rng(5), 400
    pl.DataFrame(
        {
            "person_id": np.arange(number) + 1,
            "region": draw.choice(["N1", "N2", "S1"], number),
            "sex": draw.choice(["m", "w"], number),
            "age": draw.integers(0, 95, number),
            "status": draw.choice(["single", "married"], number),
            "income": draw.uniform(900, 5000, number).round(2),
        }
    ).write_csv(tmp_path / "persons.csv")
    labels = {"m": {"en": "male", "de": "männlich"}, "w": {"en": "female", "de": "weiblich"}}
    sex = Classification.flat("sex", ["m", "w"], labels=labels, titles=TITLES["sex"])
    sex.write(tmp_path / "sex.json")
    parents = {code: code[0] if code[1:] else None for code in REGIONS}
    labels = {code: {"en": text} for code, text in REGIONS.items()}
    tree = Classification.from_parents("region", parents, labels=labels, titles=TITLES["region"])
    tree.write(tmp_path / "region.json")
    example_perturbation_table().write(tmp_path / "ptable.json")
    Secret.generate().write(tmp_path / "secret.key")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def workbook(path):
    """Two sheets: merged headings and two kinds of them side by side; two layouts on one sheet."""
    book = Workbook()
    one = book.active
    one.title = "Table 1"
    one["A1"] = "Table 1: Population by region, age and sex"
    one.merge_cells("A1:G1")
    one["A2"] = "Persons"
    for cell, text in {
        **{"A4": "Region", "B4": "Total", "C4": "Sex", "E4": "Age"},
        **{"C5": "Male", "D5": "Female 1)", "E5": "0–17", "F5": "18–64 years", "G5": "65 and over"},
        **{"A6": "Total", "A7": "North", "A8": "  Northtown", "A9": "Northfield", "A10": "Sauth"},
    }.items():
        one[cell] = text
    for merged in ("A4:A5", "B4:B5", "C4:D4", "E4:G4"):
        one.merge_cells(merged)
    one["B7"] = "x"
    two = book.create_sheet("More")
    rows = [
        ["Married people"],
        [],
        ["Status", None, "male", "female"],
        ["single", "North", None, None],
        [None, "South", None, None],
        ["married", "North", 0, 0],
        [],
        ["Regions only"],
        ["", "Number"],
        ["North", "."],
        ["South", "."],
        [],
        ["1) A footnote."],
    ]
    for row in rows:
        two.append(row)
    two.merge_cells("A4:A5")
    book.save(path)
    return path


def trees(place):
    return {name: str(place / f"{name}.json") for name in ("sex", "region")}


def test_layouts_are_read_with_their_places(place):
    first, second, third = read_templates(workbook(place / "t.xlsx"))
    assert first.title == "Table 1: Population by region, age and sex"
    assert [[each.text for each in line] for line in first.headings] == [
        ["Total", "Sex", "Age"],
        ["Male", "Female 1)", "0–17", "18–64 years", "65 and over"],
    ]
    assert [each.place for each in first.stubs[0]][-1] == "Table 1!A10"
    assert [[each.text for each in line] for line in second.stubs] == [
        ["single", "married"],
        ["North", "South", "North"],
    ]
    assert (third.title, [each.text for each in third.headings[0]]) == ("Regions only", ["Number"])


def test_texts_become_variables_and_what_is_unknown_is_named_by_cell(place):
    draft, look = template_draft(
        workbook(place / "t.xlsx"), place / "persons.csv", classifications=trees(place)
    )
    assert look.identifier == "person_id"
    assert [(each.name, each.by) for each in draft.tables] == [
        ("Table-1", ("region", "age")),
        ("Table-1-2", ("region", "sex")),
        ("More", ("status_", "region", "sex")),
        ("More-2", ("region",)),
    ]
    (wrong,) = draft.unmatched
    assert (wrong.where, wrong.what) == ("Table 1!A10", "'Sauth' is no code, label or column")
    assert wrong.hint == "meant as 'south' of region?"
    ages = draft.tables[0].variables[1]
    assert (ages.codes, ages.keys) == (("0-17", "18-64", "65+"), {"intervals": [0, 18, 65]})
    assert any("shows 1 of 2 levels of region" in each for each in draft.remarks)


def test_linked_tables_are_counted_and_told(place):
    draft, _ = template_draft(
        workbook(place / "t.xlsx"), place / "persons.csv", classifications=trees(place)
    )
    by_age, by_sex, more, _ = draft.tables
    # North, Northtown, Northfield and the total; only North and South stand in the other.
    assert by_age.shared(by_sex) == 4
    assert by_sex.shared(more) == more.shared(by_sex) == (1 + 1) * (1 + 2)
    assert by_age.shared(by_age) == 4 * 4
    links = list(draft.links())
    assert "Table-1-2 and More share 6 cells, by region and sex" in links
    lines = draft.matrix().splitlines()
    assert lines[0].split() == ["1", "2", "3", "4"]
    assert lines[1].split() == ["1", "Table-1", "16", "4", "2", "2"]


def test_the_programme_passes_its_check_and_is_carried_out(place):
    words = ["programme", "from-template", str(workbook(place / "t.xlsx"))]
    words += ["--records", "persons.csv", "--out", "p.toml", "--id", "person_id"]
    words += [w for name in ("sex", "region") for w in ("--classification", f"{name}={name}.json")]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    assert "Table 1!A10: 'Sauth'" in told.output
    assert "Linked tables:" in told.output
    written = tomllib.loads((place / "p.toml").read_text("utf-8"))
    assert written["variables"]["region"] == {"hierarchy": "region.json"}
    assert written["tables"]["More"]["title"] == "Married people"
    assert written["variables"]["status_"]["column"] == "status"  # files have such a column
    check_release(place / "p.toml")
    made = protect(place / "p.toml", place / "release")
    assert [each.name for each in made.tables] == list(written["tables"])
    again = CliRunner().invoke(app, words)
    assert (again.exit_code, "not replaced" in again.output) == (2, True)


def test_values_need_suppression_and_get_rules(place):
    rows = "Income by region\nRegion;income;Number\nNorth;;\nSouth;;\n"
    (place / "t.csv").write_text(rows, encoding="utf-8")
    with pytest.raises(PublicationError, match="no layout of 1"):
        template_draft("t.csv", "persons.csv", classifications=trees(place))
    words = ["programme", "from-template", "t.csv", "--records", "persons.csv"]
    words += ["--protect", "suppress", "--classification", "region=region.json", "--out", "s.toml"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.output
    written = tomllib.loads((place / "s.toml").read_text("utf-8"))
    assert written["tables"]["t"] == {
        "by": ["region"],
        "title": "Income by region",
        "value": ["income"],
    }
    assert (place / "s.toml").stat().st_mode & 0o077 == 0
    check_release(place / "s.toml")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.ods", b"x", "templates are workbooks or text files"),
        ("t.xlsx", b"no workbook", "cannot be read"),
        ("t.csv", b"\xff\xfe\x00a", "cannot be read"),
        ("t.csv", b"", "no layout of a table"),
        ("t.csv", b"only a title\n\nand a note\n", "no layout of a table"),
        ("t.csv", b"Shoe,red,blue\nleft,,\nright,,\n", "no layout of 1 could be matched"),
    ],
)
def test_what_is_no_template_is_refused(name, content, said, place):
    (place / name).write_bytes(content)
    with pytest.raises(PublicationError, match=said):
        template_draft(place / name, place / "persons.csv", classifications=trees(place))


def test_gaps_between_classes_and_unknown_columns_are_no_variables(place):
    rows = "Region;0-17;65 and over;male\nNorth;;;\nSouth;;;\n"
    (place / "t.csv").write_text(rows, encoding="utf-8")
    draft, _ = template_draft("t.csv", "persons.csv", classifications=trees(place))
    assert [each.where for each in draft.unmatched] == ["t!B1", "t!C1"]
    with pytest.raises(PublicationError, match="the records have no column 'shoe'"):
        template_draft("t.csv", "persons.csv", classifications={"shoe": str(place / "sex.json")})
