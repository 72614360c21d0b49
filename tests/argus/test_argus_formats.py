"""Files of the τ-ARGUS family: metadata, records, cells, marks of single cells."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import SuppressionError
from discreet.protection.suppression.problem.linked_tables import build_problem
from discreet.rules import Mark, Marks, PPercent, primary
from discreet_argus import (
    ArgusMetadata,
    ArgusVariable,
    read_hst,
    read_rda,
    read_records,
    read_tab,
    write_hst,
    write_rda,
    write_tab,
)
from discreet_argus.texts import split_fields, tokens, without_comment

# -- words ----------------------------------------------------------------------


def test_quotes_shield_signs_and_comments() -> None:
    assert tokens('"a b""c" | x,(1)') == ["a b", "c", "|", "x", ",", "(", "1", ")"]
    assert without_comment(r'x "//" \\ rest').rstrip() == 'x "//"'
    assert split_fields('"a;b"; c ;', ";") == ["a;b", "c", ""]


# -- metadata -------------------------------------------------------------------


def test_the_metadata_of_the_sample_records(reference: Path) -> None:
    metadata = read_rda(reference / "argus" / "Tau_TestW.rda", of="records")
    assert metadata.form == "fixed"
    industry = metadata.variable("industrycode")
    assert (industry.start, industry.length, industry.levels) == (4, 5, (3, 1, 1, 0, 0))
    assert (industry.missing, industry.distance) == (("99999",), (1, 3, 5, 7, 9))
    region = metadata.variable("Region")
    assert (region.hierarchy, region.lead, region.codelist) == ("region2.hrc", "@", "region.cdl")
    assert metadata.role("weight")[0].decimals == 1
    assert metadata.role("request")[0].request == ("1", "2")
    tree = metadata.classification("Region")
    assert tree.children("Nr") == (" 1", " 2", " 3")
    codes = metadata.classification("IndustryCode", ["34100", "34110", "29240", "99999"])
    assert codes.parent("34110") == "3411"
    assert codes.parent("99999") == "Total"


@pytest.mark.parametrize(
    ("file", "of"),
    [
        ("Tau_TestW.rda", "records"),
        ("tableinput/pp.rda", "cells"),
        ("ckm/Magnitude/microdata.rda", "records"),
        ("ckm/Frequency/Tau_TestW_CKM.rda", "records"),
        ("ckm/Frequency/hc_9_2_synth_Tau.rda", "records"),
    ],
)
def test_metadata_are_written_as_they_were_read(
    reference: Path, tmp_path: Path, file: str, of: Any
) -> None:
    metadata = read_rda(reference / "argus" / file, of=of)
    write_rda(metadata, tmp_path / "again.rda")
    assert read_rda(tmp_path / "again.rda", of=of) == metadata


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Region 12\n", "not a variable"),
        ("Region 12 2\n<HIERARCHICAL>\n", "hierarchical without a hierarchy"),
        ("Region 12 2\n<COLOUR> red\n", "<COLOUR> is unknown, or has wrong values"),
        ("<RECODEABLE>\n", "precedes any variable"),
        ("Region 1 2\nregion 3 2\n", "described twice"),
        ("<SPSS>\nRegion 1 2\n", ".rda files of SPSS records are not supported"),
        ("// nothing\n", "no variables"),
    ],
)
def test_metadata_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.rda").write_text(text)
    with pytest.raises(SuppressionError, match=message):
        read_rda(tmp_path / "bad.rda", of="records")


def test_all_mistakes_are_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / "bad.rda").write_text("Region\n<COLOUR> red\nSize x 2")
    with pytest.raises(SuppressionError) as caught:
        read_rda(tmp_path / "bad.rda", of="records")
    assert [problem.where for problem in caught.value.problems] == [
        f"bad.rda, line {line}" for line in (1, 2, 3)
    ]


# -- records --------------------------------------------------------------------


def test_the_sample_records(reference: Path) -> None:
    folder = reference / "argus"
    metadata = read_rda(folder / "Tau_TestW.rda", of="records")
    records = read_records(folder / "tau_testW.asc.gz", metadata)
    assert records.height == 42_723
    assert records.row(0, named=True) | {"Region": " 9", "Wgt": 2.2} == records.row(0, named=True)
    assert records["Var2"].sum() == pytest.approx(16_847_646.84)


def described(*variables: ArgusVariable, form: Any = "free") -> ArgusMetadata:
    return ArgusMetadata(form=form, separator=";", variables=variables)


def test_fields_between_separators_and_missing_numbers(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text('"Île d\'Oléron";1,5\nS.A. & Co;99', encoding="utf-8")
    place = ArgusVariable(name="place", length=20, coded=True)
    value = ArgusVariable(name="value", length=4, numeric=True, missing=("99",))
    records = read_records(tmp_path / "some.csv", described(place, value))
    assert records.rows() == [("Île d'Oléron", 1.5), ("S.A. & Co", None)]


def test_records_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("a;1\nb;x\nc\n")
    place = ArgusVariable(name="place", length=1, coded=True)
    value = ArgusVariable(name="value", length=1, numeric=True)
    with pytest.raises(SuppressionError, match="1 fields, but 2 are described"):
        read_records(tmp_path / "some.csv", described(place, value))
    (tmp_path / "some.csv").write_text("a;1\nb;x\n")
    with pytest.raises(SuppressionError, match="line 2: value is not a number"):
        read_records(tmp_path / "some.csv", described(place, value))
    fixed = ArgusVariable(name="value", start=9, length=2, numeric=True)
    with pytest.raises(SuppressionError, match="shorter than 9 positions"):
        read_records(tmp_path / "some.csv", described(fixed, form="fixed"))


# -- cells ----------------------------------------------------------------------


def test_the_sample_cells_do_not_add_up_until_their_totals_are_added(reference: Path) -> None:
    """Its batch says so too: totals are to be computed, their status kept."""
    folder = reference / "argus" / "tableinput"
    metadata = read_rda(folder / "pp.rda", of="cells")
    given_ = read_tab(folder / "pp.tab", metadata)
    assert len(given_.table) == 162
    assert given_.primary is not None
    assert given_.primary.numbers() == {"manual": 9}
    with pytest.raises(SuppressionError, match="Region=Os: the parts do not add up"):
        build_problem((given_.table, given_.primary), value="Var2", decimals=2)
    added = read_tab(folder / "pp.tab", metadata, totals="add")
    assert added.primary is not None
    assert (added.primary.sensitive == given_.primary.sensitive).all()
    assert (added.primary.upper == given_.primary.upper).all()
    problem, _ = build_problem((added.table, added.primary), value="Var2", decimals=2)
    assert len(problem.primary) == 7
    tops = [table.contributions["Var2_Shadow"].top for table in (added.table, given_.table)]
    assert np.array_equal(tops[0][0], tops[1][0], equal_nan=True)


SIZE = ArgusVariable(name="size", coded=True)
VALUE = ArgusVariable(name="value", numeric=True, decimals=1)
COUNT = ArgusVariable(name="n", role="frequency")
STATUS = ArgusVariable(name="status", role="status")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;1;1;S\na;2;1;S\n", "a cell with the same codes of size precedes it"),
        ("a;1;1\n", "3 fields, but 4 are described"),
        ("a;x;1;S\n", "value is not a number"),
        ("a;1;1.5;S\n", "n must be a whole number of at least 0"),
        ("a;1;1;Q\n", "unknown status 'Q'"),
        ("a;1;1;E\n", "1 cells are marked as empty but have a value"),
    ],
)
def test_cells_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.tab").write_text(text)
    metadata = described(SIZE, VALUE, COUNT, STATUS, form="table")
    with pytest.raises(SuppressionError, match=message):
        read_tab(tmp_path / "bad.tab", metadata)


def test_totals_without_finest_cells_cannot_be_added(tmp_path: Path) -> None:
    (tmp_path / "region.hrc").write_text("N\n@N1\n@N2\nS\n@S1")
    region = ArgusVariable(name="region", coded=True, hierarchy="region.hrc")
    metadata = ArgusMetadata(
        form="table", separator=";", variables=(region, VALUE), folder=tmp_path
    )
    (tmp_path / "some.tab").write_text("N1;1\nN2;2\nS;4 // no comment is read\nTotal;7")
    with pytest.raises(SuppressionError, match="1 totals lack interior cells"):
        read_tab(tmp_path / "some.tab", metadata, totals="add")
    (tmp_path / "some.tab").write_text("N1;1\nN2;2\nS1;4")
    cells = read_tab(tmp_path / "some.tab", metadata, totals="add")
    assert len(cells.table) == 6
    assert cells.table.sums["value"].max() == 7


@given(
    st.lists(st.sampled_from(["N 1", "N.2", "Ø", " 4"]), min_size=2, max_size=12),
    st.data(),
)
def test_tables_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, codes: list[str], data: st.DataObject
) -> None:
    tree = dc.Classification.from_parents(
        "region", {"N": None, "N 1": "N", "N.2": "N", "Ø": None, "Île": None, " 4": "Île"}
    )
    cents = data.draw(st.lists(st.integers(0, 10**6), min_size=len(codes), max_size=len(codes)))
    frame = pl.DataFrame({"region": codes, "turnover": [cent / 100 for cent in cents]})
    table = dc.tabulate(frame, by=[tree], values=["turnover"], contributions=2)
    found = primary(table, [PPercent(10)], value="turnover")
    path = tmp_path_factory.mktemp("tab") / "cells.tab"
    metadata = write_tab(table, path, value="turnover", primary=found, decimals=2)
    assert read_rda(path.with_suffix(".rda"), of="cells") == metadata
    again = read_tab(path, metadata)
    both = [
        each.to_polars().with_columns(pl.col("turnover").round(2)) for each in (again.table, table)
    ]
    assert both[0].equals(both[1])
    assert again.primary is not None
    assert (again.primary.sensitive == found.sensitive).all()
    assert path.stat().st_mode & 0o077 == 0


# -- marks ----------------------------------------------------------------------


def test_marks_of_all_kinds_and_a_last_line_without_end(tmp_path: Path) -> None:
    text = '01;FR;u\n"Total";FR;pl;10;20 // more\n02;FR;c;5\n02;" 1";ab;0;9,5\n3;x;p\n3;y;m'
    (tmp_path / "some.hst").write_text(text)
    marks = list(read_hst(tmp_path / "some.hst", ["region", "land"]))
    assert [dict(mark.cells)["land"] for mark in marks] == ["FR", "FR", "FR", " 1", "x", "y"]
    assert [mark.status for mark in marks] == ["unsafe", None, None, None, "protected", "secondary"]
    assert (marks[1].lower, marks[1].upper, marks[2].cost, marks[3].high) == (10, 20, 5, 9.5)


def test_marks_reach_the_problem(tmp_path: Path) -> None:
    frame = pl.DataFrame({"size": list("aabbc")})
    table = dc.tabulate(frame, by=["size"])
    (tmp_path / "some.hst").write_text("a;u\na;pl;1;2\nb;c;9\nTotal;p")
    found = primary(table, [], marks=read_hst(tmp_path / "some.hst", ["size"], separator=";"))
    problem, _ = build_problem((table, found))
    named = {problem.name(at): at for at in range(len(problem))}
    assert [problem.name(at) for at in problem.primary] == ["size=a"]
    assert (problem.lower[named["size=a"]], problem.upper[named["size=a"]]) == (1, 2)
    assert problem.cost[named["size=b"]] == 9
    assert problem.state[named["total"]] == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b;x\n", "unknown command 'x'"),
        ("a;b\n", "2 codes and a command"),
        ("a;b;c\n", "1 numbers follow the command c"),
        ("a;b;pl;1;q\n", "2 numbers follow the command pl"),
        ("a b u\n", "the separator is not clear from the first line"),
    ],
)
def test_marks_that_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.hst").write_text(text)
    with pytest.raises(SuppressionError, match=message):
        read_hst(tmp_path / "bad.hst", ["region", "size"])


def test_marks_are_read_as_they_were_written(tmp_path: Path) -> None:
    cells = {"region": " 1", "size": "a;b"}
    marks = Marks(
        [
            Mark(cells=cells, status="unsafe", lower=0.1, upper=2),
            Mark(cells={**cells, "size": "Total"}, cost=3, low=-1, high=7.5),
        ]
    )
    write_hst(marks, tmp_path / "some.hst", ["region", "size"])
    again = list(read_hst(tmp_path / "some.hst", ["region", "size"]))
    assert [dict(mark.cells) for mark in again] == [cells, cells, *[marks.marks[1].cells] * 2]
    assert (again[1].lower, again[2].cost, again[3].low, again[3].high) == (0.1, 3, -1, 7.5)
    with pytest.raises(SuppressionError, match="the mark does not name a single cell"):
        write_hst([Mark(cells={"size": "a"}, cost=1)], tmp_path / "x.hst", ["region", "size"])
