"""Structure files: what they keep of a file, and what nobody can read from them."""

import datetime
import json
import re
from itertools import combinations
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import MicrodataError, PublicationError
from discreet.microdata.described_files import described_records, write_described
from discreet.pretabular import StructureSettings
from discreet.pretabular.structure_forms import Form, FormFinder
from tests.helpers.command import run
from tests.helpers.rows import for_all_rows
from tests.helpers.run_data import Run

SECRET = "a long and secret sentence"
made_of = dc.pretabular.structure_file


def survey(rows: int = 2_000) -> pl.DataFrame:
    """A survey with one person whom everyone would know: 104, very rich, from Atlantis."""
    draw = np.random.default_rng(3)
    sex = draw.integers(1, 3, rows)
    frame = pl.DataFrame(
        {
            "pid": np.arange(rows) + 50_000,
            "sex": sex,
            "age": draw.integers(18, 90, rows),
            "country": draw.choice(["DE", "FR", "PL"], rows),
            "pay": np.round(draw.lognormal(7.5, 0.5, rows), 2),
            "born": [datetime.date(1940, 3, 5) + datetime.timedelta(days=int(day))
                     for day in draw.integers(0, 20_000, rows)],
            "surname": [f"{''.join(draw.choice(list('abcdeimnorst'), 7)).title()}"
                        for _ in range(rows)],
        }
    )  # fmt: skip
    known = pl.DataFrame(
        {
            "pid": [77],
            "sex": [1],
            "age": [104],
            "country": ["Atlantis"],
            "pay": [98_765_432.1],
            "born": [datetime.date(1921, 7, 9)],
            "surname": ["Rothschild-Habsburg-Lothringen"],
        }
    )
    return pl.concat([frame, known])


