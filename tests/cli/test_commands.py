"""The program as a user meets it: help, output, exit codes."""

import json
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.errors import MicrodataError, Problem
from discreet.microdata import inherit_record_keys
from discreet.protection.noise import PerturbationTable
from tests.helpers.command import run
from tests.helpers.noise_tables import ptable
from tests.helpers.rows import for_all_rows

COMMANDS = [
    "demo",
    "protect",
    "tabulate",
    "perturb",
    "keys secret",
    "keys add",
    "keys inherit",
    "keys period",
    "ptable check",
    "ptable show",
    "ptable convert",
    "ptable design",
    "ptable compare",
    "params pack",
    "params verify",
    "params show",
    "params keys",
]

PROGRAMME = """
[data]
source = "persons.csv"
[keys]
id = "id"
secret_file = "secret.key"
[perturbation]
table = "ptable.json"
[defaults]
formats = ["csv", "html"]
[tables.T1]
by = ["sex", "age"]
[tables.T2]
by = "age"
"""


def program(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "discreet", *(str(word) for word in words)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A thousand records, a secret, a perturbation table and a programme."""
    numbers = range(1000)
    pl.DataFrame(
        {
            "id": numbers,
            "home": [n // 2 for n in numbers],
            "sex": ["m" if n % 2 else "w" for n in numbers],
            "age": [n % 7 for n in numbers],
        }
    ).write_csv(tmp_path / "persons.csv")
    ptable.write(tmp_path / "ptable.json")
    (tmp_path / "programme.toml").write_text(PROGRAMME)
    assert run("keys", "secret", tmp_path / "secret.key").exit_code == 0
    return tmp_path


@for_all_rows("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = run(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"discreet {command}" in " ".join(result.output.split())
    assert "Example:" in result.output


@for_all_rows("words", [[], ["keys"], ["ptable"], ["protect"], ["perturb"]])
def test_no_words_show_help(words: list[str]) -> None:
    result = run(*words)
    assert "Usage:" in result.output


def test_the_version() -> None:
    from discreet import __version__

    assert run("--version").output.strip() == f"discreet {__version__}"
    assert program("--version").stdout.strip() == f"discreet {__version__}"


def test_a_programme_from_the_command_line(folder: Path) -> None:
    result = run("protect", folder / "programme.toml", "--out", folder / "out", "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert [table["name"] for table in summary["tables"]] == ["T1", "T2"]
    assert all(table["fresh"] for table in summary["tables"])
    assert (folder / "out" / "T1.csv").exists()
    again = run("protect", folder / "programme.toml", "--out", folder / "out")
    assert "0 new, 2 unchanged" in again.stdout
    anew = run("protect", folder / "programme.toml", "--out", folder / "out", "--no-resume")
    assert "2 new, 0 unchanged" in anew.stdout


@pytest.mark.exhaustive
def test_a_thousand_records_take_less_than_four_seconds(folder: Path) -> None:
    """Measured as processor time, which other work on the machine does not lengthen."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times = []
    for number in range(2):  # the first run compiles the modules
        words = ["protect", str(folder / "programme.toml"), "--out", str(folder / f"out{number}")]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "discreet", *words], check=True, env=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    assert times[-1] < 4


def test_checking_writes_nothing(folder: Path) -> None:
    before = sorted(folder.iterdir())
    result = run("protect", folder / "programme.toml", "--check", "--json")
    assert json.loads(result.stdout)["tables"] == ["T1", "T2"]
    assert sorted(folder.iterdir()) == before


