"""Attackers who know nothing of the code: what they find is what the report says, or less."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.demo import generate
from discreet.errors import MicrodataError
from discreet.microdata import Secret
from discreet.pretabular.changed_records import draws
from discreet.synthesis import synthesise
from discreet.synthesis.columns import columns_of
from discreet.synthesis.measures import risk
from discreet.synthesis.settings import SynthesisSettings

SECRET = "a long and secret sentence"
NAMES = ["age", "sex", "marital_status", "education", "state", "district"]
KEYS, SENSITIVE = ["district", "sex", "age"], "education"
PERSONS = generate(persons=6_000, seed=4).persons.select("person_id", *NAMES)


def parts() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The persons learned from, and those kept out: the first fifth by their draws."""
    drawn = draws(PERSONS.select("person_id"), Secret.of(SECRET), "synthesise; holdout")
    order = np.argsort(drawn, kind="stable")
    return PERSONS[order[1_200:]].select(NAMES), PERSONS[order[:1_200]].select(NAMES)


def made_with(leaf: int) -> tuple[pl.DataFrame, dict[str, dict[str, float]], str]:
    made = synthesise(PERSONS, variables=NAMES, id="person_id", secret=SECRET, leaf=leaf,
                      keys=KEYS, sensitive=[SENSITIVE])  # fmt: skip
    told = {one.name: dict(one.numbers) for one in made.report.measures}
    return made.described.frame, told, made.report.verdict


