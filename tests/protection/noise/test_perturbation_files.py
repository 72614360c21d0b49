"""Files of perturbation tables: every published one reads, and what is written reads back."""

import json
import re
import stat
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet import MagnitudePerturbationTable, PerturbationTable
from discreet.errors import PerturbationError
from discreet.protection.noise.intervals import Beyond
from tests.helpers.noise_tables import ptable
from tests.helpers.rows import for_all_rows

PTABLE_CASES = [f"c{n:02}" for n in (1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19, 25)]
PTABLE_CASES += ["c26", "c27", "c29", "c31", "c32", "c33", "c34"]


def probabilities(reference: Path, case: str) -> np.ndarray:
    """That package's transition matrix, spread over all targets 0, 1, …"""
    lines = (reference / "ptable" / f"{case}_tmatrix.csv").read_text().splitlines()
    cells = [[cell.strip('"') for cell in line.split(",")] for line in lines]
    targets = [int(cell) for cell in cells[0][1:]]
    matrix = np.zeros((len(cells) - 1, max(targets) + 1))
    matrix[:, targets] = [[float(cell) for cell in row[1:]] for row in cells[1:]]
    return matrix


# -- the files of other tools ---------------------------------------------------


@for_all_rows("case", PTABLE_CASES)
def test_interval_files_hold_their_transition_matrix(reference: Path, case: str) -> None:
    ptable = PerturbationTable.read(reference / "ptable" / f"{case}_ptable.csv")
    assert ptable.transition_matrix() == pytest.approx(probabilities(reference, case), abs=2.1e-8)
    assert ptable.key_grid is None


@for_all_rows("case", PTABLE_CASES)
def test_argus_files_are_closed_on_the_right(reference: Path, case: str) -> None:
    """The same bounds as the interval file, so the same noise except on a bound."""
    left = PerturbationTable.read(reference / "ptable" / f"{case}_ptable.csv")
    right = PerturbationTable.read(reference / "ptable" / f"{case}_tauargus.txt")
    assert right.content.closed == "right"
    assert np.array_equal(left.content.upper, right.content.upper)
    assert np.array_equal(left.content.noise, right.content.noise)
    inner = left.content.upper < left.content.scale
    key, count = left.content.upper[inner], left.content.row_of[inner]
    assert np.array_equal(right.lookup(count, key), left.content.noise[inner])
    assert np.array_equal(right.lookup(count, key + 1), left.lookup(count, key))


@pytest.mark.parametrize(
    "name",
    [
        "argus/ckm/Frequency/20160511_szenario_5a.txt",
        "argus/ckm/Frequency/tau_testW_ptable.txt",
        "argus/ckm/Magnitude/ptab_freq.txt",
    ],
)
def test_count_tables_shipped_with_tau_argus_read(reference: Path, name: str) -> None:
    """Headers differ (p_ij_ub, quotes), digits too (10 decimals, 1.00E-07)."""
    ptable = PerturbationTable.read(reference / name)
    assert ptable.content.closed == "right"
    assert ptable.transition_matrix().sum(axis=1) == pytest.approx(1)


def magnitude_files(reference: Path) -> list[Path]:
    found = [*(reference / "ptable").glob("n*_ptable.csv")]
    found += [*(reference / "ptable").glob("n*_tauargus.txt")]
    found += [*(reference / "cellkey").glob("B_ptab_*.csv.gz")]
    found += [*(reference / "argus" / "ckm" / "Magnitude").glob("ptab_savings*.txt")]
    return found


def test_tables_for_magnitudes_are_refused_as_such(reference: Path) -> None:
    files = magnitude_files(reference)
    assert len(files) >= 25
    for path in files:
        with pytest.raises(PerturbationError, match="magnitude") as caught:
            PerturbationTable.read(path)
        # n09 has whole-number noise; there the missing rows (size classes) give it away
        assert caught.value.code == (
            "magnitude-table" if "n09" not in path.name else "perturbation-table"
        )


