"""The safe macros: those of SPSS run in PSPP on made-up data; those of SAS hold what they must.

SPSS and SAS are not on this machine. PSPP reads the same language; where it is not installed, only
the texts are tested.
"""

import csv
import random
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from discreet_fire.catalogue.policy import ScriptPolicy
from discreet_fire.rewriting.spss_programs import rewrite_spss
from tests.conftest import without

PSPP = shutil.which("pspp")
pspp = pytest.mark.usefixtures("program")
HEAD = "DATA LIST LIST /id (F8) a (A1) b (F8) y (F8) d (F8).\nBEGIN DATA\n"


@pytest.fixture
def program() -> None:
    """PSPP; CI installs it, and fails without."""
    if PSPP is None:
        without("PSPP is not there")


def run(program: str, rows: list[tuple[object, ...]], folder: Path) -> dict[str, list[list[str]]]:
    """What PSPP shows after rewriting, by titles of tables."""
    assert PSPP is not None
    data = HEAD + "".join(" ".join(map(str, row)) + "\n" for row in rows) + "END DATA.\n"
    path = folder / "program.sps"
    macros = ScriptPolicy.default("spss").macros
    path.write_text(f"{macros}\n{data}{rewrite_spss(program).text}\n", "utf-8")
    out = folder / "out.csv"
    arguments = [PSPP, "-O", "format=csv", "-o", str(out), str(path)]
    subprocess.run(arguments, check=False, capture_output=True, timeout=300)
    found: dict[str, list[list[str]]] = {}
    title = ""
    for row in csv.reader(out.read_text("utf-8").splitlines()):
        if row and row[0].startswith("Table: "):
            title = row[0].removeprefix("Table: ")
            found[title] = []
        elif row and title:
            found[title].append(row)
        assert not (row and "error:" in row[0]), row
    return found


def made_up(seed: int) -> list[tuple[object, ...]]:
    chance = random.Random(seed)
    size = chance.randint(8, 40)
    letters = chance.choices("vwxyz", weights=[1, 2, 4, 8, 16], k=size)
    return [
        (n, letter, chance.randint(1, 2), chance.randint(10, 99), chance.randint(0, 1))
        for n, letter in enumerate(letters, 1)
    ]


def shown(counts: Counter[str], least: int = 3) -> dict[str, int]:
    """The categories that may be shown: what is hidden are several, of enough cases."""
    hidden = sum(n for n in counts.values() if n < least)
    rest = [n for n in counts.values() if n >= least]
    cut = least if hidden == 0 or hidden >= least else min(rest, default=0) + 1
    return {name: n for name, n in counts.items() if n >= max(cut, least)}


@pspp
def test_categories_of_few_cases_are_left_out(tmp_path: Path) -> None:
    withheld = 0
    for seed in range(12):
        rows = made_up(seed)
        told = run("FREQUENCIES a.\n", rows, tmp_path).get("a", [])
        lines = [row[1:] if row[0] in ("Valid", "") else row for row in told[1:]]
        found = {row[0]: int(row[1]) for row in lines if len(row[0]) == 1}
        wanted = shown(Counter(str(row[1]) for row in rows))
        assert found == wanted, seed
        withheld += len(wanted) < len({row[1] for row in rows})
    assert withheld > 4


@pspp
def test_a_table_is_shown_if_all_of_its_cells_are_of_enough_cases(tmp_path: Path) -> None:
    seen = set()
    for seed in range(12):
        rows = [row for row in made_up(seed) if row[1] in "yz"]
        cells = Counter((row[1], row[2]) for row in rows)
        safe = all(n >= 3 for n in cells.values())
        told = run("CROSSTABS a BY b.\n", rows, tmp_path)
        assert any("a × b" in title for title in told) == safe, seed
        seen.add(safe)
    assert seen == {True, False}


@pspp
def test_groups_of_few_cases_have_no_mean(tmp_path: Path) -> None:
    rows = [(n, "x", 1, 10 + n, 0) for n in range(9)] + [(9, "y", 1, 77, 0)]
    rows += [(n, "z", 1, 30, 0) for n in range(10, 16)]
    text = str(run("MEANS y BY a /CELLS=MEAN MAX COUNT.\n", rows, tmp_path))
    assert "'x'" in text
    assert "77" not in text
    assert "'z'" not in text  # the next smallest goes with the single one