def guessed(targets: pl.DataFrame, file: pl.DataFrame) -> float:
    """How often the most frequent value of records with the keys of a person is hers."""
    tallies: dict[tuple[object, ...], Counter[str]] = {}
    ages = np.sort(PERSONS["age"].to_numpy())
    cuts = np.unique(ages[np.arange(1, 10) * len(ages) // 10])

    def keyed(frame: pl.DataFrame) -> list[tuple[tuple[object, ...], str]]:
        tens = np.searchsorted(cuts, frame["age"].to_numpy(), side="right")
        rows = zip(frame["district"], frame["sex"], tens.tolist(), frame[SENSITIVE], strict=True)
        return [((district, sex, ten), value) for district, sex, ten, value in rows]

    for key, value in keyed(file):
        for size in range(4):
            tallies.setdefault(key[:size], Counter())[value] += 1
    right = 0
    for key, value in keyed(targets):
        tally = next(tallies[key[:size]] for size in (3, 2, 1, 0) if key[:size] in tallies)
        most = max(tally.values())
        order = list(PERSONS[SENSITIVE].cast(pl.String).unique().sort())
        right += value == min((one for one in tally if tally[one] == most), key=order.index)
    return right / len(targets)


def nearness(
    targets: pl.DataFrame, file: pl.DataFrame
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The least distance of each person to a record: codes that differ, age in its range."""
    ages = np.sort(PERSONS["age"].to_numpy().astype(int))
    width = float(ages[-10] - ages[9])
    one, other = (frame["age"].to_numpy().astype(float) for frame in (targets, file))
    far = np.minimum(np.abs(one[:, None] - other[None, :]) / width, 1)
    for name in NAMES[1:]:
        one, other = (frame[name].cast(pl.String).to_numpy() for frame in (targets, file))
        far = far + (one[:, None] != other[None, :])
    return far.min(axis=1)


@pytest.fixture(scope="module")
def usual() -> tuple[pl.DataFrame, dict[str, dict[str, float]], str]:
    return made_with(leaf=100)


def test_an_attribute_attack_finds_what_the_report_says(
    usual: tuple[pl.DataFrame, dict[str, dict[str, float]], str],
) -> None:
    """Guesses are right for 48 % of the persons in the file, and for 47 % of others."""
    file, told, _ = usual
    members, others = parts()
    rates = guessed(members, file), guessed(others, file)
    assert rates == pytest.approx(
        (told["attribute"]["members"], told["attribute"]["others"]), abs=6e-5
    )
    assert told["attribute"]["holdout"] == pytest.approx(guessed(members, others), abs=6e-5)
    assert rates[0] - rates[1] < 0.05


def test_membership_attacks_find_what_the_report_says(
    usual: tuple[pl.DataFrame, dict[str, dict[str, float]], str],
) -> None:
    """Of a person in the file and another, the nearer one is in the file in 52 of 100 pairs."""
    file, told, verdict = usual
    members, others = parts()
    near, far = nearness(members[:1_500], file), nearness(others, file)
    pairs = (near[:, None] < far[None, :]).mean() + (near[:, None] == far[None, :]).mean() / 2
    assert abs(pairs - told["membership"]["curve"]) < 0.02
    assert abs(pairs - 0.5) < 0.05
    closest = told["closest"]
    assert (far <= np.sort(far)[60]).mean() == pytest.approx(closest["others"], abs=6e-5)
    assert verdict == "kept"


def test_unique_originals_are_repeated_as_the_report_says(
    usual: tuple[pl.DataFrame, dict[str, dict[str, float]], str],
) -> None:
    """29 % of the unique persons in the file are repeated, and 26 % of unique others."""
    file, told, _ = usual
    frequency = Counter(PERSONS.select(NAMES).rows())
    drawn = set(file.rows())
    rates = []
    for frame in parts():
        alone = [row for row in frame.rows() if frequency[row] == 1]
        rates.append(sum(row in drawn for row in alone) / len(alone))
    expected = told["repeated"]["members"], told["repeated"]["others"]
    assert rates == pytest.approx(expected, abs=6e-5)
    assert rates[0] - rates[1] < 0.06


def test_small_leaves_leak_and_the_report_says_so(
    usual: tuple[pl.DataFrame, dict[str, dict[str, float]], str], tmp_path: Path
) -> None:
    """With leaves of three, half of the unique persons in the file are repeated and a tenth of
    others; only the report is written.
    """
    _, leaky, verdict = made_with(leaf=3)
    assert leaky["repeated"]["excess"] > 5 * usual[1]["repeated"]["excess"]
    assert leaky["membership"]["excess"] > 0.2
    assert verdict == "exceeded"
    made = synthesise(PERSONS, variables=NAMES, id="person_id", secret=SECRET, leaf=3)
    place = tmp_path / "synthetic.csv"
    place.write_text("records of another report")
    with pytest.raises(MicrodataError, match="an attack is right too often"):
        made.write(place)
    assert sorted(one.name for one in tmp_path.iterdir()) == [
        "synthetic-report.json", "synthetic-report.txt",
    ]  # fmt: skip
    assert json.loads((tmp_path / "synthetic-report.json").read_text())["verdict"] == "exceeded"


def test_a_copy_of_the_file_is_found_out_by_every_attack() -> None:
    settings = SynthesisSettings(keys=KEYS, sensitive=[SENSITIVE])
    columns = columns_of(PERSONS, NAMES, [], 10)
    rows, others = np.arange(1_200, 6_000), np.arange(1_200)
    copied = [one.places[rows] for one in columns]
    told = {one.name: one for one in risk(columns, rows, others, copied, settings)}
    assert told.pop("attribute").verdict != "good"
    assert {one.verdict for one in told.values()} == {"bad"}
    assert told["repeated"].numbers["members"] == 1
    strangers = [one.places[others] for one in columns]
    told = {one.name: one for one in risk(columns, rows[2_400:], rows[:2_400], strangers, settings)}
    assert {one.verdict for one in told.values()} == {"good"}


def test_what_was_not_examined_is_never_safe(tmp_path: Path) -> None:
    for options in ({}, {"holdout": 0.0, "keys": KEYS, "sensitive": [SENSITIVE]}):
        made = synthesise(PERSONS, variables=NAMES, id="person_id", secret=SECRET, **options)
        assert made.report.verdict == "not_examined"
        made.write(tmp_path / "file.csv", language="de")
        text = (tmp_path / "file-report.txt").read_text()
        assert "Fehlende Untersuchungen sind keine Sicherheit." in text
        assert "keine Garantie" in text
    few = synthesise(PERSONS[:400], variables=NAMES[:2], id="person_id", secret=SECRET,
                     keys=["sex"], sensitive=["age"], threshold=3)  # fmt: skip
    assert few.report.verdict in ("unclear", "exceeded")  # 80 others are too few to say


def test_reports_name_no_value_and_errors_neither() -> None:
    odd = PERSONS.with_columns(education=pl.col("education").cast(pl.String).str.replace("d", "§"))
    made = synthesise(odd, variables=NAMES, id="person_id", secret=SECRET, leaf=50)
    assert "§" not in made.report.text() + json.dumps(made.report.described()) + repr(made)
    with pytest.raises(MicrodataError) as caught:
        synthesise(odd, variables=NAMES, id="person_id", secret=SECRET,
                   structural_zeros=["age > 3"])  # fmt: skip
    assert "§" not in str(caught.value)