@pytest.fixture(scope="module")
def stata_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The survey as a Stata file: labels, formats, kinds of missing values, a rare one too."""
    frame = survey().with_columns(
        pl.Series("asked", [("a" if at % 3 else at % 5) for at in range(2_000)] + ["b"],
                  dtype=pl.Object),
        pl.col("sex", "age").cast(pl.Int8),
    )  # fmt: skip
    path = tmp_path_factory.mktemp("stata") / "survey.dta"
    pyreadstat.write_dta(
        frame,
        str(path),
        file_label="Survey 2024",
        column_labels={"sex": "Sex of the person", "pay": "Gross pay", "asked": "Ever asked"},
        variable_value_labels={
            "sex": {1: "male", 2: "female"},
            "asked": {0: "never", 1: "once", "a": "refused", "b": "in prison"},
        },
        missing_user_values={"asked": ["a", "b"]},
        variable_format={"pay": "%12.2f", "born": "%td"},
    )
    return path


@pytest.mark.exhaustive
def test_the_structure_is_that_of_the_original(stata_file: Path, tmp_path: Path) -> None:
    made = made_of(stata_file, records=200, secret=SECRET, id="pid")
    made.write(tmp_path / "dummy.dta")
    true, dummy = (pyreadstat.read_dta(str(file), metadataonly=True)[1]
                   for file in (stata_file, tmp_path / "dummy.dta"))  # fmt: skip
    for fact in ("column_names", "column_names_to_labels", "variable_to_label", "file_label"):
        assert getattr(dummy, fact) == getattr(true, fact), fact
    assert dummy.variable_value_labels["sex"] == {1: "male", 2: "female"}
    assert dummy.number_rows == 200
    for name in ("pay", "born", "sex"):
        assert dummy.original_variable_types[name] in ("%12.2f", "%9.2f", "%td", "%8.0g")
    kinds = dict(zip(made.records.columns, made.records.dtypes, strict=True))
    assert kinds["born"] == pl.Date
    assert kinds["pay"] == pl.Float64
    reasons = {one.name: one.reasons for one in described_records(tmp_path / "dummy.dta").variables}
    assert set(reasons["asked"].drop_nulls()) == {"a"}
    assert reasons["sex"].null_count() == 200


def test_nothing_of_one_person_is_there(stata_file: Path, tmp_path: Path) -> None:
    made = made_of(stata_file, records=500, secret=SECRET, id="pid")
    place = made.write(tmp_path / "dummy.dta")
    content = place.read_bytes()
    for word in (b"Atlantis", b"Rothschild", b"in prison"):
        assert word in stata_file.read_bytes()
        assert word not in content
    records = made.records
    assert records["age"].max() <= 100
    assert records["pay"].max() <= 10_000
    assert records["born"].min() >= datetime.date(1940, 1, 1)
    true = survey()
    for name in ("pid", "surname"):
        assert not set(records[name]) & set(true[name])
    types = {one.name: one.storage for one in made.described.variables}
    assert types["country"] == "str2"  # eight letters would tell of Atlantis
    assert types["age"] == "byte"
    assert "Atlantis" not in json.dumps(made.findings)
    assert "500" in repr(made)


def test_wide_types_and_formats_tell_of_no_large_number(tmp_path: Path) -> None:
    rows = 300
    frame = pl.DataFrame({"beds": pl.Series([*([12, 80, 340] * 100), 900_000], dtype=pl.Int32)})
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"), variable_format={"beds": "%16.0fc"})
    (variable,) = made_of(tmp_path / "a.dta", records=rows, secret=SECRET).described.variables
    assert set(variable.values) == {12, 80, 340}
    assert (variable.storage, variable.format) == ("int", "%9.0fc")
    named = made_of(tmp_path / "a.dta", secret=SECRET, public=["beds"]).described.variables[0]
    assert set(named.values) == {12, 80, 340, 900_000}
    assert (named.storage, named.format) == ("long", "%16.0fc")


def test_patterns_of_missing_values(tmp_path: Path) -> None:
    skipped = [None, None] * 500 + [1, 2] * 500
    frame = pl.DataFrame(
        {
            "worked": [0] * 1_000 + [1] * 1_000 + [1],
            "hours": [*skipped, 3],
            "boss": [*skipped, None],  # one pattern that only one record has
        }
    )
    made = made_of(frame, records=300, secret=SECRET, together=[["worked", "hours"]])
    pairs = set(made.records.select("worked", "hours").rows())
    assert pairs == {(0, None), (1, 1), (1, 2)}
    alone = made_of(frame, records=300, secret=SECRET)
    assert {tuple(value is None for value in row) for row in alone.records.rows()} == {
        (False, False, False),
        (False, True, True),
    }
    assert alone.findings["patterns of missing values omitted"] == 1


def few_have(frame: pl.DataFrame, record: tuple, threshold: int) -> int:
    """The most values of a record that together are those of at least one and few others."""
    rows, places = frame.rows(), range(len(record))
    for size in range(len(record), 0, -1):
        for chosen in combinations(places, size):
            if any(record[at] is None for at in chosen):
                continue
            found = sum(all(row[at] == record[at] for at in chosen) for row in rows)
            if 0 < found < threshold:
                return size
    return 0


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(0, 30)),
             min_size=40, max_size=90),
    st.integers(3, 6),
)  # fmt: skip
def test_values_of_few_are_never_together(rows: list[tuple], threshold: int) -> None:
    frame = pl.DataFrame(rows, schema=["x", "y", "z"], orient="row")
    try:
        made = made_of(frame, records=12, secret=SECRET, threshold=threshold)
    except MicrodataError:  # some codes are so rare that there is no other way
        return
    for record in made.records.rows():
        assert few_have(frame, record, threshold) < made.below
    assert made.below <= len(frame.columns)


def test_a_stated_agreement_is_kept_or_refused() -> None:
    frame = survey(600).select("sex", "age", "country", "pay", "born")
    made = made_of(frame, records=20, secret=SECRET, agree=3)
    assert made.below == 3
    for record in made.records.rows():
        assert few_have(frame, record, 10) < 3
    with pytest.raises(MicrodataError, match="too many dummy records combine values of few units"):
        made_of(pl.DataFrame({"age": [*range(1, 21)] * 5}), records=50, secret=SECRET, agree=1)


def test_frequencies_are_those_of_units() -> None:
    frame = pl.DataFrame(
        {
            "person": [f"P{at // 4}" for at in range(400)],
            "job": ["clerk"] * 380 + ["bishop"] * 20,  # twenty records, five persons
        }
    )
    by_record = made_of(frame, records=50, secret=SECRET, id="person")
    assert set(by_record.records["job"]) == {"clerk", "bishop"}
    by_person = made_of(frame, records=50, secret=SECRET, unit="person")
    assert set(by_person.records["job"]) == {"clerk"}
    assert not set(by_person.records["person"]) & set(frame["person"])
    assert by_person.records["person"].n_unique() < 50


def test_shares_are_taken_over_only_if_asked_for() -> None:
    frame = pl.DataFrame({"faith": ["a"] * 1_800 + ["b"] * 200, "n": list(range(20)) * 100})
    plain = made_of(frame, records=500, secret=SECRET).records["faith"].value_counts()
    asked = made_of(frame, records=500, secret=SECRET, shares=["faith", "n"])
    assert min(plain["count"]) > 200
    counts = dict(asked.records["faith"].value_counts().iter_rows())
    assert 25 < counts["b"] < 75
    assert 8.5 < asked.records["n"].mean() < 10.5


def test_engines_do_not_matter(tmp_path: Path) -> None:
    frame = survey(200).drop("pid", "born")
    frame.write_parquet(tmp_path / "a.parquet")
    expected = made_of(frame, records=20, secret=SECRET).records
    connection = duckdb.connect()
    relation = connection.sql(f"select * from '{tmp_path / 'a.parquet'}'")
    for source in (relation, frame.to_pandas(), tmp_path / "a.parquet"):
        assert made_of(source, records=20, secret=SECRET).records.rows() == expected.rows()


def test_the_order_of_records_does_not_matter() -> None:
    frame = survey()
    one = made_of(frame, records=40, secret=SECRET, id="pid")
    other = made_of(frame.sample(fraction=1, shuffle=True, seed=5), records=40, secret=SECRET,
                    id="pid")  # fmt: skip
    assert one.records.equals(other.records)
    assert not one.records.equals(made_of(frame, records=40, id="pid").records)


def test_drawn_values_stay_what_they_are() -> None:
    frame = pl.DataFrame({"sex": ["m", "f"] * 50, "age": [*range(20, 70)] * 2})
    made = made_of(frame, records=3, secret=SECRET, threshold=3)
    assert made.records.rows() == [("m", 31), ("f", 40), ("m", 27)]


def test_programs_written_on_it_run_on_the_original(stata_file: Path, tmp_path: Path) -> None:
    made_of(stata_file, records=300, secret=SECRET, id="pid").write(tmp_path / "dummy.dta")
    program = """
        use "{file}"
        generate lpay = log(pay) if sex == 2 & country == "DE"
        replace asked = . if asked == .a
        tabulate sex country
        regress lpay age
    """
    for name, folder in (("dummy.dta", tmp_path), (stata_file.name, stata_file.parent)):
        run = Run(program.format(file=name), folder=folder)
        assert len(run["lpay"]) > 200


@pytest.mark.parametrize("suffix", ["dta", "sav", "csv", "tsv", "parquet"])
def test_files_are_read_back_as_they_were_written(tmp_path: Path, suffix: str) -> None:
    made = made_of(survey(), records=60, secret=SECRET, id="pid")
    one, other = (made.write(tmp_path / f"{name}.{suffix}") for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    back = dc.read_microdata(one).lazy().collect("polars").to_native()
    expected = made.records
    if suffix in ("csv", "tsv"):
        expected = expected.with_columns(pl.col("born").cast(pl.String))
        back = back.with_columns(pl.col("pay").cast(pl.Float64))
    assert back.rows() == expected.rows()


def test_csv_files_keep_their_marks(tmp_path: Path) -> None:
    frame = survey().select("sex", "pay", "country")
    frame.write_csv(tmp_path / "a.csv", separator=";", decimal_comma=True)
    for reading in ({"decimal": ","}, {"detect": True}):
        made = made_of(tmp_path / "a.csv", records=40, secret=SECRET, **reading)
        lines = made.write(tmp_path / "b.csv").read_text().splitlines()
        assert lines[0] == "sex;pay;country"
        assert all(re.fullmatch(r"[12];\d+,\d+;(DE|FR|PL)", line) for line in lines[1:])


def test_spss_files_keep_labels_and_missing_codes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [20.0, 30.0, 40.0, 99.0] * 30, "town": ["K", "B", "K", "-"] * 30})
    pyreadstat.write_sav(
        frame,
        str(tmp_path / "a.sav"),
        column_labels={"age": "Age"},
        variable_value_labels={"age": {99.0: "not said", 20.0: "twenty"}, "town": {"K": "Köln"}},
        missing_ranges={"age": [99], "town": ["-"]},
        variable_format={"age": "F3.0"},
        variable_measure={"age": "scale"},
    )
    place = made_of(tmp_path / "a.sav", records=40, secret=SECRET).write(tmp_path / "b.sav")
    read = [pyreadstat.read_sav(str(tmp_path / name), user_missing=True, output_format="polars")
            for name in ("a.sav", "b.sav")]  # fmt: skip
    (_, true), (made, meta) = read
    for fact in ("column_names_to_labels", "variable_value_labels", "missing_ranges",
                 "variable_measure"):  # fmt: skip
        assert getattr(meta, fact) == getattr(true, fact), fact
    assert set(made["age"]) <= {20.0, 30.0, 40.0, 99.0}
    assert 99.0 in set(made["age"])
    assert b"2026" not in place.read_bytes()[92:109]


def test_described_records_are_written_back_as_they_were(stata_file: Path, tmp_path: Path) -> None:
    true = described_records(stata_file)
    write_described(true, tmp_path / "again.dta")
    again = described_records(tmp_path / "again.dta")
    assert again.label == true.label
    for one, other in zip(true.variables, again.variables, strict=True):
        assert one.values.equals(other.values)
        assert one.reasons.equals(other.reasons, null_equal=True)
        assert (one.label, one.storage, one.format, one.label_set, one.value_labels) == (
            other.label, other.storage, other.format, other.label_set, other.value_labels
        )  # fmt: skip


def test_texts_keep_their_form() -> None:
    rows = 200
    frame = pl.DataFrame(
        {
            "day": [f"{at % 28 + 1:02d}.03.2024" for at in range(rows)],
            "tax": [f"{at:03d}/{at * 7 % 1000:03d}-X" for at in range(rows)],
            "note": [f"case {at} is told at length" for at in range(rows)],
            "kept": pl.Series(["x", "y"] * 100, dtype=pl.Enum(["x", "y", "z"])),
            "yes": [True, False] * 100,
            "none": pl.Series([None] * rows, dtype=pl.Int32),
            "at": [datetime.datetime(2024, 1, 1, 8, at % 60) for at in range(rows)],
            "clock": [datetime.time(8, at % 60) for at in range(rows)],
        }
    )
    made = made_of(frame, records=100, secret=SECRET).records
    assert made["day"].str.to_date("%d.%m.%Y").dt.year().unique().to_list() == [2024]
    assert made["tax"].str.contains(r"^\d{3}/\d{3}-[A-Z]$").all()
    assert not set(made["note"]) & set(frame["note"])
    assert made["kept"].dtype == pl.Enum(["x", "y"])
    assert made["none"].null_count() == 100
    assert made.schema["at"] == frame.schema["at"]
    assert made["clock"].dtype == pl.Time


def test_identifiers_are_new_even_where_all_numbers_are_taken() -> None:
    frame = pl.DataFrame({"id": range(10, 100), "sex": ["m", "f"] * 45})
    made = made_of(frame, records=60, secret=SECRET, id="id").records
    assert made["id"].n_unique() == 60
    assert not set(made["id"]) & set(frame["id"])
    for dtype in (pl.Int8, pl.UInt8, pl.Float64):  # a third digit has no room in some
        narrow = frame.with_columns(pl.col("id").cast(dtype))
        assert made_of(narrow, records=60, secret=SECRET, id="id").records["id"].n_unique() == 60


@pytest.mark.parametrize("others", [9, 10])
def test_what_ten_units_have_is_taken_over_and_what_nine_have_is_not(others: int) -> None:
    rows = 200
    frame = pl.DataFrame(
        {
            "code": ["a"] * (rows - others) + ["b"] * others,
            "gone": [1] * (rows - others) + [None] * others,
            "high": [*range(rows - others)] + [70_000 + at // 2 for at in range(others)],
            "late": [datetime.date(2020, 1, 1)] * (rows - others)
            + [datetime.date(2031, 5, 5)] * others,
            "mask": [f"{at:04d}" for at in range(rows - others)]
            + [f"A{at:03d}" for at in range(others)],
        }
    )
    made = made_of(frame, records=150, secret=SECRET, id="mask").records
    taken = others == 10
    assert ("b" in set(made["code"])) is taken
    assert (made["gone"].null_count() > 0) is taken
    assert (made["high"].max() > 1_000) is taken
    assert (made["late"].max() > datetime.date(2029, 1, 1)) is taken
    assert made["mask"].str.contains("[A-Z]").any() is taken
    tied = frame.select("code", other=pl.col("code"))
    both = made_of(tied, records=50, secret=SECRET, together=[["code", "other"]]).records
    assert (("b", "b") in set(both.rows())) is taken


def form_of(frame: pl.DataFrame) -> Form:
    """The form of the only variable."""
    settings = StructureSettings(threshold=10)
    (form,) = FormFinder(described_records(frame), None, settings).forms()
    return form


@for_all_rows(
    ("low", "high", "first", "last"),
    [
        (18, 89, 10, 90),
        (3, 120, 1, 120),
        (0, 120, 0, 120),
        (-700, 250_000, -50_000, 250_000),
        (1991, 2016, 1990, 2020),
        (0.03, 0.31, 0.01, 0.35),
    ],
)
def test_ends_keep_a_fifth_to_a_tenth_of_the_range(
    low: float, high: float, first: float, last: float
) -> None:
    digits = 0 if isinstance(low, int) else 2
    inner = [round(low + (high - low) * at / 500, digits or None) for at in range(501)]
    form = form_of(pl.DataFrame({"x": [low] * 10 + inner + [high] * 10}))
    assert form.kind == "numbers"
    assert [end * form.scale for end in form.ranges[0]] == pytest.approx([first, last])


def test_numbers_most_of_which_are_rare_are_no_codes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1] * 12 + [at for at in range(2, 13) for _ in range(9)]})
    assert form_of(frame).kind == "numbers"
    assert form_of(frame.filter(pl.col("x") < 3)).kind == "codes"
    ids = pl.DataFrame({"id": pl.Series(range(100, 400), dtype=pl.Int16)})
    pyreadstat.write_dta(ids, str(tmp_path / "ids.dta"))
    (variable,) = made_of(tmp_path / "ids.dta", records=9, secret=SECRET).described.variables
    assert variable.storage == "int"


def test_odd_columns_are_made_up_too() -> None:
    frame = pl.DataFrame(
        {
            "huge": [at // 2 * 10**13 for at in range(400)],
            "blank": [""] * 399 + ["x"],
            "few": pl.Series([None] * 399 + ["a"], dtype=pl.Enum(["a"])),
            "same": [0.5] * 400,
        }
    )
    made = made_of(frame, records=30, secret=SECRET)
    assert made.records["huge"].is_between(0, 2 * 10**15).all()
    assert set(made.records["blank"]) == {""}
    assert "a" not in set(made.records["few"])
    assert set(made.records["same"]) == {0.5}


def test_long_numbers_have_room_in_stata_files(tmp_path: Path) -> None:
    frame = pl.DataFrame({"pid": pl.Series(range(2_000_000_000, 2_000_000_300), dtype=pl.Int32)})
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"))
    made = made_of(tmp_path / "a.dta", records=50, secret=SECRET)
    made.write(tmp_path / "b.dta")
    back = dc.read_microdata(tmp_path / "b.dta").lazy().collect("polars").to_native()
    assert back["pid"].to_list() == made.records["pid"].to_list()
    assert back["pid"].max() > 2_147_483_620


def test_files_of_one_secret_can_be_merged() -> None:
    frame = survey()
    persons = made_of(frame, records=80, secret=SECRET, id="pid").records
    incomes = made_of(frame.select("pid", "pay"), records=80, secret=SECRET, id="pid").records
    assert set(persons["pid"]) == set(incomes["pid"])


def test_wrong_input_is_refused_all_at_once(tmp_path: Path) -> None:
    for wrong in ({"records": 0, "threshold": 1}, {"id": "nobody", "public": ["pids"]}):
        with pytest.raises(MicrodataError) as caught:
            made_of(survey(100), **wrong)
        assert len(caught.value.problems) == 2
    with pytest.raises(MicrodataError, match="variable not found"):
        made_of(survey(100), together=[["sex", "sect"]])
    with pytest.raises(MicrodataError, match="cannot create dummy values of type"):
        made_of(pl.DataFrame({"all": [[1], [2]]}))
    with pytest.raises(MicrodataError, match="too few units share these codes for a combination"):
        made_of(survey(), together=[["sex", "pay"]])
    odd = made_of(pl.DataFrame({"größe in m": [1, 2] * 50}), records=5)
    with pytest.raises(PublicationError, match="letters, digits"):
        odd.write(tmp_path / "a.dta")
    with pytest.raises(PublicationError, match=r"\.dta, \.sav"):
        odd.write(tmp_path / "a.xlsx")


def test_the_command(stata_file: Path, tmp_path: Path) -> None:
    out, told = tmp_path / "dummy.sav", tmp_path / "findings.json"
    words = ("--records", "50", "--id", "pid", "--findings", told, "--json")
    called = run("structure-file", stata_file, "--out", out, *words)
    assert called.exit_code == 0, called.output
    assert "50 erfundene" in json.loads(called.output)["de"]
    assert json.loads(told.read_text())["variables"]["country"]["found"] == ["1 codes omitted"]
    assert told.stat().st_mode & 0o77 == 0
    assert len(dc.read_microdata(out).lazy().collect("polars").to_native()) == 50
