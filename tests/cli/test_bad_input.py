"""Wrong input at the command line: exit code 2, a message that helps, and nothing written."""

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.helpers.command import everything, run
from tests.helpers.noise_tables import ptable
from tests.helpers.programmes import replaced

PROGRAMME = """\
[data]
source = "persons.parquet"
[keys]
column = "record_key"
[perturbation]
table = "ptable.csv"
[variables.region]
prefixes = [1, 2]
[defaults]
formats = ["csv", "parquet", "html"]
[tables.T1]
by = ["region", "sex"]
[tables.T2]
by = ["age"]
where = "age >= 18"
"""

Spoil = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Records with keys, a perturbation table and a programme."""
    numbers = range(300)
    pl.DataFrame(
        {
            "region": [("11", "12", "21")[n % 3] for n in numbers],
            "sex": ["m" if n % 2 else "w" for n in numbers],
            "age": [n % 90 for n in numbers],
            "record_key": np.random.default_rng(3).integers(0, 10**15, 300),
        }
    ).write_parquet(tmp_path / "persons.parquet")
    ptable.write(tmp_path / "ptable.csv")
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    return tmp_path


def records(expression: pl.Expr) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "persons.parquet"
        pl.read_parquet(path).with_columns(expression).write_parquet(path)

    return spoil


def without(column: str) -> Spoil:
    def spoil(folder: Path) -> None:
        path = folder / "persons.parquet"
        pl.read_parquet(path).drop(column).write_parquet(path)

    return spoil


def text(file: str, *changes: tuple[str, str]) -> Spoil:
    def spoil(folder: Path) -> None:
        written = (folder / file).read_text()
        (folder / file).write_text(replaced(written, *changes, times=1))

    return spoil


def overwritten(file: str, data: bytes) -> Spoil:
    def spoil(folder: Path) -> None:
        (folder / file).write_bytes(data)

    return spoil


FIVE = text(
    "programme.toml",
    ("persons.parquet", "person.parquet"),
    ("prefixes = [1, 2]", "prefixes = [2, 1]"),
    ('"parquet", "html"', '"parquet", "htm"'),
    ('["region", "sex"]', '["region", "sex", "region"]'),
    ('where = "age >= 18"', 'were = "age >= 18"'),
)

BAD = {
    "missing column": (without("sex"), ["tables.T1.by[1]", "'sex'"]),
    "some keys off the grid": (
        records(pl.when(pl.col("age") == 5).then(-1).otherwise("record_key").alias("record_key")),
        ["4 of 300 records", "off the grid"],
    ),
    "five mistakes": (
        FIVE,
        ["5 problems", "1. line 2", "2. line 8", "3. line 10", "4. line 12", "5. line 15"],
    ),
    "a Parquet file cut off": (
        overwritten("persons.parquet", b"PAR1" + bytes(500)),
        ["data.source", "truncated"],
    ),
    "TOML with a mistake": (
        text("programme.toml", ("[data]", "[data")),
        ["line 1", "not valid TOML"],
    ),
}


@pytest.mark.parametrize(("spoil", "said"), BAD.values(), ids=BAD)
def test_wrong_input_is_refused_and_nothing_is_written(
    folder: Path, spoil: Spoil, said: list[str]
) -> None:
    spoil(folder)
    before = everything(folder)
    result = run("protect", folder / "programme.toml", "--out", folder / "new" / "out", "--json")
    assert result.exit_code == 2, result.output
    assert everything(folder) == before
    error = json.loads(result.stdout)["error"]
    assert error["problems"]
    for part in said:
        assert re.sub(r"^\d[.] ", "", part) in json.dumps(error, ensure_ascii=False)
    assert not result.stderr  # once is enough
    assert "Traceback" not in result.output


DEEP = {
    "open arrays": "a = " + "[" * 1200,
    "arrays": "a = " + "[" * 1200 + "]" * 1200,
    "tables": "a = " + "{b = " * 1200 + "1" + "}" * 1200,
    "dots": "a" + ".a" * 1200 + " = 1",
    "headers": "[" + "a." * 1200 + "a]",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize("form", ["alone", pytest.param("appended", marks=pytest.mark.exhaustive)])
def test_thousands_of_brackets_are_wrong_input(folder: Path, text: str, form: str) -> None:
    path = folder / "programme.toml"
    path.write_text(text + "\n" if form == "alone" else f"{text}\n{PROGRAMME}")
    for words in (["protect", path, "--out", folder / "out"], ["protect", path, "--check"]):
        result = run(*words)
        assert result.exit_code == 2, result.output
        assert "Traceback" not in result.output
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["protect"],
        ["protect", "x.toml"],
        ["protect", "x.toml", "--outt", "y"],
        ["protekt"],
        ["keys", "ad"],
        ["demo", "--persons", "many"],
        ["perturb", "x.csv", "--by", "a", "--count", "c", "--cell-key", "k", "--ptable", __file__,
         "--out", "t.csv", "--classification", "a"],
    ],
)  # fmt: skip
def test_wrong_words_give_an_error_object_too(words: list[str], tmp_path: Path) -> None:
    result = run(*words, "--json", prog_name="discreet")
    assert result.exit_code == 2
    error = json.loads(result.stdout)["error"]
    assert set(error) == {"code", "what", "where", "hint", "problems"}
    assert error["code"] == "usage"
    assert error["what"]
    assert error["where"].split()[0] == "discreet"
    assert error["hint"].endswith("--help")
    plain = run(*words, "--js")
    assert plain.exit_code == 2
    assert plain.stdout == ""


def test_a_perturbation_table_open_to_others_is_a_warning(folder: Path) -> None:
    (folder / "ptable.csv").chmod(0o644)
    words = ["protect", folder / "programme.toml", "--out", folder / "out", "--json"]
    result = run(*words)
    assert result.exit_code == 0
    (warning,) = [w for w in json.loads(result.stdout)["warnings"] if "chmod" in w]
    assert warning.endswith(f"chmod 600 {folder / 'ptable.csv'}")
    line = f"discreet: warning: {warning}\n"
    assert line in result.stderr
    for command in ("check", "show"):
        assert run("ptable", command, folder / "ptable.csv").stderr == line
    (folder / "ptable.csv").chmod(stat.S_IRUSR | stat.S_IWUSR)
    quiet = run(*words)
    assert not any("chmod" in w for w in json.loads(quiet.stdout)["warnings"])
    assert "chmod" not in quiet.stderr