def test_ons_tables(reference: Path) -> None:
    rule = PerturbationTable.read(reference / "ons" / "ptable_10_5_rule.csv.gz")
    assert rule.key_grid is not None
    assert (rule.n_max, rule.key_grid.size, rule.content.beyond) == (750, 256, (501, 250))
    assert rule.lookup([7, 12, 1002], [180, 0, 0], grid=256).tolist() == [-7, -2, -2]
    zero = PerturbationTable.read(reference / "ons" / "ptable_noise_D2_256_zero.csv.gz")
    assert zero.changes_zeros
    assert not rule.changes_zeros


# -- detection ------------------------------------------------------------------

INTERVALS = "i,j,p,v,lb,ub,type\n0,0,1,0,0,1,all\n1,0,0.25,-1,0,0.25,all\n1,2,0.75,1,0.25,1,all\n"
VARIANTS = {
    "quoted": INTERVALS.replace(",", '","').replace("\n", '"\n"')[:-1].join(('"', "")),
    "semicolons": INTERVALS.replace(",", ";"),
    "dos": INTERVALS.replace("\n", "\r\n"),
    "byte order mark": "\ufeff" + INTERVALS,
    "other names": INTERVALS.replace("lb,ub", "p_int_lb,p_int_ub"),
    "blanks": INTERVALS.replace(",", " , "),
    "blank lines": INTERVALS + "\n\n",
    "no last line end": INTERVALS.rstrip(),
    "argus": "i;j;p;v;p_int_ub\n 0; 0;1.0; 0;1\n 1; 0;0.25;-1;0.25\n1; 2;0.75; 1;1\n",
    "cumulative": "count,-1,0,1\n0,0,1,1\n1,0.25,0.25,1\n",
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_format_is_found_by_content(tmp_path: Path, variant: str) -> None:
    path = tmp_path / "table.dat"
    path.write_bytes(VARIANTS[variant].encode())
    ptable = PerturbationTable.read(path)
    assert ptable.lookup([0, 1, 1, 5], [9, 249, 251, 999], grid=1000).tolist() == [0, -1, 1, 1]


def test_bounds_are_exact_decimals(tmp_path: Path) -> None:
    """0.1 + 0.2 is 0.3, and the key 0.3 lies above the bound 0.3."""
    path = tmp_path / "table.csv"
    path.write_text("count,-1,0,1\n0,0,1,1\n1,0.1,0.3,1\n")
    ptable = PerturbationTable.read(path)
    tenth = 10**14
    assert ptable.lookup([1, 1, 1], [tenth, 3 * tenth - 1, 3 * tenth]).tolist() == [0, 0, 1]


# -- writing and reading back ------------------------------------------------------


@st.composite
def tables(draw: st.DrawFn) -> PerturbationTable:
    """Any valid table on the 10^15 grid."""
    units = 10**6
    rows: dict[int, dict[int, Fraction]] = {0: {0: Fraction(1)}}
    for count in range(1, draw(st.integers(1, 5)) + 1):
        noise = draw(st.sets(st.integers(-count, 5), min_size=1, max_size=5))
        cuts = draw(
            st.sets(st.integers(1, units - 1), min_size=len(noise) - 1, max_size=len(noise) - 1)
        )
        bounds = [0, *sorted(cuts), units]
        shares = [Fraction(b - a, units) for a, b in pairwise(bounds)]
        rows[count] = dict(zip(sorted(noise), shares, strict=True))
    return PerturbationTable.from_rows(rows, name="drawn")


@given(ptable=tables(), kind=st.sampled_from(["intervals", "argus", "cumulative", "json"]))
def test_reading_back_gives_the_same_table(
    tmp_path_factory: pytest.TempPathFactory, ptable: PerturbationTable, kind: str
) -> None:
    path = tmp_path_factory.mktemp("ptable") / "table.txt"
    if kind == "argus":
        ptable = ptable.with_closed("right")
    ptable.write(path, kind)
    assert PerturbationTable.read(path) == ptable
    assert PerturbationTable.read(path, kind) == ptable


@given(ptable=tables(), data=st.data())
def test_closing_on_the_other_side_keeps_every_noise(
    ptable: PerturbationTable, data: st.DataObject
) -> None:
    other = ptable.with_closed("right")
    near = [int(bound) + step for bound in ptable.content.upper for step in (-1, 0, 1)]
    keys = [key for key in near if 0 <= key < 10**15]
    counts = data.draw(st.lists(st.integers(0, 9), min_size=len(keys), max_size=len(keys)))
    assert ptable.lookup(counts, keys).tolist() == other.lookup(counts, keys).tolist()
    assert other.with_closed("left") == ptable


def test_a_table_of_256_keys_is_written_and_read_back(reference: Path, tmp_path: Path) -> None:
    for name in ("ptable_10_5_rule", "ptable_noise_D2_256_zero"):
        ptable = PerturbationTable.read(reference / "ons" / f"{name}.csv.gz")
        assert PerturbationTable.read(ptable.write(tmp_path / "table.csv")) == ptable
    small = PerturbationTable.read(reference / "ons" / "ptable_10_5_rule.csv.gz")
    assert PerturbationTable.read(small.write(tmp_path / "table.json")) == small


def test_modified_tables_are_written_and_read_back(reference: Path, tmp_path: Path) -> None:
    ptable = PerturbationTable.read(reference / "ptable" / "m06_modified_ptable.csv")
    assert PerturbationTable.read(ptable.write(tmp_path / "table.csv")) == ptable
    with pytest.raises(PerturbationError, match="ascending"):
        ptable.write(tmp_path / "matrix.csv", "cumulative")
    assert not (tmp_path / "matrix.csv").exists()


@pytest.mark.parametrize("beyond", ["last", (2, 2)])
def test_json_keeps_everything(tmp_path: Path, beyond: Beyond) -> None:
    rows = {0: {0: "0.5", 1: "0.5"}, 1: {0: 1}, 2: {-1: "0.1", 0: "0.9"}, 3: {0: 1}}
    ptable = PerturbationTable.from_rows(rows, name="own", zeros=True, beyond=beyond)
    again = PerturbationTable.read(ptable.write(tmp_path / "table.json"))
    assert again == ptable
    assert again.name == "own"
    assert again.changes_zeros


@pytest.mark.parametrize("name", ["table.json", "table.csv", "table.txt"])
def test_files_are_readable_by_their_owner_only(tmp_path: Path, name: str) -> None:
    closed = ptable.with_closed("right") if name.endswith("txt") else ptable
    path = closed.write(tmp_path / name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


# -- bad files --------------------------------------------------------------------


def problems_of(tmp_path: Path, text: str, **options: str) -> list[str]:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(PerturbationError) as caught:
        PerturbationTable.read(path, **options)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


HEAD = "i,j,p,v,lb,ub,type\n0,0,1,0,0,1,all\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("1,0,0.5,-1,0,0.5,all\n1,2,0.4,1,0.5,0.9,all", "row 1 do not sum to one"),
        ("1,0,0.5,-1,0,0.5,all\n1,2,0.4,1,0.6,1,all", "line 4: a gap precedes"),
        ("1,0,0.5,-1,0,0.5,all\n1,2,0.6,1,0.4,1,all", "line 4: the interval overlaps another"),
        ("1,2,0.5,1,0.5,1,all\n1,0,0.5,-1,0,0.5,all", "line 3: a gap precedes"),
        ("1,-1,1,-2,0,1,all", "line 3: the noise can make the count negative"),
        ("1,0,0.7,-1,0,0.5,all\n1,2,0.5,1,0.5,1,all", "line 3: probability and bounds"),
        ("1,0,0.5,-1,0,nan,all\n1,2,0.5,1,0.5,1,all", "line 3: column 'upper' lacks numbers"),
        ("1,0,0.5,-1,0,x,all\n1,2,0.5,1,0.5,1,all", "line 3: column 'upper' lacks numbers"),
        ("1,1,0.5,-1,0,0.5,all\n1,2,0.5,1,0.5,1,all", "line 3: count plus noise differs"),
        ("1,1,1,0,0,1,all\n1,1,1,0,0,1,all", "line 4: the interval is listed twice"),
        ("2,2,1,0,0,1,all", "1 row is missing: 1"),
        ("1,1,1,0,0", "line 3: the line has another number of columns"),
    ],
)
def test_what_is_wrong_and_where(tmp_path: Path, lines: str, expected: str) -> None:
    assert any(expected in problem for problem in problems_of(tmp_path, HEAD + lines + "\n"))


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    lines = ["1,-1,0.5,-2,0,0.5,all", "1,2,0.4,1,0.5,0.9,all", "3,3,1,0,0,1,all"]
    found = problems_of(tmp_path, HEAD + "\n".join(lines))
    assert len(found) == 3


