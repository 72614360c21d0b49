"""`merge`, `append`, `joinby`, `cross`, and files, against polars and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from discreet_fire.runners.builtin.language.errors import DoError, UnsupportedError
from tests.helpers.run_data import Run

PERSONS = {"id": [3, 1, 2, 5], "x": [30, 10, 20, 50]}
FIRMS = {"id": [1, 2, 2, 4], "y": [1.5, 2.5, 3.5, 4.5]}


def two(text, master, using):
    """Run lines with a second data set saved as `other`."""
    run = Run("save other", using)
    run.more("clear")
    fresh = Run("", master, folder=run.session.memory.folder)
    fresh.session.memory.files.update(run.session.memory.files)
    fresh.more(text)
    return fresh


def test_one_to_many_keeps_all_and_says_where_from():
    run = two("merge 1:m id using other", PERSONS, FIRMS)
    assert run["id"] == [1, 2, 2, 3, 5, 4]
    assert run["x"] == [10, 20, 20, 30, 50, "."]
    assert run["y"] == [1.5, 2.5, 3.5, ".", ".", 4.5]
    assert run["_merge"] == [3, 3, 3, 1, 1, 2]
    labels = run.session.data.value_labels["_merge"]
    assert labels[3.0] == "Matched (3)"
    assert run.session.data.variables["_merge"].value_label == "_merge"


def test_small_counts_of_the_table_are_withheld_with_their_partner():
    rows = 40
    run = two("merge 1:1 id using other", {"id": range(rows)}, {"id": range(1, rows + 20)})
    table = [line for line in run.log if "from master" in line or "Matched" in line]
    assert table[0].split()[2] == "."  # one observation
    assert "from using" in run.text
    assert run.text.count("20") == 0  # the smallest other one goes with it
    assert "39" in run.text
    assert "fail" in run.verdicts


def test_large_counts_are_shown():
    run = two("merge 1:1 id using other", {"id": range(40)}, {"id": range(10, 60)})
    assert [line.split()[-2] for line in run.log if "_merge==" in line] == ["10", "20", "30"]
    assert run.verdicts[-1] == "pass"


@pytest.mark.parametrize("kind", ["1:1", "m:1", "1:m"])
def test_large_merges_agree_with_polars(kind):
    rng = np.random.default_rng(8)
    unique = rng.permutation(300)[:200]
    many = rng.integers(0, 300, 500)
    left = unique if kind.startswith("1") else many
    right = unique[::-1] + 40 if kind == "1:1" else unique if kind == "m:1" else many
    master = pl.DataFrame({"id": left, "a": np.arange(len(left))})
    using = pl.DataFrame({"id": right, "b": np.arange(len(right))})
    run = two(f"merge {kind} id using other, noreport", master, using)
    expected = master.join(using, on="id", how="full", coalesce=True)
    got = pl.DataFrame({name: run[name] for name in ("id", "a", "b")}, strict=False)
    wanted = [[float(v) if v is not None else "." for v in row] for row in expected.rows()]
    found = [list(row) for row in zip(run["id"], run["a"], run["b"], strict=True)]
    assert sorted(map(str, found)) == sorted(map(str, wanted))
    assert got.height == expected.height


def test_options_of_merge():
    run = two("merge 1:m id using other, keep(match master) nogenerate", PERSONS, FIRMS)
    assert "_merge" not in run.names
    assert run["id"] == [1, 2, 2, 3, 5]
    assert run.session.data.sorted_by == ("id",)
    run = two("merge 1:m id using other, keep(3) generate(m)", PERSONS, FIRMS)
    assert run["m"] == [3, 3, 3]
    both = {"id": [1, 2], "x": [None, 7.0], "z": [1, 2]}
    run = two("merge 1:1 id using other, keepusing(z)", PERSONS, both)
    assert run["x"] == [10, 20, 30, 50]
    assert run["z"] == [1, 2, ".", "."]
    with pytest.raises(DoError, match=r"r\(9\)"):
        two("merge 1:m id using other, assert(match)", PERSONS, FIRMS)


def test_update_and_replace():
    master = {"id": [1, 2, 3], "x": [None, 5.0, 6.0]}
    using = {"id": [1, 2, 3], "x": [9.0, 7.0, 6.0]}
    run = two("merge 1:1 id using other, update", master, using)
    assert run["x"] == [9, 5, 6]
    assert run["_merge"] == [4, 5, 3]
    run = two("merge 1:1 id using other, update replace", master, using)
    assert run["x"] == [9, 7, 6]


def test_keys_must_identify_and_agree():
    with pytest.raises(DoError, match=r"in the using data; r\(459\)"):
        two("merge 1:1 id using other", PERSONS, FIRMS)
    with pytest.raises(DoError, match=r"in the master data; r\(459\)"):
        two("merge 1:m id using other", FIRMS, PERSONS)
    with pytest.raises(DoError, match=r"r\(106\)"):
        two("merge 1:1 id using other", PERSONS, {"id": ["a", "b"]})
    with pytest.raises(UnsupportedError, match="merge"):
        two("merge m:m id using other", PERSONS, FIRMS)
    with pytest.raises(DoError, match=r"r\(601\)"):
        Run("merge 1:1 id using nowhere", PERSONS)


def test_append_joins_types_and_origin():
    run = two("append using other, generate(from)", {"id": [1], "s": ["a"]},
              {"id": [1000], "s": ["long"], "z": [0.5]})  # fmt: skip
    assert run["id"] == [1, 1000]
    assert run["s"] == ["a", "long"]
    assert run.kind("s") == "str4"
    assert run["z"] == [".", 0.5]
    assert run["from"] == [0, 1]
    with pytest.raises(DoError, match=r"r\(106\)"):
        two("append using other", {"id": [1]}, {"id": ["a"]})
    assert two("append using other, force", {"id": [1]}, {"id": ["a"]})["id"] == [1, "."]


def test_joinby_gives_all_pairs():
    run = two("joinby id using other", {"id": [1, 2, 2], "a": [1, 2, 3]}, FIRMS)
    assert list(zip(run["a"], run["y"], strict=True)) == [
        (1, 1.5), (2, 2.5), (2, 3.5), (3, 2.5), (3, 3.5)]  # fmt: skip
    run = two("joinby id using other, unmatched(both)", PERSONS, FIRMS)
    assert sorted(run["id"]) == [1, 2, 2, 3, 4, 5]


def test_cross_gives_all_pairs_and_a_finding():
    run = two("cross using other", {"a": [1, 2]}, {"b": [5, 6, 7]})
    assert run["a"] == [1, 1, 1, 2, 2, 2]
    assert run["b"] == [5, 6, 7, 5, 6, 7]
    run.more("summarize b")
    assert run.log[-1] == "(withheld)"  # two observations, however often each is there


def test_whom_observations_are_about_is_kept_through_merges():
    run = Run("save other", {"id": [1, 2]}, entity="id")
    run.more("clear\ninput i id\n1 7\n2 8\nend\nappend using other")
    assert [float(one) for one in run.session.data.hidden["entity"].values] == [7, 8, 1, 2]


# --- files ---------------------------------------------------------------------------


def test_saved_data_come_back_from_disk_bit_for_bit(tmp_path):
    text = """
    generate float f = x / 3
    replace f = .b in 2
    generate byte b = _n
    label variable f "a label"
    label define yn 0 "no" 1 "yes" .b "none"
    label values b yn
    format x %12.2f
    save made
    """
    data = {"x": [1.25, None, 1e300], "s": ["a", "ü", ""], "i": [1, -70000, None]}
    first = Run(text, data, tmp_path)
    again = Run("use made", folder=tmp_path)
    for name in first.names:
        one, other = (run.session.data.variables[name] for run in (first, again))
        assert list(one.values) == list(other.values), name
        assert (one.kind, one.format, one.label) == (other.kind, other.format, other.label)
    assert again["f"][1] == ".b"
    assert again.session.data.value_labels == first.session.data.value_labels
    assert "review" in first.verdicts
    with pytest.raises(DoError, match=r"r\(602\)"):
        again.more("save made")
    before = (tmp_path / "made.dta").read_bytes()
    again.more("save made, replace")
    assert (tmp_path / "made.dta").read_bytes() == before


def test_use_with_variables_and_condition(tmp_path):
    Run("save d", {"a": [1, 2, None], "b": [4, 5, 6]}, tmp_path)
    run = Run("use b if a > 1 using d", folder=tmp_path)
    assert run["b"] == [5, 6]  # a missing value is larger than 1
    assert run.names == ["b"]
    run.more("generate c = 1")
    with pytest.raises(DoError, match=r"r\(4\)"):
        run.more("use d")
    run.more("use d, clear")
    assert run["a"] == [1, 2, "."]


def test_temporary_files_never_reach_the_disk(tmp_path):
    run = Run(
        "tempfile f\nsave `f'\ndrop in 1\nmerge 1:1 id using `f', noreport", PERSONS, tmp_path
    )
    assert run["_merge"] == [3, 3, 3, 2]
    assert list(tmp_path.iterdir()) == []
    assert "review" not in run.verdicts


@pytest.mark.parametrize("name", ["../out", "/etc/passwd", "~/x", "a/../../b", "http://x.y/z"])
@pytest.mark.parametrize("command", ["use", "save", "cd", "import delimited", "append using"])
def test_files_outside_the_folder_are_not_touched(tmp_path, command, name):
    with pytest.raises(DoError, match=r"r\(603\)"):
        Run(f'{command} "{name}"', PERSONS if command in ("save", "append using") else None,
            tmp_path)  # fmt: skip


def test_given_data_are_found_by_name_and_never_overwritten(tmp_path):
    inside, given = tmp_path / "do", tmp_path / "given.csv"
    inside.mkdir()
    given.write_text("a;b\n1;x\n2;\n")
    run = Run("use given.csv", folder=inside, sources={"given.csv": given})
    assert run["a"] == [1, 2]
    assert run["b"] == ["x", ""]
    with pytest.raises(UnsupportedError):
        run.more("save x.csv")
    with pytest.raises(DoError, match="may not be overwritten"):
        Run("save x, replace", PERSONS, inside, sources={"x.dta": inside / "x.dta"})


def test_delimited_text(tmp_path):
    (tmp_path / "d.csv").write_bytes(
        'Name,Größe,2x,big\n"a, b",1.5,3,0.123456789\nü,.,,2\n'.encode()
    )
    run = Run("import delimited d.csv", folder=tmp_path)
    assert run.names == ["name", "größe", "_2x", "big"]
    assert run["name"] == ["a, b", "ü"]
    assert run["größe"] == [1.5, "."]
    assert [run.kind(name) for name in run.names] == ["str4", "float", "byte", "double"]
    run.more("import delimited using d.csv, clear varnames(nonames) case(preserve) stringcols(3)")
    assert run.names == ["v1", "v2", "v3", "v4"]
    assert run["v1"][0] == "Name"
    (tmp_path / "t.txt").write_bytes("a\tb\n1\tä\n".encode("latin-1"))
    run.more('import delimited t.txt, clear delimiters("\\t") encoding("latin1")')
    assert run["b"] == ["ä"]


def test_typed_in_data():
    run = Run('input id str5 name double x\n1 "a b" .1\n2 long.name .a\nend')
    assert run["id"] == [1, 2]
    assert run["name"] == ["a b", "long."]
    assert run["x"] == [0.1, ".a"]
    assert [run.kind(one) for one in run.names] == ["float", "str5", "double"]
    with pytest.raises(DoError, match="too few or too many"):
        Run("input a b\n1\nend")
    with pytest.raises(DoError, match="no number"):
        Run("input a\nx\nend")


def test_preserve_and_restore():
    run = Run("preserve\ndrop in 1\nrestore", PERSONS)
    assert run["id"] == [3, 1, 2, 5]
    run.more("preserve\ndrop in 1\nrestore, not")
    assert run["id"] == [1, 2, 5]
    run.more("preserve\ndrop in 1\nrestore, preserve\ndrop in 1/2\nrestore")
    assert run["id"] == [1, 2, 5]
    with pytest.raises(DoError, match=r"r\(622\)"):
        run.more("restore")
    with pytest.raises(DoError, match=r"r\(621\)"):
        run.more("preserve\npreserve")


def test_a_program_that_ends_gives_preserved_data_back():
    run = Run("program p\npreserve\nkeep in 1\nend\np", PERSONS)
    assert run["id"] == [3, 1, 2, 5]
    run.more("preserve\ndrop in 1\np\nrestore")
    assert run["id"] == [3, 1, 2, 5]


def test_writing_data_is_refused_and_the_run_goes_on(tmp_path):
    run = Run("export delimited using x.csv\noutsheet using x.txt\ndisplay 1", PERSONS, tmp_path)
    assert run.log[-1] == "1"
    assert run.verdicts == ["fail", "fail"]
    assert list(tmp_path.iterdir()) == []


def test_folders_and_erasing(tmp_path):
    run = Run("mkdir sub\ncd sub\nsave a\npwd\nerase a.dta", PERSONS, tmp_path)
    assert run.log[-1] == "sub"
    assert list((tmp_path / "sub").iterdir()) == []
    (tmp_path / "mine.dta").write_bytes(b"x")
    with pytest.raises(DoError, match="only files that this run has saved"):
        Run("erase mine.dta", folder=tmp_path)
