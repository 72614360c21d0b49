"""``discreet ptable design`` and ``discreet ptable compare`` as a user meets them."""

import json
import stat
from pathlib import Path

import pytest
from typer.testing import Result

from discreet import (
    MagnitudePerturbationTable,
    PerturbationTable,
    design_magnitude_perturbation,
)
from discreet.assessment import compare, describe
from discreet.protection.noise.design import design_perturbation
from discreet.protection.noise.design.discretisation import discretised
from discreet.protection.noise.design.permutation import permuted
from tests.helpers.command import run as discreet


def run(*words: str | Path) -> Result:
    return discreet("ptable", *words)


def design(out: Path, *words: str | Path) -> Result:
    return run("design", out, "--max-noise", "5", "--variance", "3", "--forbidden", "1,2", *words)


@pytest.fixture
def seed(tmp_path: Path) -> Path:
    path = tmp_path / "seed.key"
    assert discreet("keys", "secret", path).exit_code == 0
    return path


def test_a_table_is_designed_described_and_private(tmp_path: Path) -> None:
    out = tmp_path / "ptable.csv"
    done = design(out)
    assert done.exit_code == 0, done.output
    assert f"The table is in {out}. It is secret." in done.stdout
    assert "Never published: 1 and 2." in done.stdout
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert PerturbationTable.read(out) == design_perturbation(5, 3, (1, 2))
    german = design(out, "--language", "de", "--force")
    assert describe(PerturbationTable.read(out), "de") in german.stdout


def test_a_table_that_is_there_stays_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    out = tmp_path / "ptable.csv"
    assert design(out).exit_code == 0
    before = out.read_bytes()
    again = run("design", out, "--max-noise", "4", "--variance", "2")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert out.read_bytes() == before
    assert run("design", out, "--max-noise", "4", "--variance", "2", "--force").exit_code == 0
    assert out.read_bytes() != before


