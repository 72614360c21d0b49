"""Grid cells in programmes: aggregated until each shows a minimum, or cut at a size."""

from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.demo import example_perturbation_table, generate
from discreet.errors import DiscreetError
from discreet.microdata import Secret
from discreet.release import checked_inputs

SIZES = [6400, 3200, 1600, 800, 400, 200, 100]
PROGRAMME = f"""\
[data]
source = "persons.parquet"

[keys]
id = "person_id"
secret_file = "secret.key"

[perturbation]
table = "ptable.json"
found_codes = "hide"

[variables.home]
column = "grid_cell"
squares = {SIZES}
at_least = 20

[tables.home]
by = ["home", "sex"]
formats = ["csv"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Secret.generate().write("secret.key")
    example_perturbation_table().write("ptable.json")
    generate(persons=3_000).persons.write_parquet("persons.parquet")
    return tmp_path


def released(text: str) -> pl.DataFrame:
    Path("programme.toml").write_text(text, "utf-8")
    dc.protect("programme.toml", "release")
    return pl.read_csv("release/home.csv", infer_schema=False)


def by_hand(**how: object) -> pl.DataFrame:
    """The same in Python: records with their aggregated grid cells."""
    persons = generate(persons=3_000).persons
    persons = dc.with_record_keys(persons, id="person_id", secret=Path("secret.key"))
    codes = persons["grid_cell"].unique()
    tree = dc.Classification.from_squares(
        "square", codes, sizes=SIZES, column="grid_cell", short=True
    )
    by = ["municipality", tree] if "area" in how else [tree]
    safe = dc.perturb(
        dc.tabulate(persons, by, record_key="record_key"), example_perturbation_table()
    )
    merged = dc.pretabular.merge_squares(safe, 20, rest=bool(how.pop("rest", False)))
    return merged.assign(persons, "grid_cell", **how)


@pytest.mark.parametrize(
    ("keys", "how"),
    [
        ("", {}),
        ("rest = true\n", {"rest": True}),
        ('within = "municipality"\n', {"area": "municipality"}),
    ],
)
def test_the_programme_makes_the_grid_cells_of_python(keys: str, how: dict[str, object]) -> None:
    wanted = by_hand(**how)
    found = released(PROGRAMME.replace("at_least = 20\n", f"at_least = 20\n{keys}"))
    totals = found.filter(pl.col("sex") == "Total")
    published = dict(zip(totals["home"], totals["value"].cast(pl.Int64), strict=True))
    table = dc.perturb(
        dc.tabulate(wanted, ["merged_square"], record_key="record_key"),
        example_perturbation_table(),
    ).to_polars(complete=False)
    cells = dict(zip(table["merged_square"], table["value"], strict=True))
    shown = {code: int(value) for code, value in cells.items() if value}
    assert len(shown) > 20
    assert {code: published.get(code) for code in shown} == shown


def test_the_check_and_the_search_for_slivers_know_them() -> None:
    text = PROGRAMME + '\n[tables.place]\nby = ["municipality"]\nformats = ["csv"]\n'
    Path("programme.toml").write_text(text, "utf-8")
    inputs = checked_inputs("programme.toml")
    merged = set(inputs.records["data"].to_native().collect()["home of at least 20"])
    assert merged == set(by_hand()["merged_square"])
    text += '\n[slivers]\nareas = ["municipality", "home"]\nleast = 40\n'
    Path("programme.toml").write_text(text, "utf-8")
    checked_inputs("programme.toml")
    persons = pl.read_parquet("persons.parquet")
    moved = pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("02001001"))
    persons = persons.with_columns(
        municipality=moved.otherwise(pl.col("municipality").cast(pl.String))
    )
    persons.write_parquet("persons.parquet")
    with pytest.raises(DiscreetError) as failure:
        checked_inputs("programme.toml")
    (problem,) = failure.value.problems
    assert problem.where.endswith(", slivers.least")
    assert problem.what.endswith("fewer than 40 records between home and municipality")


def test_only_counts_with_noise_decide() -> None:
    text = PROGRAMME.replace("[tables.home]\n", '[tables.home]\nprotect = "rounding"\n')
    with pytest.raises(DiscreetError, match="aggregated by counts with noise"):
        released(text + "\n[protection.rounding]\nbase = 3\n")
    assert not Path("release").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (f"squares = {SIZES}", "squares = [100]", "two or more sizes"),
        ("at_least = 20", "at_least = 1", "at_least"),
        ("at_least = 20", "rest = true", "rest needs at_least"),
        ("at_least = 20", 'within = "municipality"', "at_least"),
        ("at_least = 20", 'at_least = 20\nwithin = "village"', "no column 'village'"),
        (f"squares = {SIZES}", "codes = ['a']", "squares"),
        ("6400, 3200, 1600, 800, 400, 200, 100", "1000, 500", "list the size of the codes"),
    ],
)
def test_wrong_keys(old: str, new: str, message: str) -> None:
    with pytest.raises(DiscreetError) as failure:
        released(PROGRAMME.replace(old, new))
    assert message in str(failure.value)
    assert not Path("release").exists()


def test_other_noise_or_another_minimum_makes_the_table_anew() -> None:
    first = released(PROGRAMME)
    assert released(PROGRAMME.replace("= 20", "= 60")).height < first.height
    summary = dc.protect("programme.toml", "release")
    assert [table.fresh for table in summary.tables] == [False]


def test_squares_are_cut_at_a_level() -> None:
    text = PROGRAMME.replace(f"{SIZES}\nat_least = 20", "[10000, 1000, 100]\nlevel = 2")
    found = released(text)["home"].unique().to_list()
    finest = [code for code in found if code.startswith("100m")]
    kilometres = [code for code in found if code.startswith("1km")]
    assert (finest, len(kilometres) > 3) == ([], True)
    persons = generate(persons=3_000).persons
    true = (
        persons["grid_cell"].cast(pl.String).str.replace(r"100mN(\d+)\dE(\d+)\d", "1kmN${1}E${2}")
    )
    assert set(kilometres) <= set(true)