def test_row_0_must_keep_zeros_unless_declared(tmp_path: Path) -> None:
    text = "i,v,lb,ub\n0,0,0,0.5\n0,1,0.5,1\n1,0,0,1\n"
    assert "row 0 changes zeros" in problems_of(tmp_path, text)[0]
    assert PerturbationTable.read(tmp_path / "table.csv", zeros=True).changes_zeros


def test_errors_never_quote_the_table(tmp_path: Path) -> None:
    lines = "1,0,0.731846,-1,0,0.731846,all\n1,2,0.1618,1,0.777777,0.9424242,all\n"
    text = "\n".join(problems_of(tmp_path, HEAD + lines))
    for secret in ("0.73", "0.77", "0.94", "0.16", "-1"):
        assert secret not in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "empty"),
        ("a,b,c\n1,2,3\n", "unknown format of the perturbation table"),
        ("i,v\n0,0\n", "unknown format of the perturbation table"),
        ("{}", "contains no perturbation table"),
        ('{"format": "discreet perturbation table"', "not valid JSON"),
        ('{"format": "discreet perturbation table", "format_version": 99}', "another version"),
        ("count,-1,0\n0,0,1\n1,0.5,0.4\n", "upper bound falls"),
        ("pcv,ckey,pvalue\n1,0,0\n", "keys must be 0 to 255 or 0 to 4095"),
        ("pcv,ckey,pvalue\n1,0,x\n", "lines lack a number"),
        ("pcv,ckey,pvalue\n1,0,0.5\n", "for magnitudes"),
        ("i;v;ub\n", "no rows"),
    ],
)
def test_files_that_are_something_else(tmp_path: Path, text: str, expected: str) -> None:
    assert any(expected in problem for problem in problems_of(tmp_path, text))