@pytest.mark.parametrize("suffix", [".csv", ".json", ".txt"])
def test_every_format_gives_every_key_the_same_noise(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"ptable{suffix}"
    assert design(out).exit_code == 0
    written = PerturbationTable.read(out)
    assert compare(written, design_perturbation(5, 3, (1, 2))).same_noise


def test_a_table_on_few_keys_is_permuted_after_rounding(tmp_path: Path, seed: Path) -> None:
    out = tmp_path / "ptable.csv"
    done = design(out, "--keys", "256", "--seed-file", seed, "--split", "0.1", "--json")
    assert done.exit_code == 0, done.output
    described = json.loads(done.stdout)
    plain, error = discretised(design_perturbation(5, 3, (1, 2)), 256)
    assert described["rounding"]["largest"] == error.largest
    written = PerturbationTable.read(out)
    assert written.key_grid is not None
    comparison = compare(plain, written)
    assert (comparison.same_distribution, comparison.same_noise) == (True, False)
    again = tmp_path / "again.csv"
    design(again, "--keys", "256", "--seed-file", seed, "--split", "0.1")
    assert again.read_bytes() == out.read_bytes()
    in_words = design(again, "--keys", "4096", "--force").stdout
    assert "Rounded to 4096 keys: probabilities change by at most" in in_words


def test_a_fixed_share_concerns_counts_that_may_be_published(tmp_path: Path) -> None:
    out = tmp_path / "ptable.csv"
    words = ("--max-noise", "4", "--variance", "2.25", "--forbidden", "1,2", "--stay", "0.5")
    assert run("design", out, *words).exit_code == 0
    stay = [row["stay"] for row in PerturbationTable.read(out).parameters()]
    assert stay == pytest.approx([1, 0, 0, *[0.5] * 5], abs=2e-15)
    assert (
        run(
            "design", out, "--max-noise", "3", "--variance", "1", "--stay", "0.6", "--force"
        ).exit_code
        == 0
    )
    stay = [row["stay"] for row in PerturbationTable.read(out).parameters()]
    assert stay == pytest.approx([1, 0.6, 0.6, 0.6], abs=1e-14)


def test_a_preset_is_public_until_it_is_permuted(tmp_path: Path, seed: Path) -> None:
    out = tmp_path / "ptable.json"
    name = "never 1 or 2, within 4, half unchanged"
    open_ = run("design", out, "--preset", name)
    assert open_.exit_code == 0, open_.output
    assert "ready-made tables are public" in open_.stderr
    secret = run("design", out, "--preset", name, "--seed-file", seed, "--force")
    assert secret.stderr == ""
    assert "The intervals are permuted." in secret.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "add --max-noise and --variance, or --preset"),
        (["--max-noise", "5"], "add --max-noise and --variance, or --preset"),
        (
            ["--preset", "within-5", "--max-noise", "5"],
            "--preset cannot be combined with other properties",
        ),
        (
            ["--preset", "within-5", "--stay", "0.5"],
            "--preset cannot be combined with other properties",
        ),
        (
            ["--preset", "within-5", "--any-shape"],
            "--preset cannot be combined with other properties",
        ),
        (["--preset", "nothing of the kind"], "unknown ready-made table"),
        (
            ["--max-noise", "5", "--variance", "3", "--split", "0.1"],
            "--split needs --seed-file or --seed-env",
        ),
        (["--max-noise", "5", "--variance", "3", "--forbidden", "1,x"], "not a whole number"),
        (["--max-noise", "5", "--variance", "1", "--forbidden", "1,2"], "row 1"),
        (["--max-noise", "0", "--variance", "0"], "[design]"),
        (["--max-noise", "5", "--variance", "3", "--relax", "all"], "relax"),
        (["--max-noise", "5", "--variance", "3", "--keys", "100"], "256 or 4096"),
        (["--max-noise", "5", "--variance", "3", "--language", "fr"], "en or de"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_written(
    tmp_path: Path, words: list[str], message: str
) -> None:
    out = tmp_path / "ptable.csv"
    done = run("design", out, *words)
    assert done.exit_code == 2, done.output
    told = " ".join(done.output.replace("│", " ").split())
    assert message in told
    assert not out.exists()


def test_tables_are_compared(tmp_path: Path, seed: Path) -> None:
    first, second = tmp_path / "first.csv", tmp_path / "second.json"
    design(first)
    design(second, "--seed-file", seed)
    assert "intervals lie elsewhere" in run("compare", first, second).stdout
    assert "Tabellen sind gleich" in run("compare", first, first, "--language", "de").stdout
    described = json.loads(run("compare", first, second, "--json").stdout)
    assert (described["same_distribution"], described["same_noise"]) == (True, False)
    missing = run("compare", first, tmp_path / "missing.csv")
    assert missing.exit_code == 2
    assert permuted(PerturbationTable.read(first), 1) != PerturbationTable.read(first)


@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_a_table_for_magnitudes_is_the_one_of_the_function(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"rent{suffix}"
    words = ("--max-noise", "5", "--variance", "2", "--classes", "1,4,9", "--step", "4")
    small = ("--small-cells", "3,1") if suffix == ".csv" else ()
    done = run("design-magnitudes", out, *words, "--stay", "0.5", *small, "--json")
    assert done.exit_code == 0, done.output
    table = design_magnitude_perturbation(
        5, 2, classes=(1, 4, 9), step=4, stay=0.5, small_cells=(3, 1) if small else None
    )
    written = MagnitudePerturbationTable.read(out).with_closed("left")
    assert written == table
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    rows = json.loads(done.stdout)["rows"]
    parts = [("all", size) for size in (0, 1, 4, 9)]
    parts += [("small", size) for size in (0, 1, 3)] if small else []
    assert [(row["cells"], row["class"]) for row in rows] == parts
    assert [row["stay"] for row in rows[:4]] == pytest.approx([1, 0.5, 0.5, 0.5], abs=1e-14)
    assert max(row["variance"] for row in rows) == pytest.approx(2)
    before = out.read_bytes()
    again = run("design-magnitudes", out, "--max-noise", "4", "--variance", "1")
    assert again.exit_code == 2
    assert "--force" in again.stderr
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--small-cells", "3"], "--small-cells needs largest noise and variance"),
        (["--small-cells", "3,x"], "not a number"),
        (["--classes", "5,1"], "ascending"),
        (["--step", "0"], "from 1 to 100"),
    ],
)
def test_words_that_do_not_fit_magnitudes_write_nothing(
    tmp_path: Path, words: list[str], message: str
) -> None:
    out = tmp_path / "rent.csv"
    done = run("design-magnitudes", out, "--max-noise", "5", "--variance", "2", *words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert not out.exists()