def test_an_internal_error_shows_its_place_but_not_its_text(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        confidential = "record 4711"
        raise ValueError(confidential)

    monkeypatch.setattr("discreet.release.protect", fail)
    result = run("protect", folder / "programme.toml", "--out", folder / "out", "--json")
    assert result.exit_code == 1
    assert "internal error, please report: ValueError" in result.stdout
    assert "test_commands.py" in result.stdout
    assert "4711" not in result.output
    assert json.loads(result.stdout)["error"]["code"] == "internal"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (MemoryError(), 1, "MemoryError"),
        (MicrodataError("w", code="c", problems=[Problem("a"), Problem("b")]), 2, "2. b"),
    ],
)
def test_exit_codes(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, text: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("discreet.release.protect", fail)
    result = run("protect", folder / "programme.toml", "--out", folder / "out")
    assert result.exit_code == code
    assert text in result.stderr


def test_keys_tabulate_perturb_one_after_another(folder: Path) -> None:
    """The steps by hand give the table of the programme."""
    steps = [
        ["keys", "add", folder / "persons.csv", "--id", "id", "--out", folder / "keyed.parquet",
         "--secret-file", folder / "secret.key"],
        ["tabulate", folder / "keyed.parquet", "--by", "sex,age", "--record-key", "record_key",
         "--out", folder / "cells.csv", "--confidential"],
        ["perturb", folder / "cells.csv", "--by", "sex", "--by", "age", "--count", "count",
         "--cell-key", "cell_key", "--ptable", folder / "ptable.json", "--out", folder / "T1.csv"],
        ["protect", folder / "programme.toml", "--out", folder / "out"],
    ]  # fmt: skip
    for step in steps:
        result = run(*step)
        assert result.exit_code == 0, result.output
    for secret in ("keyed.parquet", "cells.csv", "secret.key"):
        assert stat.S_IMODE((folder / secret).stat().st_mode) == 0o600
    assert (folder / "T1.csv").read_bytes() == (folder / "out" / "T1.csv").read_bytes()


@pytest.fixture
def weighted(folder: Path) -> list[str | Path]:
    """Words that protect four cells with weights; the noise makes one of them zero."""
    pl.DataFrame(
        {
            "sex": ["Total", "m", "w", "x"],
            "n": [10, 6, 3, 1],
            "w": [14.3, 8.1, 5.1, 1.1],
            "key": [0.5, 0.5, 0.5, 0.1],
        }
    ).write_csv(folder / "cells.csv")
    return ["perturb", folder / "cells.csv", "--by", "sex", "--count", "n", "--cell-key", "key",
            "--ptable", folder / "ptable.json", "--weight", "w", "--complete"]  # fmt: skip


def figures(path: Path) -> dict[str, str]:
    frame = pl.read_csv(path, infer_schema=False)
    return dict(frame.select("sex", "value").iter_rows())


def test_weighted_figures_are_whole_unless_digits_are_asked_for(
    folder: Path, weighted: list[str | Path]
) -> None:
    assert run(*weighted, "--out", folder / "a.csv").exit_code == 0
    assert {float(value) for value in figures(folder / "a.csv").values()} == {14, 8, 5, 0}
    told = run(*weighted, "--out", folder / "b.csv", "--decimals", "1")
    assert told.exit_code == 0
    assert told.stderr.count("warning: decimals of the weighted values of 'b'") == 1
    assert float(figures(folder / "b.csv")["Total"]) == 14.3
    assert run(*weighted, "--out", folder / "t.csv", "--round-to", "10").exit_code == 0
    assert {float(value) for value in figures(folder / "t.csv").values()} == {10, 0}
    for wrong in ("-1", "16", "x"):
        assert run(*weighted, "--out", folder / "c.csv", "--decimals", wrong).exit_code == 2
    assert not (folder / "c.csv").exists()


def test_codes_without_a_figure_can_be_hidden(folder: Path, weighted: list[str | Path]) -> None:
    assert run(*weighted, "--out", folder / "a.csv").exit_code == 0
    assert list(figures(folder / "a.csv")) == ["Total", "m", "w", "x"]
    assert run(*weighted, "--out", folder / "b.csv", "--found-codes", "hide").exit_code == 0
    assert list(figures(folder / "b.csv")) == ["Total", "m", "w"]
    assert run(*weighted, "--out", folder / "c.csv", "--found-codes", "some").exit_code == 2


def test_official_names_a_variable_that_the_cells_lack_only_with_its_total(
    folder: Path, weighted: list[str | Path]
) -> None:
    out = folder / "a.csv"
    words = [*weighted, "--official", "sex == 'Total' and age == 'ALL'", "--out", out]
    refused = run(*words)
    assert refused.exit_code == 2
    assert "variable 'age' not found in the table" in refused.output
    assert not out.exists()
    for wrong in (["age"], ["age="], ["=ALL"], ["age=ALL", "--total", "age=Total"]):
        assert run(*words, "--total", *wrong).exit_code == 2
    assert not out.exists()
    assert run(*words, "--total", "age=ALL", "--total", "region=DE").exit_code == 0
    shown = pl.read_csv(out, infer_schema=False)
    assert shown.filter(status="official")["sex"].to_list() == ["Total"]


def test_units_inherit_their_keys(folder: Path) -> None:
    run("keys", "add", folder / "persons.csv", "--id", "id", "--out", folder / "keyed.parquet",
        "--secret-file", folder / "secret.key")  # fmt: skip
    homes = folder / "homes.parquet"
    result = run("keys", "inherit", folder / "keyed.parquet", "--by", "home", "--out", homes)
    assert result.exit_code == 0, result.output
    assert pl.read_parquet(homes).height == 500
    assert "--unit gives independent noise" in " ".join(result.output.split())
    own = folder / "own.parquet"
    words = ("keys", "inherit", folder / "keyed.parquet", "--by", "home", "--out", own)
    result = run(*words, "--unit", "household")
    assert result.exit_code == 0, result.output
    assert "noise" not in result.output
    units = inherit_record_keys(
        pl.read_parquet(folder / "keyed.parquet"), by="home", unit="household"
    )
    assert pl.read_parquet(own).sort("home").equals(units)
    result = run(*words, "--inheritance", "plain")
    assert result.exit_code == 0, result.output
    assert "noise" not in result.output
    plain = pl.read_parquet(own).sort("home")
    assert plain.columns == ["home", "record_key"]
    assert plain["record_key"].to_list() == units["record_key_sum"].to_list()
    assert run(*words, "--inheritance", "plain", "--unit", "home").exit_code == 2


def test_a_secret_is_never_replaced(folder: Path) -> None:
    before = (folder / "secret.key").read_bytes()
    result = run("keys", "secret", folder / "secret.key")
    assert result.exit_code == 2
    assert (folder / "secret.key").read_bytes() == before


def test_perturbation_tables(folder: Path) -> None:
    checked = run("ptable", "check", folder / "ptable.json", "--json")
    assert json.loads(checked.stdout) == {
        "file": str(folder / "ptable.json"), "valid": True, "n_max": 2, "key_grid": "any",
    }  # fmt: skip
    shown = json.loads(run("ptable", "show", folder / "ptable.json", "--json").stdout)
    assert [row["variance"] for row in shown["rows"]] == [0, 0.5, 0.5]
    converted = run("ptable", "convert", folder / "ptable.json", folder / "ptable.csv")
    assert converted.exit_code == 0, converted.output
    assert stat.S_IMODE((folder / "ptable.csv").stat().st_mode) == 0o600
    assert PerturbationTable.read(folder / "ptable.csv") == PerturbationTable.read(
        folder / "ptable.json"
    )
    (folder / "bad.csv").write_text("count,-1,0,1\n0,0,1,1\n1,0.2,0.6,0.9\n")
    assert run("ptable", "check", folder / "bad.csv").exit_code == 2


def test_a_perturbation_table_to_argus_and_back(folder: Path) -> None:
    """τ-ARGUS closes intervals on the right; every key, bounds included, keeps its noise."""
    there = run("ptable", "convert", folder / "ptable.json", folder / "ptable.txt", "--json")
    assert json.loads(there.stdout)["closed_changed_to"] == "right"
    back = run("ptable", "convert", folder / "ptable.txt", folder / "back.csv")
    assert "closed on the left: bounds moved by 10^-15" in " ".join(back.stdout.split())
    first = PerturbationTable.read(folder / "ptable.json")
    argus = PerturbationTable.read(folder / "ptable.txt")
    assert PerturbationTable.read(folder / "back.csv") == first
    bounds = [int(share * 10**15) for share in (0, 0.25, 0.75, 1)]
    keys = [key + step for key in bounds for step in (-1, 0, 1) if 0 <= key + step < 10**15]
    for count in (0, 1, 2, 3):
        noise = first.lookup([count] * len(keys), keys).tolist()
        assert argus.lookup([count] * len(keys), keys).tolist() == noise
        assert noise == [0] * len(keys) if count == 0 else len(set(noise)) == 3
    straight = run("ptable", "convert", folder / "ptable.txt", folder / "same.json", "--json")
    assert json.loads(straight.stdout)["closed_changed_to"] is None
    assert PerturbationTable.read(folder / "same.json") == argus


def test_keys_of_units_without_parts_are_made(folder: Path) -> None:
    keyed, homes, out = (folder / f"{name}.parquet" for name in ("keyed", "homes", "units"))
    run("keys", "add", folder / "persons.csv", "--id", "id", "--out", keyed,
        "--secret-file", folder / "secret.key")  # fmt: skip
    pl.DataFrame({"home": range(510), "rooms": [n % 5 for n in range(510)]}).write_parquet(homes)
    words = ["keys", "inherit", keyed, "--by", "home", "--onto", homes, "--out", out]
    assert run(*words).exit_code == 2
    assert not out.exists()
    result = run(*words, "--secret-file", folder / "secret.key")
    assert result.exit_code == 0, result.output
    units = pl.read_parquet(out)
    assert units.columns == ["home", "rooms", "record_key"]
    assert units["home"].to_list() == list(range(510))
    assert units["record_key"].n_unique() == 510
    run("keys", "inherit", keyed, "--by", "home", "--out", folder / "plain.parquet")
    plain = pl.read_parquet(folder / "plain.parquet").sort("home")
    assert units.head(500).select("home", "record_key").equals(plain.select("home", "record_key"))


def test_a_release_loads_nothing_that_it_does_not_need(folder: Path) -> None:
    text = PROGRAMME.replace('["csv", "html"]', '["csv", "xlsx", "html", "parquet"]')
    (folder / "programme.toml").write_text(text)
    code = (
        "import sys\n"
        "from discreet.cli import main\n"
        f"words = ['protect', {str(folder / 'programme.toml')!r}, '--out', {str(folder / 'o')!r}]\n"
        "try:\n    main(words)\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'pandas', 'rich', 'duckdb', 'numba', 'urllib.request'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_help_needs_no_engine() -> None:
    code = (
        "import sys\n"
        "from discreet.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'polars', 'numpy', 'duckdb', 'numba', 'pyarrow', 'pandas'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_hints_of_commands_name_options_and_commands(tmp_path) -> None:
    file = tmp_path / "persons.parquet"
    pl.DataFrame({"sex": ["m", "w"] * 500, "record_key": range(1000)}).write_parquet(file)
    words = ["tabulate", file, "--by", "sex", "--record-key", "record_key", "--out", "c.csv"]
    told = run(*words, "--confidential")
    assert told.exit_code == 2
    assert "create keys with discreet keys add from an identifier" in told.output
    draw = np.random.default_rng(1).integers(0, 2**32, 1000)
    pl.DataFrame({"sex": ["m", "w"] * 500, "record_key": draw}).write_parquet(file)
    assert "2^32: state it with --key-grid …" in run(*words, "--confidential").output
    as_json = json.loads(run(*words, "--confidential", "--json").output)["error"]
    assert "--key-grid" in as_json["hint"]
    assert "--key-grid" in as_json["problems"][0]["hint"]