def test_binary_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\x80\x81\xff\n")
    (tmp_path / "b.csv.gz").write_bytes(b"\x1f\x8b\x00broken")
    (tmp_path / "d.csv").write_text("i,v,ub\n0,0," + "1" * 200_000)
    for name in ("a.csv", "b.csv.gz", "c.csv", "d.csv"):
        with pytest.raises(PerturbationError) as caught:
            PerturbationTable.read(tmp_path / name)
        assert caught.value.code == "perturbation-file"


def ons_text(rows: dict[int, list[int]]) -> str:
    lines = [f"{row},{key},{v}" for row, noise in rows.items() for key, v in enumerate(noise)]
    return "\n".join(["pcv,ckey,pvalue", *lines, ""])


def test_ons_tables_must_be_complete(tmp_path: Path) -> None:
    good = {1: [-1, 1] * 128, 2: [0] * 256}
    path = tmp_path / "good.csv"
    path.write_text(ons_text(good))
    ptable = PerturbationTable.read(path)
    assert ptable.content.beyond == "last"
    assert ptable.lookup([0, 1, 1, 2, 900], [3, 0, 1, 7, 9], grid=256).tolist() == [0, -1, 1, 0, 0]
    assert PerturbationTable.read(ptable.write(tmp_path / "again.csv")) == ptable
    assert "row 2: keys are missing" in problems_of(tmp_path, ons_text({1: [0] * 256, 2: [0]}))[0]
    assert "1 row is missing: 2" in problems_of(tmp_path, ons_text({1: good[1], 3: good[2]}))[0]
    assert any("negative" in p for p in problems_of(tmp_path, ons_text({1: [-2] * 256})))
    assert any("twice" in p for p in problems_of(tmp_path, ons_text(good) + "1,0,0\n"))
    assert any("750" in p for p in problems_of(tmp_path, ons_text({751: [0] * 256})))