@pspp
@pytest.mark.parametrize(
    ("few", "dummies", "safe"), [(9, 4, False), (30, 4, True), (30, 1, False), (11, 4, False)]
)
def test_a_model_needs_cases_and_dummies_of_enough(
    few: int, dummies: int, safe: bool, tmp_path: Path
) -> None:
    rows = [(n, "x", 1, 10 + n * n % 31, int(n < dummies)) for n in range(few)]
    told = run("REGRESSION /VARIABLES=d /DEPENDENT=y /METHOD=ENTER.\n", rows, tmp_path)
    assert any(title.startswith("Coefficients") for title in told) == safe


@pspp
def test_filters_count_and_the_order_of_records_stays(tmp_path: Path) -> None:
    rows = [(n, "xyz"[n % 3], n % 2 + 1, n, 0) for n in range(24)]
    program = "COMPUTE f=(id < 16).\nFILTER BY f.\nFREQUENCIES a.\nFILTER OFF.\n"
    told = run(program + "COMPUTE up=(y >= LAG(y)).\nDESCRIPTIVES up.\n", rows, tmp_path)
    assert [row[-4] for row in told["a"][1:4]] == ["6", "5", "5"]
    mean = next(row for row in told["Descriptive Statistics"] if row[0] == "up")
    assert mean[1:3] == ["23", "1.00"]


@pspp
def test_only_records_of_the_filter_count(tmp_path: Path) -> None:
    rows = [(n, "xyz"[n % 3], n % 2 + 1, n + 1, 0) for n in range(24)]
    program = "COMPUTE f=(id < {}).\nFILTER BY f.\nFREQUENCIES a.\nMEANS y BY a.\n"
    assert not {"a", "Report"} & set(run(program.format(8), rows, tmp_path))  # 3, 3 and 2
    assert {"a", "Report"} <= set(run(program.format(9), rows, tmp_path))


@pspp
def test_a_sum_of_one_value_and_zeros_is_not_shown(tmp_path: Path) -> None:
    rows = [(n, "xy"[n % 2], 1, 40 + n, 0) for n in range(20)]
    told = run(
        "COMPUTE s=y*(id=7).\nDESCRIPTIVES s /STATISTICS=SUM.\nMEANS s BY a.\n", rows, tmp_path
    )
    assert "47" not in str(told)


@pspp
def test_descriptions_show_no_extremes(tmp_path: Path) -> None:
    rows = [(n, "x", 1, n * n, 0) for n in range(9)]
    text = str(run("DESCRIPTIVES y.\n", rows, tmp_path)["Descriptive Statistics"])
    assert "Mean" in text
    assert "Min" not in text
    assert "64" not in text
    few = run("DESCRIPTIVES y.\n", rows[:2], tmp_path)
    assert "Descriptive Statistics" not in few


def test_the_minimum_is_that_of_the_centre(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("[limits]\nminimum = 7\nresidual = 20\n", "utf-8")
    spss, sas = (ScriptPolicy.read(each, own).macros for each in ("spss", "sas"))  # type: ignore[arg-type]
    assert "fire_least >= 7)" in spss
    assert "fire_k + 20)" in spss
    assert "fire_n < 7;" in sas
    assert "{" not in spss + sas


def test_a_failed_check_shows_nothing() -> None:
    """Marks are 0 until a check has passed, and the copy is empty until then."""
    spss = ScriptPolicy.default("spss").macros
    for name in ("table", "groups", "model"):
        body = spss.split(f"DEFINE !fire_{name} ")[1].split("!ENDDEFINE")[0]
        assert body.index("COMPUTE fire_show=0.") < body.index("AGGREGATE")
        assert body.rindex("COMPUTE fire_show=fire_was*") > body.rindex("AGGREGATE")
    sas = ScriptPolicy.default("sas").macros
    assert sas.index("delete _fire_data") < sas.index("stop;") < sas.index("proc sql")
    assert sas.count("%do") == sas.count("%end;")
    assert sas.count("(") == sas.count(")")
