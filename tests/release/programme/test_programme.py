"""Programmes with mistakes: each is found, all are listed, with line and key."""

from pathlib import Path

import pytest

from discreet.errors import ProgrammeError
from discreet.release import check_release, protect, read_programme
from tests.helpers.programmes import Edit, editor
from tests.helpers.rows import for_all_rows
from tests.release.conftest import PROGRAMME


def mistakes(path: Path) -> list[str]:
    with pytest.raises(ProgrammeError) as caught:
        check_release(path)
    return [str(problem) for problem in caught.value.problems]


def test_a_programme_in_order(programme: Path) -> None:
    read = read_programme(programme)
    assert list(read.tables) == ["T1", "T2", "T3"]
    assert read.tables["T2"].formats == ["csv", "html"]
    assert read.languages == ("en", "de")
    assert check_release(programme).name == "programme.toml"


def test_five_mistakes_are_all_listed_with_line_and_key(edited: Edit, tmp_path: Path) -> None:
    path = edited(
        ('source = "persons.parquet"', 'source = "person.parquet"'),
        ('formats = ["csv", "html"]', 'formats = ["csv", "xslx"]'),
        ("intervals = [0, 18, 65]", "intervals = [0, 65, 18]"),
        ('where = "age >= 18"', 'wher = "age >= 18"'),
        ('by = ["nationality"]', 'by = ["nationality"]\nwhere = "age >"'),
    )
    found = mistakes(path)
    assert len(found) == 5
    assert "line 6, data.source: file 'person.parquet' not found" in found[0]
    assert "not found" in found[0]
    assert "line 21, variables.ages.intervals: the numbers must increase" in found[1]
    assert "line 29, defaults.formats[1]: unknown value" in found[2]
    assert "line 37, tables.T2.wher: unknown key" in found[3]
    assert "closest match: 'where'" in found[3]
    assert "line 41, tables.T3.where: the filter is not valid" in found[4]
    with pytest.raises(ProgrammeError):
        protect(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_mistakes_against_the_data_are_listed_together(edited: Edit) -> None:
    path = edited(
        ('column = "record_key"', 'column = "recordkey"'),
        ('column = "municipality"', 'column = "municipalty"'),
        ('where = "age >= 18"', 'where = "agee >= 18 and sex == 1"\nweight = "nationality"'),
        ('by = ["nationality"]', 'by = ["nationalty"]'),
    )
    found = mistakes(path)
    assert len(found) == 6
    assert "line 9, keys.column: the data have no column 'recordkey'" in found[0]
    assert "closest match: 'record_key'" in found[0]
    assert "line 15, variables.region.column" in found[1]
    assert any("column 'agee' not found" in text for text in found)
    assert any("column 'sex' has texts and is compared with a number" in text for text in found)
    assert any("tables.T2.weight: column 'nationality' is not a number" in text for text in found)
    assert "tables.T3.by[0]: no variable or column 'nationalty'" in found[5]
    assert "closest match: 'nationality'" in found[5]


@for_all_rows(
    ("old", "new", "key", "what"),
    [
        (
            "prefixes = [1, 2]",
            'prefixes = [1, 2]\nlevels = ["age"]',
            "region",
            "exclude each other",
        ),
        ("prefixes = [1, 2]", "prefixes = [2, 1]", "prefixes", "must increase"),
        ("prefixes = [1, 2]", "prefixes = [1, 1.5]", "prefixes[1]", "must be a whole number"),
        (
            "prefixes = [1, 2]",
            'alternatives = ["a", "sex"]',
            "alternatives[0]",
            "unknown variable 'a'",
        ),
        ("prefixes = [1, 2]", 'hierarchy = "no.hrc"', "hierarchy", "not found"),
        ('codes = ["m", "w"]', 'codes = ["m", "m"]', "codes", "'m' is named twice"),
        ("labels.m =", "labels.x =", "codes", "labels contain the unknown code 'x'"),
        ('languages = ["en", "de"]', 'languages = ["fr"]', "languages[0]", "unknown value"),
        ('languages = ["en", "de"]', 'languages = ["de", "de"]', "languages", "named twice"),
        ('{ en = "Region"', '{ fr = "Region"', "label.fr", "unknown language of publication"),
        ('date = "2026-11-21"', 'date = "21.11."', "date", "not a date"),
        ('column = "record_key"', 'id = "person_id"', "secret_file", "exactly one of"),
        ('column = "record_key"', 'grid = "many"', "keys.grid", "not a key grid"),
        (
            'column = "record_key"',
            'column = "record_key"\nid = "person_id"',
            "keys.column",
            "exclude",
        ),
        (
            'column = "record_key"',
            'column = "record_key"\ngrid = 256.0',
            "keys.grid",
            "a number or a power",
        ),
        ("[tables.T2]", '[tables."T/2"]', '"T/2"', "cannot be a file name"),
        ("[tables.T2]", "[tables.t1]", "tables.t1", "would be the same file"),
        ("[tables.T2]", "[tables.index]", "tables.index", "is already in use"),
        ('by = ["nationality"]', 'by = ["sex", "sex"]', "tables.T3.by", "'sex' is named twice"),
        ('by = ["nationality"]', "", "tables.T3.by", "by is missing"),
        ('by = ["nationality"]', "by = [3]", "tables.T3.by[0]", "must be a text"),
        ('by = ["nationality"]', 'by = ["sex"]\nofficial = "se == 1"', "official", "'sex'"),
        (
            "prefixes = [1, 2]",
            'alternatives = ["ages", "sex"]',
            "variables.region.column",
            "set it in the alternatives",
        ),
        (
            "prefixes = [1, 2]",
            'alternatives = ["one", "two"]\n[variables.one]\n[variables.two]\ntotal = "ALL"',
            "variables.region.alternatives[1]",
            "alternatives need the same total",
        ),
        (
            'source = "persons.parquet"',
            'database = "persons.parquet"\ntable = "p"\ntext = ["a"]',
            "data.text",
            "for text files only",
        ),
        ('by = ["nationality"]', 'by = ["value"]', "tables.T3.by[0]", "cannot be called"),
        ('table = "ptable.json"', 'table = "persons.parquet"', "perturbation.table", ""),
        ('table = "ptable.json"', 'table = "ptable.json"\nzeros = "no"', "zeros", "unknown value"),
        ('table = "ptable.json"', 'table = "ptable.json"\nzeros = "table"', "table", "zeros"),
        ('source = "persons.parquet"', 'source = "ptable.json"', "data.source", ""),
        (
            'source = "persons.parquet"',
            'database = "persons.parquet"',
            "database",
            "table or query is missing",
        ),
        ("[perturbation]\n", "[perturbations]\n", "perturbations", "unknown key"),
    ],
)
def test_one_mistake_is_named(programme: Path, old: str, new: str, key: str, what: str) -> None:
    found = mistakes(editor(programme, PROGRAMME)((old, new)))
    assert any(key in text and what in text for text in found), found


def test_a_missing_section_is_named(edited: Edit) -> None:
    found = mistakes(edited(('[data]\nsource = "persons.parquet"\n', "")))
    assert found[0].endswith("section [data] is missing")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"a = \n", "line 1"),
        (b"[t]\na = 1\na = 2\n", "line 3"),
        (b"a = '\xff'", "not UTF-8"),
        (b"PAR1\x15\x04", "not valid TOML"),
    ],
)
def test_a_file_that_is_not_toml(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "programme.toml"
    path.write_bytes(content)
    with pytest.raises(ProgrammeError, match=what):
        read_programme(path)


def test_no_programme_at_all(tmp_path: Path) -> None:
    with pytest.raises(ProgrammeError, match="cannot read the programme"):
        read_programme(tmp_path / "nothing.toml")
    with pytest.raises(ProgrammeError, match="cannot read the programme"):
        read_programme(tmp_path)


def test_an_open_secret_file_is_refused(edited: Edit, folder: Path) -> None:
    (folder / "secret.key").write_text("a secret that is long enough")
    (folder / "secret.key").chmod(0o644)
    found = mistakes(
        edited(('column = "record_key"', 'id = "person_id"\nsecret_file = "secret.key"'))
    )
    assert any("keys.secret_file" in text for text in found)
    assert "long enough" not in "".join(found)