def test_what_a_format_cannot_hold_is_refused(tmp_path: Path, reference: Path) -> None:
    ons = PerturbationTable.read(reference / "ons" / "ptable_10_5_rule.csv.gz")
    for table, kind in ((ptable, "ons"), (ptable, "argus"), (ons, "intervals"), (ons, "argus")):
        with pytest.raises(PerturbationError) as caught:
            table.write(tmp_path / "table", kind)
        assert caught.value.code == "perturbation-format"
    with pytest.raises(PerturbationError, match="unknown format"):
        ptable.write(tmp_path / "table", "excel")
    with pytest.raises(PerturbationError, match="suffix"):
        ptable.write(tmp_path / "table.xlsx")
    assert not list(tmp_path.iterdir())


def test_json_fields_are_checked(tmp_path: Path) -> None:
    path = ptable.write(tmp_path / "table.json")
    sound = json.loads(path.read_text())
    for field, value in {
        "scale": 0,
        "closed": "both",
        "beyond": {"start": "x"},
        "zeros": None,
        "rows": [{"upper": [1.5], "noise": [0]}],
    }.items():
        found = problems_of(tmp_path, json.dumps({**sound, field: value}))
        assert any(field in problem for problem in found)


# -- YAML of cellKey -----------------------------------------------------------

#: As written by R: write_yaml(list(params = list(ptable = …), …), precision = 9).
YAML = """\
params:
  ptable:
    i: [0, 1, 1, 2, 2]
    j: [0, 0, 2, 1, 2]
    p: [1.0, 0.689816481, 0.310183519, 1.0e-05, 9.9999e-01]
    v: [0, -1, 1, -1, 0]
    lb: [0.0, 0.0, 0.689816481, 0.0, 1.0e-05]
    ub: [1.0, 0.689816481, 1.0, 1.0e-05, 1.0e+00]
    type: [all, all, all, all, all]
type: cnts
version: 1.0.3
ptype: params_cnts
"""


def as_r_writes_it(short: str) -> str:
    """Each value on a line of its own."""
    lines = []
    for line in short.splitlines():
        name, bracket, values = line.partition(" [")
        lines.append(name)
        lines += [f"    - {each}" for each in values.rstrip("]").split(", ") if bracket]
    return "\n".join([*lines, ""])


def test_yaml_of_cellkey_is_read_as_r_does(tmp_path: Path) -> None:
    (tmp_path / "cnts.yaml").write_text(as_r_writes_it(YAML))
    table = PerturbationTable.read(tmp_path / "cnts.yaml")
    assert [(list(upper), list(noise)) for _, upper, noise in table.content.rows()] == [
        ([10**15], [0]),
        ([689_816_481 * 10**6, 10**15], [-1, 1]),
        ([10**10, 10**15], [-1, 0]),
    ]
    nums = as_r_writes_it(YAML).replace("ptable:", "ptab:").replace("  - all", "  - even")
    (tmp_path / "nums.yaml").write_text(nums.replace("ptype: params_cnts", "ptype: params_nums"))
    assert MagnitudePerturbationTable.read(tmp_path / "nums.yaml").kinds == ("even",)
    with pytest.raises(PerturbationError, match="for magnitudes"):
        PerturbationTable.read(tmp_path / "nums.yaml")


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "    v:\n    - 0\n",
            "    v:\n",
            "params lacks a table of different columns of equal length",
        ),
        ("  ptable:\n", "  other:\n", "lacks a table"),
        ("    - 0.689816481\n", "    - {a: 0.6}\n", "line 17: not a file of cellKey"),
        ("    i:\n", "    - 0\n    i:\n", "line 3"),
        ("    lb:\n", "    ub:\n", "params lacks a table of different columns of equal length"),
    ],
)
def test_other_yaml_is_refused(before: str, after: str, message: str, tmp_path: Path) -> None:
    text = as_r_writes_it(YAML)
    assert before in text
    (tmp_path / "cnts.yaml").write_text(text.replace(before, after, 1))
    with pytest.raises(PerturbationError) as refused:
        PerturbationTable.read(tmp_path / "cnts.yaml")
    assert re.search(message, str(refused.value))
    assert "0.6" not in str(refused.value)
